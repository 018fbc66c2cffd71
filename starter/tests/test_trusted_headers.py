"""What the application may believe about a request."""

import json
from urllib.parse import urlsplit

import pytest

from asking import BOTH, New, ask

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "name",
    [
        "X-Forwarded-Prefix",
        "X-Original-URL",
        "X-Forwarded-Server",
        "X-Rewrite-URL",
        "X-Host",
        "X-Forwarded-Scheme",
    ],
)
def test_a_forged_header_poisons_no_page(new: New, name: str) -> None:
    ask(new("/page"), headers={name: "//evil.example"})
    assert "evil" not in ask(new("/page")).text


FORGED = (
    "Client-IP",
    "Forwarded",
    "Proxy",
    "Remote-User",
    "True-Client-IP",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "X-Forwarded-Proto",
    "X-Forwarded-User",
    "X-Host",
    "X-Real-IP",
    "X-Script-Name",
)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_forged_does_not_arrive(method: str) -> None:
    heard = ask("/echo", method, headers=dict.fromkeys(FORGED, "evil")).text
    assert "evil" not in heard


def test_a_get_in_disguise_arrives_as_a_get() -> None:
    assert "DELETE" not in ask("/echo", X_HTTP_Method_Override="DELETE", X_Method_Override="DELETE").text


def test_varnishs_notes_do_not_reach_the_application() -> None:
    heard = json.loads(ask("/echo.css", X_Old="failed", X_Static="yes").text)
    assert not {"x-old", "x-static", "cache-status", "x-purge-token"} & set(heard)


@BOTH
def test_scheme_host_and_port_are_those_that_were_typed(base: str) -> None:
    heard = json.loads(ask("/echo", base=base).text)
    url = urlsplit(base)
    assert heard["x-forwarded-proto"] == url.scheme
    assert heard["host"] == heard["x-forwarded-host"] == url.netloc
    assert heard["x-forwarded-port"] == str(url.port)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_clients_address_is_one_address(method: str) -> None:
    heard = json.loads(ask("/echo", method).text)
    assert heard["x-forwarded-for"] == heard["x-real-ip"]
