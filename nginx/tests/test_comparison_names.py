"""The names that serve a comparison answer visitors only if COMPARISON_NAMES says so."""

import pytest

from nginx.tests.nginx_server import SITES, NginxServer

SETTINGS = {"BIND_ADDR": "0.0.0.0", "HTTPS_REDIRECT": "on"}
NAMES = SITES[1:]


@pytest.mark.parametrize("path", ["/", "/ws", "/.nginx/health", "/media/a.svg", "/media/video/a.jpg"])
@pytest.mark.parametrize("host", [*NAMES, "NGINX.localhost:8080"])
def test_a_public_port_answers_as_for_an_unknown_name(server: NginxServer, host: str, path: str) -> None:
    """Such a name reaches neither the site nor its redirect to HTTPS."""
    for port in (server.public, server.https):  # the second one gets plain HTTP
        response = server.request(path, host, port=port)
        assert (response.status, "COMPARISON_NAMES" in response.text) == (421, True)
        assert "location" not in response.headers
    assert not server.requests


@pytest.mark.parametrize("host", NAMES)
def test_https_answers_so_too_whatever_the_name_in_the_handshake(server: NginxServer, host: str) -> None:
    for sni in (host, "localhost"):
        assert server.request_tls(host, sni).status == 421
    assert server.request_tls("localhost", host).status == 200
    assert [request.headers["host"] for request in server.requests] == ["localhost"]


@pytest.mark.parametrize("host", SITES)
def test_the_load_port_has_every_name(server: NginxServer, host: str) -> None:
    assert server.request("/", host, port=server.load).status == 200
    assert server.request("/.nginx/backend", host, port=server.load).text == "metrics"
    # The crawlers' port answers to every name, too; neither port redirects to HTTPS.
    assert server.crawl("/", "198.18.0.1", host).status == 200
    assert not server.log_lines(r"\[(warn|error|crit|alert|emerg)\]")


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
