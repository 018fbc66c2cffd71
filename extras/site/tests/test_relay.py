"""The relay: bytes from a socket for each site to its application, over TLS to one that speaks https."""

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.http import request
from support.origin import Origin, response
from support.ports import free_ports
from support.program import Service

SITE = Path(__file__).parent.parent
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
REFUSED = {
    "foreign": "certificate verify error",  # by an authority that is not known
    "expired": "certificate verify error",
    "misnamed": 'certificate does not match "localhost"',
}


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, stderr=subprocess.DEVNULL)


def authority(folder: Path) -> None:
    """An authority in a folder."""
    folder.mkdir()
    (folder / "index").touch()
    (folder / "settings").write_text(f"""[ca]
default_ca = own
[own]
database = {folder}/index
new_certs_dir = {folder}
unique_subject = no
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
""")
    openssl("req", "-x509", *KEY, "-keyout", folder / "key", "-out", folder / "pem", "-subj", "/CN=own")


class Tls(Origin):
    """An application that speaks https, and repeats the Host. `expected`: the names that clients expect."""

    def __init__(self, folder: Path, site: str, name: str, by: str = "own", until: str = "20991231") -> None:
        self.expected: list[str | None] = []
        new, key, made = (folder / f"{site}.{kind}" for kind in ("csr", "key", "pem"))
        openssl(
            *("req", *KEY, "-keyout", key, "-out", new, "-subj", f"/CN={name}"),
            *("-addext", f"subjectAltName=DNS:{name}"),
        )
        openssl(
            *("ca", "-batch", "-config", folder / by / "settings", "-in", new, "-out", made),
            *("-notext", "-cert", folder / by / "pem", "-keyfile", folder / by / "key"),
            *("-startdate", "20200101000000Z", "-enddate", f"{until}000000Z"),
        )
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(made, key)
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
    for name in ("own", "other"):
        authority(relay.folder / name)
    shutil.copy(relay.folder / "own" / "pem", relay.scripts / "ca.pem")
    app = Origin("app")
    good = Tls(relay.folder, "good", "localhost")
    servers = {
        "good": good,
        "foreign": Tls(relay.folder, "foreign", "localhost", by="other"),
        "expired": Tls(relay.folder, "expired", "localhost", until="20210101"),
        "misnamed": Tls(relay.folder, "misnamed", "shop.internal"),
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
