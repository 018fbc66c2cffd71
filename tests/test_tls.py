"""The encrypted door: what it offers, whose name it bears, and the stage behind it in a real browser."""

import socket
import ssl

import pytest
from playwright.sync_api import Browser

from browsing import on_stage
from stack import Stack


def handshake(stack: Stack, name: str, version: ssl.TLSVersion | None = None) -> ssl.SSLSocket:
    """A TLS connection under that name; it trusts the certificate the stack shows, if it bears the name."""
    certificate = ssl.get_server_certificate(("127.0.0.1", stack.ports["HTTPS_PORT"]))
    context = ssl.create_default_context(cadata=certificate)
    context.set_alpn_protocols(["h2", "http/1.1"])
    if version:
        context.minimum_version = context.maximum_version = version
    client = socket.create_connection(("127.0.0.1", stack.ports["HTTPS_PORT"]), timeout=5)
    return context.wrap_socket(client, server_hostname=name)


@pytest.mark.parametrize(
    "name",
    [
        "localhost",
        "upstage.localhost",
        "classic.localhost",
        "nginx.localhost",
        "static.localhost",
        "127.0.0.1",
    ],
)
def test_the_certificate_bears_every_name_of_the_house(stack: Stack, name: str) -> None:
    handshake(stack, name).close()


def test_nobody_elses_name(stack: Stack) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(stack, "nobody.example")


def test_only_current_versions(stack: Stack) -> None:
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        handshake(stack, "localhost", version).close()
    with pytest.raises((ssl.SSLError, OSError)):
        handshake(stack, "localhost", ssl.TLSVersion.TLSv1_1)


def test_the_certificate_is_kept_over_a_restart(stack: Stack) -> None:
    before = ssl.get_server_certificate(("127.0.0.1", stack.ports["HTTPS_PORT"]))
    stack.restart("nginx")
    assert ssl.get_server_certificate(("127.0.0.1", stack.ports["HTTPS_PORT"])) == before


def test_the_stage_plays_behind_tls(stack: Stack, browser: Browser) -> None:
    context = browser.new_context(ignore_https_errors=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(f"https://localhost:{stack.ports['HTTPS_PORT']}/stages/demo")
    on_stage(page)
    protocol = page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol")
    assert protocol == "h2"
    assert complaints == []
    context.close()
