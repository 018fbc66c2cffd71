"""HTTPS: protocols, HTTP/2, certificates and the redirect."""

import re
import ssl
import struct
import subprocess
from functools import partial
from pathlib import Path

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.wait import wait_until

SETTINGS = {
    "SERVER_NAMES": "stage.example.org 192.0.2.7 [2001:db8::7] *.example.net .example.com www.example.*"
}


def accepted(server: NginxServer, tls: ssl.SSLContext) -> bool:
    """Return whether nginx accepts a client with these limits."""
    try:
        return server.request_tls(tls=tls).status == 200
    except (ssl.SSLError, ConnectionError):
        return False


def openssl(*arguments: str | Path) -> str:
    """Run openssl with these arguments; return its output."""
    return subprocess.check_output(["openssl", *arguments], text=True, stderr=subprocess.DEVNULL)


def make_pair(folder: Path, name: str, days: int = 365, subject: str = "theatre.example.org") -> None:
    """Make a self-signed pair NAME.pem, NAME.key."""
    openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-days", str(days), "-subj", f"/CN={subject}", "-addext", f"subjectAltName=DNS:{subject}"),
        *("-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"),
    )


@pytest.mark.parametrize(
    "name",
    [
        *("localhost", "upstage.localhost", "classic.localhost", "nginx.localhost", "static.localhost"),
        *("127.0.0.1", "::1", "stage.example.org", "192.0.2.7", "2001:db8::7"),
        *("any.example.net", "example.com", "www.example.com"),
    ],
)
def test_the_certificate_has_every_site_name(server: NginxServer, name: str) -> None:
    with server.trusting().wrap_socket(server.connect(server.https), server_hostname=name) as connection:
        assert connection.version() == "TLSv1.3"


def test_the_certificate_is_no_authority_and_its_key_is_private(server: NginxServer) -> None:
    text = openssl("x509", "-in", server.certificates / "proscenium.pem", "-noout", "-text")
    assert "CA:FALSE" in text
    assert "TLS Web Server Authentication" in text
    assert (server.certificates / "proscenium.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("version", "works"),
    [
        (ssl.TLSVersion.TLSv1, False),
        (ssl.TLSVersion.TLSv1_1, False),
        (ssl.TLSVersion.TLSv1_2, True),
        (ssl.TLSVersion.TLSv1_3, True),
    ],
)
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_protocols(server: NginxServer, version: ssl.TLSVersion, works: bool) -> None:
    tls = server.trusting()
    tls.minimum_version = tls.maximum_version = version
    tls.set_ciphers("ALL:@SECLEVEL=0")
    assert accepted(server, tls) == works


@pytest.mark.parametrize(
    ("cipher", "works"),
    [
        ("ECDHE-ECDSA-AES128-GCM-SHA256", True),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", True),
        ("ECDHE-ECDSA-AES128-SHA", False),
        ("AES128-GCM-SHA256", False),
    ],
)
def test_ciphers_of_tls_1_2(server: NginxServer, cipher: str, works: bool) -> None:
    tls = server.trusting()
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    tls.set_ciphers(cipher)
    assert accepted(server, tls) == works


def test_the_key_exchange_is_x25519_or_better(server: NginxServer) -> None:
    said = subprocess.run(
        ["openssl", "s_client", "-connect", f"{server.address}:{server.https}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    ).stdout
    assert re.search("X25519", said), said


def test_a_session_is_resumed_from_the_cache_and_not_from_a_ticket(server: NginxServer) -> None:
    tls = server.trusting()
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    with tls.wrap_socket(server.connect(server.https), server_hostname="localhost") as first:
        session = first.session
    assert session
    assert not session.has_ticket
    again = tls.wrap_socket(server.connect(server.https), server_hostname="localhost", session=session)
    with again:
        assert again.session_reused


def test_http_2(server: NginxServer) -> None:
    """The GET consists of frames (RFC 9113) and of entries of the static table (RFC 7541)."""
    tls = server.trusting()
    tls.set_alpn_protocols(["h2", "http/1.1"])
    with tls.wrap_socket(server.connect(server.https), server_hostname="localhost") as connection:
        assert connection.selected_alpn_protocol() == "h2"
        fields = b"\x82\x87\x84\x41\x09localhost"  # :method GET, :scheme https, :path /, :authority
        headers = struct.pack(">I", len(fields))[1:] + b"\x01\x05\0\0\0\x01" + fields
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0" + headers)
        with connection.makefile("rb") as stream:
            kind = streams = 0
            while kind != 1:
                head = stream.read(9)
                kind, payload = head[3], stream.read(int.from_bytes(head[:3]))
                if kind == 4 and payload:  # SETTINGS
                    settings = dict(struct.iter_unpack(">HI", payload))
                    streams = settings.get(3, streams)
        assert payload[0] == 0x88  # :status 200
        assert streams == 10
    assert server.varnish.requests[0].headers["host"] == "localhost"


def test_the_upstream_learns_of_https(server: NginxServer) -> None:
    assert "strict-transport-security" not in server.request_tls().headers
    assert server.varnish.requests[0].headers["x-forwarded-proto"] == "https"


def test_plain_http_on_the_port_of_https_is_redirected_to_https(server: NginxServer) -> None:
    response = server.request("/stages/demo?a=1", f"localhost:{server.https}", port=server.https)
    assert response.status == 308
    assert response.headers["location"] == "https://localhost:8443/stages/demo?a=1"
    response = server.request("/", "unknown.example", port=server.https)
    assert (response.status, "SERVER_NAMES" in response.text) == (421, True)


def test_https_redirect_on(fresh: NginxServer) -> None:
    fresh.settings |= {"HTTPS_REDIRECT": "on", "HTTPS_PORT": "9443"}
    fresh.start()
    response = fresh.request("/stages/demo?a=%20b", "classic.localhost:1234", "POST")
    assert response.status == 308
    assert response.headers["location"] == "https://classic.localhost:9443/stages/demo?a=%20b"
    assert "strict-transport-security" not in response.headers
    assert fresh.request("/", "unknown.example").status == 421
    assert fresh.request("/", port=fresh.load).status == 200
    secure = fresh.request_tls()
    assert secure.status == 200
    assert secure.headers["strict-transport-security"] == "max-age=86400"


def test_the_redirect_omits_port_443(fresh: NginxServer) -> None:
    fresh.settings |= {"HTTPS_REDIRECT": "on", "HTTPS_PORT": "443"}
    fresh.start()
    assert fresh.request("/x", "[::1]").headers["location"] == "https://[::1]/x"


def test_the_users_own_pair(fresh: NginxServer) -> None:
    make_pair(fresh.folder, "own")
    own = fresh.folder / "own.pem"
    fresh.settings |= {"TLS_CERTIFICATE": str(own), "TLS_CERTIFICATE_KEY": str(fresh.folder / "own.key")}
    fresh.start()
    response = fresh.request_tls("theatre.example.org", tls=fresh.trusting(own))
    assert response.status == 421  # the certificate is trusted, but no site has the name
    assert not list(fresh.certificates.glob("*.pem"))


def test_a_renewed_pair_is_loaded_by_a_reload(fresh: NginxServer) -> None:
    """Certbot renews a certificate by pointing a link to a new file."""
    live = fresh.folder / "live"
    live.mkdir()
    for number in ("1", "2"):
        make_pair(fresh.folder, number)
        for suffix in ("pem", "key"):
            (live / f"new.{suffix}").symlink_to(fresh.folder / f"{number}.{suffix}")
            (live / f"new.{suffix}").replace(live / f"own.{suffix}")
        if number == "1":
            pair = {"TLS_CERTIFICATE": "own.pem", "TLS_CERTIFICATE_KEY": "own.key"}
            fresh.settings |= {"TLS_FOLDER": str(live), **pair}
            fresh.start()
        else:
            assert fresh.run_script("reload.sh").returncode == 0
        trusted = fresh.trusting(fresh.folder / f"{number}.pem")
        wait_until(partial(fresh.request_tls, "theatre.example.org", tls=trusted))


@pytest.mark.parametrize(
    ("certificate", "key", "complaint"),
    [
        ("own.pem", "", "belong together: set both"),
        ("", "own.key", "belong together: set both"),
        ("missing.pem", "own.key", "there is no '.*missing.pem' that nginx may read"),
        ("own.pem", "missing.key", "there is no '.*missing.key' that nginx may read"),
        ("own.pem", "other.key", "is not the key of"),
        ("own.key", "own.key", "is not the key of"),
        ("own.pem", "locked.key", "or needs a password"),
    ],
)
def test_an_unusable_pair_is_one_line(fresh: NginxServer, certificate: str, key: str, complaint: str) -> None:
    for name in ("own", "other"):
        make_pair(fresh.folder, name)
    openssl(
        *("pkey", "-in", fresh.folder / "own.key", "-aes256", "-passout", "pass:x"),
        *("-out", fresh.folder / "locked.key"),
    )
    ended = fresh.run_script(
        "start.sh",
        TLS_CERTIFICATE=str(fresh.folder / certificate) if certificate else "",
        TLS_CERTIFICATE_KEY=str(fresh.folder / key) if key else "",
    )
    assert ended.returncode == 1
    assert re.search(complaint, ended.stdout), ended.stdout
    assert len(ended.stdout.splitlines()) == 1


def test_the_certificate_is_kept_until_it_expires_or_the_names_change(fresh: NginxServer) -> None:
    certificate = fresh.certificates / "proscenium.pem"

    def made_by(**settings: str) -> bytes:
        done = fresh.render(**settings)
        assert (done.returncode, done.stdout) == (0, "")
        return certificate.read_bytes()

    first = made_by()
    assert made_by() == first
    names = {"SERVER_NAMES": "stage.example.org"}
    named = made_by(**names)
    assert named != first
    assert made_by(**names) == named
    for days, kept in ((31, True), (29, False)):
        make_pair(fresh.certificates, "proscenium", days)
        before = certificate.read_bytes()
        assert (made_by(**names) == before) is kept
    before = certificate.read_bytes()
    (fresh.certificates / "proscenium.key").unlink()
    assert made_by(**names) != before


def test_a_certificate_that_cannot_be_made_is_one_line(fresh: NginxServer) -> None:
    assert fresh.render().returncode == 0
    for settings in ({"SERVER_NAMES": "300.1.1.1"}, {"CERTIFICATE_FOLDER": str(fresh.folder / "missing")}):
        ended = fresh.run_script("start.sh", **settings)
        assert ended.returncode == 1
        assert re.match("No certificate for .* could be made in ", ended.stdout)
        assert len(ended.stdout.splitlines()) == 1
