"""The addresses: the same files serve every form of address, and deployments that lack some services."""

import pytest

from nginx.tests.name_server import NameServer
from nginx.tests.nginx_server import NginxServer
from tests.support.origin import EchoServer, Origin
from tests.support.wait import wait_until


@pytest.fixture
def over_tcp(fresh: NginxServer) -> dict[str, Origin]:
    """Return origins on TCP ports for all services that are behind a Unix socket by default."""
    origins = {
        "VARNISH_ADDRESS": Origin("varnish"),
        "BACKEND_ADDRESS": Origin("backend"),
        "BACKEND_STAGE_ADDRESS": EchoServer("stage"),
        "BACKEND_DIRECT_ADDRESS": EchoServer("direct"),
        "POLICYD_ADDRESS": EchoServer("policyd"),
    }
    fresh.origins += origins.values()
    return origins


def first_line(server: NginxServer, port: int) -> bytes:
    """Return the PROXY header, which the echo server behind a stream port sends back first."""
    with server.connect(port) as connection, connection.makefile("rb") as stream:
        return stream.readline()


def everything_answers(server: NginxServer) -> bool:
    """Return whether each site, WebSocket and stream port reaches its service."""
    sites = {
        "localhost": "varnish",
        "classic.localhost": "varnish over TCP",
        "nginx.localhost": "backend",
        "static.localhost": "backend",
    }
    assert {host: server.request("/%41?b=%41", host).text for host in sites} == sites
    for host in sites:
        assert server.request("/ws", host).text == "backend"
    assert server.request("/.nginx/backend", port=server.load).text == "metrics"
    for port in (server.stage, server.direct):
        assert first_line(server, port).startswith(b"PROXY TCP4 ")
    for port in (server.policy, server.locust_page):
        with server.connect(port) as connection:
            connection.sendall(b"a")
            assert connection.recv(1) == b"A"
    return True


def test_ip_addresses_behave_like_sockets(fresh: NginxServer, over_tcp: dict[str, Origin]) -> None:
    """nginx keeps connections open over TCP, too."""
    fresh.settings |= {name: origin.address for name, origin in over_tcp.items()}
    fresh.start()
    assert everything_answers(fresh)
    assert {request.target for request in over_tcp["VARNISH_ADDRESS"].requests} == {"/A?b=%41"}
    with fresh.connect() as connection:  # one worker
        for _ in range(5):
            connection.sendall(b"GET /kept HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while not connection.recv(65536).endswith(b"varnish"):
                pass
    kept = [request for request in over_tcp["VARNISH_ADDRESS"].requests if request.target == "/kept"]
    assert len({request.connection for request in kept}) == 1


def test_host_names_are_looked_up_again_and_need_not_be_known_at_the_start(
    fresh: NginxServer, over_tcp: dict[str, Origin], name_server: NameServer
) -> None:
    """On a network of containers a service may start later, or return at another address."""
    fresh.settings["NAME_SERVERS"] = name_server.address
    for name, origin in over_tcp.items():
        fresh.settings[name] = f"{name.lower().replace('_', '-')}.test:{origin.port}"
    for name in ("VARNISH_TCP_ADDRESS", "BACKEND_METRICS_ADDRESS", "LOCUST_ADDRESS"):
        port = fresh.settings[name].split(":")[1]
        fresh.settings[name] = f"{name.lower().replace('_', '-')}.test:{port}"
    names = [value.split(":")[0] for value in fresh.settings.values() if ".test:" in value]
    fresh.start()
    assert fresh.request("/").status == 503
    assert first_line(fresh, fresh.stage) == b""
    name_server.names = dict.fromkeys(names, "127.0.0.1")
    wait_until(lambda: everything_answers(fresh))
    name_server.names = dict.fromkeys(names, "127.0.0.3")
    wait_until(lambda: fresh.request("/away").status == 503)
    name_server.names = dict.fromkeys(names, "127.0.0.1")
    wait_until(lambda: everything_answers(fresh))
