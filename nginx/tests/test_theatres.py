"""THEATRES: for each name a site like the default host's and a stage port, with its own backend."""

import re

import pytest

from nginx.tests.name_server import NameServer
from nginx.tests.nginx_server import NginxServer
from tests.support.origin import EchoServer, Origin, response
from tests.support.wait import wait_until

NAMES = ("second", "third-hall")
SETTINGS = {"THEATRES": " ".join(NAMES)}


def theatres_of(server: NginxServer) -> dict[str, Origin]:
    """Add the origins of both theatres; return the sites by the theatre's name, the stages with `-stage`."""
    origins = {name: Origin(name, server.sockets / f"{name}.sock") for name in NAMES}
    for name in NAMES:
        origins[f"{name}-stage"] = EchoServer(name, server.sockets / f"{name}-stage.sock")
    server.origins += origins.values()
    return origins


@pytest.fixture(scope="module")
def theatres(server: NginxServer) -> dict[str, Origin]:
    return theatres_of(server)


def stage_of(server: NginxServer, port: int, origins: dict[str, Origin]) -> str:
    """Return the stage socket to which a port of nginx leads; the client's address must arrive there."""
    before = {name: origin.connections for name, origin in origins.items()}
    with server.connect(port) as connection, connection.makefile("rb") as stream:
        assert stream.readline().startswith(b"PROXY TCP4 127.0.0.1 ")
    [reached] = [name for name, origin in origins.items() if origin.connections > before[name]]
    return reached


@pytest.mark.parametrize("name", NAMES)
def test_a_theatre_has_the_default_site_with_its_own_backend(
    server: NginxServer, theatres: dict[str, Origin], name: str
) -> None:
    host = f"{name}.localhost"
    assert server.request("/%41?b=%41", host).text == "varnish"
    [request] = server.varnish.requests
    assert (request.target, request.headers["host"]) == ("/A?b=%41", host)
    assert server.request("/silent", host).headers["cache-status"] == "nginx; fwd=uri-miss"
    assert server.request("/ws", host).text == name
    assert server.request("/media/video/a.jpg", host).text == name
    assert server.backend.requests == []


def test_large_media_come_from_the_theatres_own_folder(server: NginxServer) -> None:
    server.varnish.respond = lambda _: response(x_accel_redirect="/.nginx/media/large.swf")
    for name in ("media", "the theatres/second/media", "the theatres/third-hall/media"):
        folder = server.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "large.swf").write_text(name)
    for host, name in (("localhost", "media"), ("third-hall.localhost", "the theatres/third-hall/media")):
        assert server.request("/media/large.swf", host).text == name


def test_each_theatre_has_a_stage_port_in_the_order_of_the_list(
    server: NginxServer, theatres: dict[str, Origin]
) -> None:
    for number, name in enumerate(NAMES):
        for first in (server.theatres_stage, server.theatres_load_stage):
            assert stage_of(server, first + number, theatres) == f"{name}-stage"
    assert stage_of(server, server.stage, {**theatres, "core": server.backend_stage}) == "core"


def test_a_stopped_theatre_is_503_and_costs_the_others_nothing(fresh: NginxServer) -> None:
    fresh.settings |= SETTINGS
    fresh.start()
    assert fresh.request("/ws", "second.localhost").status == 503
    with fresh.connect(fresh.theatres_stage) as connection:
        assert connection.recv(1) == b""
    assert fresh.request("/ws").text == "backend"


def test_the_list_may_change_while_nginx_runs(fresh: NginxServer) -> None:
    def sites() -> dict[str, str | int]:
        responses = {name: fresh.request("/ws", f"{name}.localhost") for name in NAMES}
        return {name: each.text if each.status == 200 else each.status for name, each in responses.items()}

    def become(expected: dict[str, str | int]) -> None:
        # For a moment the old workers take connections, too.
        wait_until(lambda: [sites() for _ in range(20)] == [expected] * 20)

    origins = theatres_of(fresh)
    fresh.start()
    become({"second": 421, "third-hall": 421})
    with pytest.raises(ConnectionRefusedError):
        fresh.connect(fresh.theatres_stage)
    for names in ("second", "second third-hall", "third-hall"):
        assert fresh.run_script("reload.sh", THEATRES=names).returncode == 0
        become({name: name if name in names.split() else 421 for name in NAMES})
    assert stage_of(fresh, fresh.theatres_stage, origins) == "third-hall-stage"
    assert fresh.run_script("reload.sh").returncode == 0
    become({"second": 421, "third-hall": 421})


def test_the_users_names_that_begin_with_a_theatres_name_are_its_own(fresh: NginxServer) -> None:
    server_names = "stage.example Second.stage.example second second.localhost third-hall.example.* 192.0.2.7"
    fresh.settings |= {**SETTINGS, "SERVER_NAMES": server_names}
    theirs = {
        "second": ("second.stage.example", "second", "second.localhost"),
        "third-hall": ("third-hall.localhost", "third-hall.example.net"),
        "backend": ("stage.example", "192.0.2.7", "localhost"),
    }
    theatres_of(fresh)
    fresh.start()
    for name, hosts in theirs.items():
        assert {host: fresh.request("/ws", host).text for host in hosts} == dict.fromkeys(hosts, name)
    for host in ("third-hall", "third-hall.stage.example", "second.example", "second.localhost.example"):
        assert fresh.request("/ws", host).status == 421
    assert not fresh.log_lines(r"\[warn\]")
    for host in (*theirs["second"], "third-hall.localhost"):
        fresh.request_tls(host)  # the certificate contains the name


def test_host_names_instead_of_sockets_need_not_be_known_at_the_start(
    fresh: NginxServer, name_server: NameServer
) -> None:
    site, stage, metrics = Origin("second"), EchoServer("stage"), Origin("second's metrics")
    fresh.origins += [site, stage, metrics]
    fresh.settings |= {
        "NAME_SERVERS": name_server.address,
        "THEATRES": "second",
        "THEATRES_ADDRESS": f"*.test:{site.port}",
        "THEATRES_STAGE_ADDRESS": f"*.test:{stage.port}",
        "THEATRES_METRICS_ADDRESS": f"*.test:{metrics.port}",
    }
    fresh.start()
    assert fresh.request("/ws", "second.localhost").status == 503
    name_server.names = {"second.test": "127.0.0.1"}
    wait_until(lambda: fresh.request("/ws", "second.localhost").text == "second")
    assert stage_of(fresh, fresh.theatres_stage, {"stage": stage}) == "stage"
    ours = fresh.request("/.nginx/backend", "second.localhost", port=fresh.load)
    assert ours.text == "second's metrics"
    assert fresh.request("/.nginx/backend", port=fresh.load).text == "metrics"
    assert fresh.request("/.nginx/backend", "second.localhost").status == 404


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        ("second Third", "lower-case letters, digits and hyphens, not 'second Third'"),
        ("2nd", "begins with a letter, not '2nd'"),
        ("x-", "not 'x-'"),
        ("a;b", "not 'a;b'"),
        ("*", "not '*'"),
        ("x" * 21, "at most 20 characters"),
        ("second second", "has 'second' twice"),
        ("second varnish", "'varnish' is reserved"),
        ("x-stage", "'x-stage' ends like the path of another socket"),
        ("x-direct", "'x-direct' ends like"),
        (" ".join(f"t{number}" for number in range(17)), "has 17 names; at most 16"),
    ],
)
def test_a_wrong_name_is_one_line(fresh: NginxServer, names: str, complaint: str) -> None:
    for script in ("start.sh", "reload.sh"):
        ended = fresh.run_script(script, THEATRES=names)
        assert ended.returncode == 1
        assert re.fullmatch(r"THEATRES.*\n", ended.stdout)
        assert complaint in ended.stdout
    assert list(fresh.generated.iterdir()) == []


def test_a_wildcard_among_the_users_names_is_rejected_with_theatres_only(fresh: NginxServer) -> None:
    for wildcard in (".example.org", "stage.example *.example.org"):
        ended = fresh.render(THEATRES="second", SERVER_NAMES=wildcard)
        assert ended.stdout == "THEATRES needs every host name by itself: SERVER_NAMES has a wildcard\n"
        assert ended.returncode == 1
        assert fresh.render(SERVER_NAMES=wildcard).returncode == 0


def test_sixteen_theatres_and_spaces_at_will(fresh: NginxServer) -> None:
    names = [f"t{number}" for number in range(15)] + ["x" * 20]
    assert fresh.render(THEATRES=f"  {'   '.join(names)} ").returncode == 0
    assert {path.name for path in (fresh.generated / "theatres").iterdir()} == set(names)
