"""The names that are there for a comparison answer visitors only where the operator asks for them."""

import ssl

import pytest

from nginx.tests.nginx_server import SITES, NginxServer
from tests.support.http import Response, message, receive

SETTINGS = {"BIND_ADDR": "0.0.0.0", "HTTPS_REDIRECT": "on"}
NAMES = SITES[1:]


def https(server: NginxServer, host: str, sni: str) -> Response:
    """One request by HTTPS; `sni` is the name in the handshake."""
    tls = ssl.create_default_context(cafile=str(server.certificates / "proscenium.pem"))
    with tls.wrap_socket(server.connect(server.https), server_hostname=sni) as connection:
        connection.sendall(message("/", host))
        return receive(connection)


@pytest.mark.parametrize("path", ["/", "/ws", "/.nginx/health", "/media/a.svg", "/media/video/a.jpg"])
@pytest.mark.parametrize("host", [*NAMES, "NGINX.localhost:8080"])
def test_a_public_port_answers_as_for_an_unknown_name(server: NginxServer, host: str, path: str) -> None:
    """Neither the site nor its redirect to HTTPS."""
    for port in (server.public, server.https):  # the second one gets plain HTTP
        answer = server.request(path, host, port=port)
        assert (answer.status, "COMPARISON_NAMES" in answer.text) == (421, True)
        assert "location" not in answer.headers
    assert not server.requests


@pytest.mark.parametrize("host", NAMES)
def test_https_answers_so_too_whatever_the_name_in_the_handshake(server: NginxServer, host: str) -> None:
    for sni in (host, "localhost"):
        assert https(server, host, sni).status == 421
    assert https(server, "localhost", host).status == 200
    assert [request.headers["host"] for request in server.requests] == ["localhost"]


@pytest.mark.parametrize("host", SITES)
def test_the_load_port_has_every_name(server: NginxServer, host: str) -> None:
    assert server.request("/", host, port=server.load).status == 200
    assert server.request("/.nginx/backend", host, port=server.load).text == "metrics"
    # So has that of Locust's crawlers, and neither has a redirect to HTTPS.
    assert server.crawl("/", "198.18.0.1", host).status == 200


@pytest.mark.parametrize(
    ("address", "asked", "answer"),
    [
        *((loopback, "", True) for loopback in ("127.0.0.1", "127.42.0.1", "::1", "[::1]")),
        *((public, "", False) for public in ("0.0.0.0", "192.0.2.7", "::", "[::]", "[2001:db8::1]", "")),
        ("0.0.0.0", "on", True),
        ("127.0.0.1", "off", False),
    ],
)
def test_they_answer_on_loopback_or_where_the_operator_says_so(
    fresh: NginxServer, address: str, asked: str, answer: bool
) -> None:
    assert fresh.render(BIND_ADDR=address, COMPARISON_NAMES=asked).returncode == 0
    listeners = (fresh.generated / "listeners/comparison.conf").read_text()
    assert ("include listeners/http.conf;" in listeners) == answer
    assert (f"listen {fresh.address}:{fresh.load};" in listeners) != answer


def test_a_reload_takes_them_away_and_brings_them_back(fresh: NginxServer) -> None:
    fresh.start()
    assert not fresh.log_lines(r"\[(warn|error|crit|alert|emerg)\]")
    for asked, status in (("off", 421), ("on", 200)):
        assert fresh.run_script("reload.sh", COMPARISON_NAMES=asked).returncode == 0
        assert [fresh.request("/", host).status for host in SITES] == [200, *[status] * len(NAMES)]
