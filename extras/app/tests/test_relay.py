"""The relay: passes bytes from a socket to an application, over TLS if the application speaks https."""

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.http import request
from tests.support.origin import Origin, response
from tests.support.ports import free_ports
from tests.support.program import Service

APP = Path(__file__).parent.parent
REFUSED = {"foreign": "certificate verify error", "misnamed": 'certificate does not match "localhost"'}


def certificate(folder: Path, file: str, name: str, *by: str | Path) -> tuple[Path, Path]:
    """Return a certificate and its key, signed by itself or by an authority."""
    made, key = folder / f"{file}.pem", folder / f"{file}.key"
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    called = ("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}")
    command = ("openssl", "req", "-x509", *by, *curve, "-keyout", key, "-out", made, *called)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return made, key


class Tls(Origin):
    """An application that speaks https, and repeats the Host. `expected`: the names that clients expect."""

    def __init__(self, folder: Path, site: str, name: str, authority: tuple[Path, Path]) -> None:
        self.expected: list[str | None] = []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        by = ("-CA", authority[0], "-CAkey", authority[1])
        self.context.load_cert_chain(*certificate(folder, site, name, *by))
        self.context.sni_callback = lambda _, name, __: self.expected.append(name)
        super().__init__(site)
        self.respond = lambda request: response(f"over TLS, {request.headers['host']}")

    @property
    def url(self) -> str:
        """The application's URL, with the name that its certificate should have."""
        return f"https://localhost:{self.port}"

    def serve(self, connection: socket.socket, number: int) -> None:
        with self.context.wrap_socket(connection, server_side=True) as secure:
            super().serve(secure, number)


@pytest.fixture
def relay() -> Iterator[Service]:
    """Yield the relay, not started yet, with a copy of its scripts that a test may change."""
    with Service(APP) as service:
        service.copy_scripts()
        [port] = free_ports(1)
        service.settings |= {
            "PREFIX": str(service.folder),
            "SOCKETS": str(service.folder),
            "VARNISHES": "varnish",
            "PURGE": f"127.0.0.1:{port}",
        }
        yield service


@pytest.mark.parametrize(
    "host", ["http://localhost", "localhost", "127.0.0.1", "http://host.docker.internal"]
)
def test_the_socket_leads_to_the_application(relay: Service, host: str) -> None:
    """An address may name this machine in several ways."""
    app = Origin("app")
    relay.origins.append(app)
    relay.settings["APP"] = f"{host}:{app.port}/"
    relay.run_start(lambda: request(relay.folder / "app.sock", "/", "any.example").text == "app")


@pytest.mark.parametrize("kind", ["good", *REFUSED])
def test_the_certificate_of_an_application_is_checked(relay: Service, kind: str) -> None:
    own, other = (certificate(relay.folder, name, "own") for name in ("own", "other"))
    shutil.copy(own[0], relay.scripts / "ca.pem")
    name = "shop.internal" if kind == "misnamed" else "localhost"
    app = Tls(relay.folder, kind, name, other if kind == "foreign" else own)
    relay.origins.append(app)
    relay.settings["APP"] = app.url
    relay.run_start(lambda: request(relay.folder / "app.sock", "/", "shop.example.org").status in (0, 200))
    if kind == "good":
        assert (
            request(relay.folder / "app.sock", "/", "shop.example.org").text == "over TLS, shop.example.org"
        )
        assert set(app.expected) == {"localhost"}
    else:
        assert REFUSED[kind] in relay.log.read_text()


def test_without_an_authority_of_ones_own_the_public_ones_are_known(relay: Service) -> None:
    relay.settings["APP"] = "https://shop.invalid"
    relay.run_start(lambda: request(relay.folder / "app.sock", "/").status == 0)
    text = (relay.folder / "ca.pem").read_text()
    assert text == Path("/etc/ssl/certs/ca-certificates.crt").read_text()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"APP": "shop"},
        {"APP": "http://shop/path"},
        {"APP": "ftp://shop"},
    ],
)
def test_a_wrong_address_is_one_line(relay: Service, settings: dict[str, str]) -> None:
    ended = relay.run_script("start.sh", **settings)
    assert ended.returncode == 1
    assert ended.stdout.startswith("APP must be HOST:PORT, http://HOST:PORT or https://NAME:PORT, without")
    assert len(ended.stdout.splitlines()) == 1
