"""Other people's machines: a second start, settings that cannot work, a proxy in front."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from select import select

import pytest

from starter.tests.asking import App, New, ask, compose, connect
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow


def one_off(folder: Path, service: str, *words: str, **settings: str) -> str:
    """Return the output of `docker compose run`; if it fails, `ENDED:` and the reason."""
    given = [word for name, value in settings.items() for word in ("-e", f"{name}={value}")]
    try:
        return compose(folder, "run", "--rm", "-T", "--no-deps", *given, service, *words)
    except AssertionError as ended:
        return f"ENDED: {ended}"


def test_a_second_start_says_why_it_ends_and_harms_nothing(running: App, new: New) -> None:
    for service in ("nginx", "varnish"):
        said = one_off(running.folder, service)
        assert said.startswith("ENDED")
        assert "of this stack is running" in said
    assert "test is successful" in one_off(running.folder, "nginx", "nginx", "-t")
    assert "etc" in one_off(running.folder, "varnish", "ls", "/").split()
    path = new("/page")
    assert "stored" in ask(path).cache
    assert ask(path).hit
    assert ask("/echo", "POST", body=b"x").status == 200
    for reload in (("nginx", "nginx", "-s", "reload"), ("varnish", "sh", "/etc/varnish/reload.sh")):
        compose(running.folder, "exec", "-T", *reload)
    assert ask(path).hit


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("APP=app", "APP must be HOST:PORT, such as app:8000, not 'app'"),
        ("APP=https://app:8000", "APP must be HOST:PORT"),
        ("APP=localhost:3000", "For a program on this machine: APP=host.docker.internal:3000"),
        ("TLS_NAME=live/none", "there is no '/certificates/live/none/fullchain.pem' that nginx may read"),
        ("PUBLIC_NAME=a,b", "No certificate for DNS:a,b could be made"),
        ("TRUSTED_PROXIES=proxy.example.org", "TRUSTED_PROXIES has addresses and networks"),
        ("PROXY_PROTOCOL=v2", "PROXY_PROTOCOL must be on or off, not 'v2'"),
        ("HTTPS_REDIRECT=yes", "HTTPS_REDIRECT must be on or off, not 'yes'"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_in_a_line(running: App, setting: str, said: str) -> None:
    name, _, value = setting.partition("=")
    assert said in one_off(running.folder, "nginx", "true", **{name: value})


@pytest.mark.parametrize(
    "setting",
    [
        *("APP= http://app:8000/ ", "PUBLIC_NAME=192.0.2.7", "PUBLIC_NAME=[::1]:8080"),
        *(f"PUBLIC_NAME={'a' * 70}.example.org", "PUBLIC_NAME=a.example b.example", 'PURGE_TOKEN=a:"$b\\c{'),
    ],
)
def test_other_forms_of_a_setting_work(running: App, setting: str) -> None:
    name, _, value = setting.partition("=")
    said = one_off(running.folder, "nginx", "nginx", "-t", **{name: value})
    assert "test is successful" in said, said


def test_health_checks_go_the_way_of_the_requests(running: App) -> None:
    """They succeed while the application is down, but fail when a socket on their way is gone."""

    def healthy(service: str, *check: str) -> bool:
        try:
            compose(running.folder, "exec", "-T", service, *check)
        except AssertionError:
            return False
        return True

    varnish = ("varnish", "sh", "/etc/varnish/health.sh")
    nginx = ("nginx", "curl", "-fsS", "--unix-socket", "/run/web/app.sock", "http://nginx/.nginx/alive")
    running.stop()
    assert healthy(*varnish)
    for socket, check in (("varnish.sock", varnish), ("app.sock", nginx)):
        assert healthy(*check)
        move = ("exec", "-T", "nginx", "mv")
        compose(running.folder, *move, f"/run/web/{socket}", "/run/web/away")
        gone = healthy(*check)
        compose(running.folder, *move, "/run/web/away", f"/run/web/{socket}")
        assert not gone
        assert healthy(*check)


def test_only_a_trusted_proxy_says_who_the_client_is(running: App) -> None:
    """The trusted proxies are those in 127.0.0.0/8, the source of nginx's requests to itself."""
    said = ("X-Forwarded-For: 6.6.6.6, 203.0.113.7", "X-Forwarded-Proto: https")
    headers = [word for header in said for word in ("-H", header)]
    heard = json.loads(
        compose(running.folder, "exec", "-T", "nginx", "curl", "-s", *headers, "http://127.0.0.1:8080/echo")
    )
    assert (heard["x-forwarded-for"], heard["x-forwarded-proto"]) == ("203.0.113.7", "https")
    assert heard["x-forwarded-port"] == "8080"
    claimed = json.loads(ask("/echo", X_Forwarded_For="203.0.113.7", X_Forwarded_Proto="https").text)
    assert claimed["x-forwarded-for"] != "203.0.113.7"
    assert claimed["x-forwarded-proto"] == "http"


def test_with_the_proxy_protocol_no_header_states_the_scheme(running: App) -> None:
    settings = {"TRUSTED_PROXIES": "10.0.0.0/8", "PROXY_PROTOCOL": "on"}
    show = ("sh", "-c", "cat /run/settings/real_ip.conf; echo; cat /run/settings/proxies")
    printed = one_off(running.folder, "nginx", *show, **settings)
    assert "set_real_ip_from 10.0.0.0/8;" in printed
    assert "real_ip_header proxy_protocol;" in printed
    assert " yes;" not in printed
    assert "10.0.0.0/8 yes;" in one_off(
        running.folder, "nginx", *show, **settings | {"PROXY_PROTOCOL": "off"}
    )


def test_a_proxy_that_ends_tls_gets_no_redirect_but_for_plain_http(running: App) -> None:
    shown = "%{http_code} %{redirect_url}"

    def asked(scheme: str, port: int, path: str = "/page") -> str:
        show = ("curl", "-sko", "/dev/null", "-w", shown, "-H", f"X-Forwarded-Proto: {scheme}")
        url = f"http{'s' * (port == 8443)}://127.0.0.1:{port}{path}"
        return compose(running.folder, "exec", "-T", "nginx", *show, url).strip()

    with value(running.folder, "redirect", "on"):
        wait_until(lambda: asked("http", 8080) == "308 https://127.0.0.1/page", within=20)
        assert asked("http", 8443) == "308 https://127.0.0.1/page"
        assert [asked(scheme, 8080) for scheme in ("https", "wss")] == ["200", "200"]
        assert asked("http", 8080, "/.well-known/acme-challenge/none") == "200"
    wait_until(lambda: asked("http", 8080) == "200", within=20)


def test_one_client_may_send_ten_large_bodies_at_a_time(running: App) -> None:
    with ExitStack() as stack:
        uploads = [stack.enter_context(closing(connect())) for _ in range(12)]
        for upload in uploads:
            upload.putrequest("POST", "/echo")
            upload.putheader("Content-Length", "200000")
            upload.endheaders(b"x")
        sockets = {upload.sock: upload for upload in uploads}
        wait_until(lambda: len(select(sockets, (), (), 0)[0]) == 2)
        refused = sockets[select(sockets, (), (), 0)[0][0]].getresponse()
        assert (refused.status, refused.headers["Retry-After"]) == (429, "5")
        assert "more than its share" in refused.read().decode()
        assert ask("/echo", "POST", body=b"x").status == 200
    assert wait_until(lambda: ask("/echo", "POST", body=b"x" * 200_000).status == 200)


def test_the_challenge_of_a_certificate_authority_is_answered_from_a_folder(running: App) -> None:
    folder = running.folder / "acme/.well-known/acme-challenge"
    folder.mkdir(parents=True)
    (folder / "token-1").write_text("token-1.of-the-account")
    assert ask("/.well-known/acme-challenge/token-1").text == "token-1.of-the-account"
    assert ask("/.well-known/acme-challenge/token-2").text.startswith("page")  # the application's own


@contextmanager
def value(folder: Path, name: str, text: str) -> Iterator[None]:
    """Give one setting of the running nginx another value."""
    change = f"sed 's|^{name} .*|{name} \"{text}\";|' kept >values && nginx -s reload"
    inside = ("exec", "-T", "nginx", "sh", "-c")
    compose(folder, *inside, f"cd /run/settings && cp values kept && {change}")
    try:
        yield
    finally:
        compose(folder, *inside, "cd /run/settings && cp kept values && nginx -s reload")


def test_a_load_test_is_not_redirected(running: App) -> None:
    show = ("curl", "-so", "/dev/null", "-w", "%{http_code} %header{cache-control}")

    def asked(port: int) -> str:
        return compose(running.folder, "exec", "-T", "nginx", *show, f"http://127.0.0.1:{port}/page")

    with value(running.folder, "redirect", "on"):
        wait_until(lambda: asked(8080) == "308 max-age=86400", within=20)
        assert asked(8081).startswith("200 ")
    wait_until(lambda: asked(8080).startswith("200 "), within=20)


def test_an_address_that_does_not_exist_is_unhealthy(running: App) -> None:
    check = ("exec", "-T", "varnish", "sh", "-c", "sh /etc/varnish/health.sh; echo $?")

    def healthy() -> bool:
        return compose(running.folder, *check).strip() == "0"

    with value(running.folder, "app", "no-such-name:8000"):
        wait_until(lambda: not healthy(), within=20)
    wait_until(healthy, within=20)
