"""TRUSTED_PROXIES and PROXY_PROTOCOL: another proxy in front, and clients over IPv6."""

import socket
from collections import Counter
from pathlib import Path

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.http import Response, message
from tests.support.ports import free_ports
from tests.support.wait import wait_until

PROXY, OTHER = "127.0.0.21", "127.0.0.22"
SETTINGS = {"TRUSTED_PROXIES": f"{PROXY} 127.9.0.0/16", "HTTPS_REDIRECT": "on", "CLIENT_REQUESTS": "1"}
CLIENT = "203.0.113.7"


def asked(server: NginxServer, source: str, scheme: str, client: str = CLIENT) -> Response:
    """Return the response to a proxy's request; before the client's address is one that it claims itself."""
    stated = f"198.51.100.9, {client}"
    return server.request("/", source=source, x_forwarded_for=stated, x_forwarded_proto=scheme)


@pytest.mark.parametrize("scheme", ["https", "wss", "HTTPS", "https, http"])
def test_a_trusted_proxy_states_the_client_and_the_scheme(server: NginxServer, scheme: str) -> None:
    response = asked(server, PROXY, scheme)
    assert (response.status, response.headers["strict-transport-security"]) == (200, "max-age=86400")
    headers = server.varnish.requests[-1].headers
    assert (headers["x-real-ip"], headers["x-forwarded-for"]) == (CLIENT, CLIENT)
    assert headers["x-forwarded-proto"] == "https"
    [line] = wait_until(lambda: server.log_lines(response.headers["x-request-id"]))
    assert line.startswith(f"{CLIENT} ")


def test_a_redirect_leads_to_the_proxys_own_port(server: NginxServer) -> None:
    assert asked(server, "127.9.1.1", "http").headers["location"] == "https://localhost/"
    # Another client states the same, and is not trusted.
    response = asked(server, OTHER, "https")
    assert (response.status, response.headers["location"]) == (308, "https://localhost:8443/")


def test_limits_count_the_client_behind_the_proxy(server: NginxServer) -> None:
    statuses = Counter(asked(server, PROXY, "https", "198.51.100.1").status for _ in range(40))
    assert statuses[429] > 10
    assert asked(server, PROXY, "https", "198.51.100.2").status == 200


def test_crawlers_state_their_address_both_ways(server: NginxServer) -> None:
    said = b"PROXY TCP4 198.18.0.1 127.0.0.1 40000 8001\r\n"
    request = message("/", "localhost", x_forwarded_for="198.18.0.1")
    assert server.exchange(said + request, server.load_proxy).status == 200
    assert server.varnish.requests[-1].headers["x-real-ip"] == "198.18.0.1"


def test_the_proxy_protocol_states_the_client_on_every_port(fresh: NginxServer) -> None:
    fresh.settings |= {"TRUSTED_PROXIES": PROXY, "PROXY_PROTOCOL": "on"}
    fresh.start()
    line = f"PROXY TCP4 {CLIENT} 192.0.2.1 40000 80\r\n".encode()
    forged = message("/", x_forwarded_for="198.51.100.9", x_forwarded_proto="https")
    for source, client in ((PROXY, CLIENT), (OTHER, OTHER)):
        assert fresh.exchange(line + forged, source=source).status == 200
        headers = fresh.varnish.requests[-1].headers
        assert (headers["x-real-ip"], headers["x-forwarded-proto"]) == (client, "http")
        with fresh.connect(fresh.stage, source) as connection, connection.makefile("rb") as stream:
            connection.sendall(line)
            assert stream.readline().startswith(f"PROXY TCP4 {client} ".encode())
    assert fresh.exchange(forged).status == 0  # without the protocol
    assert fresh.crawl("/", "198.18.0.1").status == 200
    assert fresh.varnish.requests[-1].headers["x-real-ip"] == "198.18.0.1"


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="the kernel has no IPv6")
def test_public_ports_listen_for_ipv6_too(fresh: NginxServer) -> None:
    ports = free_ports(3)
    fresh.settings |= dict(
        zip(("LISTEN_HTTP", "LISTEN_STAGE", "LISTEN_POLICY"), map(str, ports), strict=True)
    )
    fresh.start()
    for port in ports:
        for address in ("127.0.0.1", "::1"):
            with socket.create_connection((address, port), 5) as connection:
                connection.sendall(message("/.nginx/health"))
                assert connection.recv(10)
