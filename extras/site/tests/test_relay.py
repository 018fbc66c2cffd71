"""The relay: bytes from a socket for each site to its application, over TLS to one that speaks https."""

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

SITE = Path(__file__).parent.parent
REFUSED = {"foreign": "certificate verify error", "misnamed": 'certificate does not match "localhost"'}


def certificate(folder: Path, file: str, name: str, *by: str | Path) -> tuple[Path, Path]:
    """A certificate and its key, made by itself or by an authority."""
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
        self.answer = lambda request: response(f"over TLS, {request.headers['host']}")

    @property
    def url(self) -> str:
        """With the name that the certificate should have."""
        return f"https://localhost:{self.port}"

    def serve(self, connection: socket.socket, number: int) -> None:
        with self.context.wrap_socket(connection, server_side=True) as secure:
            super().serve(secure, number)


@pytest.fixture
def relay() -> Iterator[Service]:
    """The relay's scripts in a folder of their own, not started yet."""
    with Service(SITE) as service:
        service.copy_scripts()
        [port] = free_ports(1)
        service.settings |= {
            "PREFIX": str(service.folder),
            "SOCKETS": str(service.folder),
            "VARNISHES": "varnish",
            "PURGE": f"127.0.0.1:{port}",
        }
        yield service


def test_each_site_has_a_socket_and_https_is_checked(relay: Service) -> None:
    own, other = (certificate(relay.folder, name, "own") for name in ("own", "other"))
    shutil.copy(own[0], relay.scripts / "ca.pem")
    app = Origin("app")
    good = Tls(relay.folder, "good", "localhost", own)
    foreign = Tls(relay.folder, "foreign", "localhost", other)
    servers = {
        "good": good,
        "foreign": foreign,
        "misnamed": Tls(relay.folder, "misnamed", "shop.internal", own),
    }
    relay.origins += [app, *servers.values()]
    relay.settings["SITE"] = f"http://localhost:{app.port}/"
    others = " ".join(f"{name}={server.url}" for name, server in servers.items())
    relay.settings["SITES"] = f"shop.example.org=http://{app.address}/ {others}"
    (relay.folder / "gone.sock").touch()  # a former site's
    relay.run_start(lambda: request(relay.folder / "site.sock", "/", "any.example").text == "app")
    assert not (relay.folder / "gone.sock").exists()
    for name in ("site", "shop.example.org"):
        assert request(relay.folder / f"{name}.sock", "/", "any.example").text == "app"
    answer = request(relay.folder / "good.sock", "/", "shop.example.org")
    assert answer.text == "over TLS, shop.example.org"
    assert good.expected == ["localhost"]
    for name, reason in REFUSED.items():
        before = relay.log.read_text()
        assert request(relay.folder / f"{name}.sock", "/").status == 0
        assert reason in relay.log.read_text().removeprefix(before)


def test_without_an_authority_of_ones_own_the_public_ones_are_known(relay: Service) -> None:
    relay.settings["SITES"] = "shop=https://shop.invalid"
    relay.run_start(lambda: request(relay.folder / "shop.sock", "/").status == 0)
    text = (relay.folder / "ca.pem").read_text()
    assert text == Path("/etc/ssl/certs/ca-certificates.crt").read_text()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"SITE": "shop:8000"},
        {"SITE": "http://shop/path"},
        {"SITES": "shop=ftp://shop"},
        {"SITES": "shop"},
    ],
)
def test_a_wrong_address_is_one_line(relay: Service, settings: dict[str, str]) -> None:
    ended = relay.run_script("start.sh", **settings)
    assert ended.returncode == 1
    assert ended.stdout.startswith("SITE must be http://HOST:PORT or https://NAME:PORT, without a path")
    assert len(ended.stdout.splitlines()) == 1
