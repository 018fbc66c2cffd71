"""settings: their defaults, how they are read, and the messages for wrong ones."""

from pathlib import Path

import pytest

from upstage.settings import Settings, SettingsError, Sockets, from_environment, parse_endpoint


def settings(**environment: str) -> Settings:
    return from_environment({f"UPSTAGE_{name}": value for name, value in environment.items()})


def test_settings_have_defaults() -> None:
    default = settings(ADMIN_PASSWORD="")
    assert default.web.reachable_at == ("127.0.0.1", 8081)
    assert (default.stage.port, default.stage.proxied) == (7230, True)
    assert (default.caches, default.signup) == ((), False)
    assert (default.load_account, default.festival) == (None, True)
    assert (default.data, default.media) == (Path("/var/lib/upstage"), Path("/srv/media"))
    assert (default.sockets, default.ftp) == (None, None)


def test_settings_are_read() -> None:
    assert settings(PURGE="a:8082 [::1]:82").caches == (("a", 8082), ("::1", 82))
    assert settings(PURGE="a b:8082").caches == (("a", 8082), ("b", 8082))
    assert settings(LOAD_ACCOUNT_FILE="/run/player/account").load_account == Path("/run/player/account")
    assert settings(SIGNUP="open").signup
    assert not settings(FESTIVAL="off").festival
    camera = settings(FTP_ENDPOINT="tcp:2121", FTP_PASSIVE="3000-3001")
    assert camera.ftp
    assert (camera.ftp.port, list(camera.ftp_ports)) == (2121, [3000, 3001])
    assert settings(CONNECTIONS="30").connections == 30
    assert settings(CONNECTIONS_PER_ADDRESS="30").connections_per_address == 30
    assert settings(MAX_UNREAD="30").max_unread == 30


def test_all_socket_paths_have_one_prefix() -> None:
    assert settings(SOCKETS="/" + "x" * 94).sockets
    sockets = Sockets(Path("/run/proscenium/backend"))
    assert str(sockets.web) == "/run/proscenium/backend.sock"
    assert str(sockets.stage) == "/run/proscenium/backend-stage.sock"
    assert str(sockets.direct) == "/run/proscenium/backend-direct.sock"


@pytest.mark.parametrize(
    ("text", "proxied", "reachable_at"),
    [
        ("tcp:8081", False, ("127.0.0.1", 8081)),
        ("haproxy:tcp:7230:backlog=1024", True, ("127.0.0.1", 7230)),
        ("haproxy:tcp:7230:backlog=1024:interface=127.42.0.3", True, ("127.42.0.3", 7230)),
        ("tcp:80:interface=0.0.0.0", False, ("127.0.0.1", 80)),
        (r"tcp6:80:interface=\:\:", False, ("::1", 80)),
        ("tcp6:80", False, ("::1", 80)),
    ],
)
def test_endpoints_are_parsed(text: str, proxied: bool, reachable_at: tuple[str, int]) -> None:
    endpoint = parse_endpoint("X", text)
    assert endpoint.description == text
    assert endpoint.proxied is proxied
    assert endpoint.reachable_at == reachable_at


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"WEB_ENDPOINT": "8081"}, "UPSTAGE_WEB_ENDPOINT=8081: expected"),
        ({"WEB_ENDPOINT": "tcp:"}, "UPSTAGE_WEB_ENDPOINT=tcp:: expected"),
        ({"WEB_ENDPOINT": "tcp:99999"}, "no port above 65535"),
        ({"STAGE_ENDPOINT": "haproxy"}, "UPSTAGE_STAGE_ENDPOINT=haproxy: expected"),
        ({"STAGE_ENDPOINT": "tcp:1:backlog=many"}, "'backlog=many' is not a known option"),
        ({"METRICS_ENDPOINT": "9110"}, "UPSTAGE_METRICS_ENDPOINT=9110: expected"),
        ({"DIRECT_ENDPOINT": "8083"}, "UPSTAGE_DIRECT_ENDPOINT=8083: expected"),
        ({"FTP_ENDPOINT": "tcp:x"}, "UPSTAGE_FTP_ENDPOINT=tcp:x: expected"),
        ({"FTP_PASSIVE": "2122"}, "UPSTAGE_FTP_PASSIVE=2122: expected FIRST-LAST"),
        ({"FTP_PASSIVE": "2131-2122"}, "UPSTAGE_FTP_PASSIVE=2131-2122: expected FIRST-LAST"),
        ({"FTP_PASSIVE": "1-65536"}, "UPSTAGE_FTP_PASSIVE=1-65536: expected FIRST-LAST"),
        ({"FTP_ADDRESS": "stage.example.org"}, "UPSTAGE_FTP_ADDRESS=.*: expected an IPv4 address"),
        ({"WEB_PORT": "http"}, "UPSTAGE_WEB_PORT=http: .*a whole number"),
        ({"HTTP_PORT": "70000"}, "UPSTAGE_HTTP_PORT=70000: .*no port above 65535"),
        ({"THEATRES": "second, third"}, "UPSTAGE_THEATRES=.*: .*names of a-z, 0-9 and -"),
        ({"DATA": "var"}, "UPSTAGE_DATA=var: must be an absolute path"),
        ({"PURGE": "varnish"}, "UPSTAGE_PURGE=varnish: expected HOST:PORT"),
        ({"PURGE": "varnish:99999"}, "UPSTAGE_PURGE=varnish:99999: expected HOST:PORT"),
        ({"SIGNUP": "yes"}, "UPSTAGE_SIGNUP=yes: expected open or closed"),
        ({"LOAD_ACCOUNT_FILE": "account"}, "UPSTAGE_LOAD_ACCOUNT_FILE=account: must be an absolute path"),
        ({"FESTIVAL": "no"}, "UPSTAGE_FESTIVAL=no: expected on or off"),
        ({"ADMIN_PASSWORD": "a\nb"}, "UPSTAGE_ADMIN_PASSWORD: must be one line"),
        *(({"MAX_UNREAD": text}, f"UPSTAGE_MAX_UNREAD={text}: ") for text in ("0", "-1", "many", "٣")),
        ({"ANONYMOUS_FETCHES": "-1"}, "UPSTAGE_ANONYMOUS_FETCHES=-1: "),
        ({"CONNECTIONS": "0"}, "UPSTAGE_CONNECTIONS=0: "),
        ({"CONNECTIONS_PER_ADDRESS": "0"}, "UPSTAGE_CONNECTIONS_PER_ADDRESS=0: "),
        ({"SOCKETS": "run/backend"}, "UPSTAGE_SOCKETS=.*: expected the beginning of absolute"),
        ({"SOCKETS": "/" + "x" * 95}, "UPSTAGE_SOCKETS=.*: expected the beginning of absolute"),
    ],
)
def test_wrong_settings_are_named(variables: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        settings(**variables)
