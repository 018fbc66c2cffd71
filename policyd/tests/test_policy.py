"""Policies that may be served, and errors that name the file and the line."""

import os
from pathlib import Path

import pytest

from policyd.policy import MAX_BYTES, PolicyError, load, parse, parse_ports
from running_daemon import SHIPPED

ARTICLE = b"""<?xml version="1.0"?>
<!DOCTYPE cross-domain-policy SYSTEM "/xml/dtds/cross-domain-policy.dtd">
<!-- as on the web page of 2011 -->
<cross-domain-policy>
<site-control permitted-cross-domain-policies="master-only" />
<allow-access-from domain="swf.example.com" to-ports="123,456-458" />
<allow-access-from domain="www.example.com" to-ports="7230" />
</cross-domain-policy>
"""


def policy(*lines: str) -> bytes:
    """A policy whose line 1 is the root element and whose line 2 is the first of `lines`."""
    return "\n".join(["<cross-domain-policy>", *lines, "</cross-domain-policy>"]).encode()


def grant(ports: str = "7230", domain: str = "localhost", more: str = "") -> str:
    return f'<allow-access-from domain="{domain}" to-ports="{ports}"{more}/>'


def test_the_shipped_policy_grants_the_stage_sockets_to_local_names_only() -> None:
    shipped = load(SHIPPED)
    assert shipped.site_control == "master-only"
    assert {item.domain for item in shipped.grants} == {"localhost", "*.localhost", "127.0.0.1"}
    granted = {port for item in shipped.grants for ports in item.ports for port in ports}
    assert granted == set(range(7230, 7247))  # those of sixteen theatres (nginx/scripts/theatres.sh), too
    assert shipped.warnings(3000) == []


def test_the_policy_of_the_article_is_read() -> None:
    read = parse(ARTICLE, "flashpolicy.xml")
    assert read.answer == ARTICLE + b"\0"
    assert [(item.domain, item.to_ports, item.line) for item in read.grants] == [
        ("swf.example.com", "123,456-458", 6),
        ("www.example.com", "7230", 7),
    ]


@pytest.mark.parametrize(
    "data",
    [
        policy(),
        policy(grant("*", "*")),
        policy(grant("1,65535,2-3")),
        policy(grant(more=' secure="true"')),
        policy('<site-control permitted-cross-domain-policies="none"/>'),
        policy("<!-- Bühne & <b>bold</b> -->", grant()),
        b'<?xml version="1.0" encoding="US-ASCII"?>\n' + policy(grant()),
        b"<!DOCTYPE cross-domain-policy SYSTEM"
        b' "http://www.adobe.com/xml/dtds/cross-domain-policy.dtd">' + policy(grant()),
        policy(grant()).replace(
            b"policy>",
            b'policy xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation'
            b'="http://www.adobe.com/xml/schemas/PolicyFileSocket.xsd">',
            1,
        ),
        policy(grant()).ljust(MAX_BYTES),
    ],
)
def test_good_policies_are_accepted(data: bytes) -> None:
    assert parse(data, "p.xml").answer == data + b"\0"


SITE_CONTROL = '<site-control permitted-cross-domain-policies="{}"/>'
DOCTYPE = b'<!DOCTYPE cross-domain-policy SYSTEM "/xml/dtds/cross-domain-policy.dtd"'
LAUGHS = b"<!DOCTYPE cross-domain-policy [\n<!ENTITY a 'ha'>\n<!ENTITY b '&a;&a;'>\n]>\n"

BAD = [
    ("empty", b"", 1, "no element found"),
    ("not XML", b"\nhello", 2, "not well-formed"),
    ("tag left open", policy(grant(), '<allow-access-from domain="a"'), 4, "not well-formed"),
    ("wrong end tag", policy(grant(), "</allow>"), 3, "mismatched tag"),
    ("two roots", policy() + b"\n" + policy(), 3, "junk after document element"),
    ("attribute twice", policy(grant(more=' domain="b"')), 2, "duplicate attribute"),
    ("wrong root", b"<!-- -->\n<policy/>", 2, "the root element is <policy>"),
    ("root in root", policy("<cross-domain-policy/>"), 2, "not an element of a socket policy"),
    ("unknown element", policy("", "<allow/>"), 3, "<allow> is not an element"),
    ("URL policy element", policy("<allow-access-from-identity/>"), 2, "no meaning in a socket"),
    ("nested", policy("<site-control permitted-cross-domain-policies='all'>", grant()), 3, "empty"),
    ("text", policy(grant(), "ports"), 3, 'text "ports"'),
    ("unknown attribute", policy(grant(more=' to-port="1"')), 2, 'unknown attribute "to-port"'),
    ("no to-ports", policy('<allow-access-from domain="a"/>'), 2, '"to-ports" is missing'),
    ("no domain", policy('<allow-access-from to-ports="1"/>'), 2, '"domain" is missing'),
    ("no permitted", policy("<site-control/>"), 2, "is missing"),
    ("attribute of the root", b'<cross-domain-policy a="1"/>', 1, 'unknown attribute "a"'),
    ("site-control value", policy(SITE_CONTROL.format("some")), 2, '"some" is not one of'),
    ("URL site-control", policy(SITE_CONTROL.format("by-content-type")), 2, "no meaning"),
    ("site-control twice", policy(*[SITE_CONTROL.format("all")] * 2), 3, "a second"),
    ("site-control late", policy(grant(), SITE_CONTROL.format("all")), 3, "must stand before"),
    ("secure", policy(grant(more=' secure="yes"')), 2, "true or false"),
    ("domain with scheme", policy(grant(domain="http://a.example")), 2, "no scheme"),
    ("domain with port", policy(grant(domain="a.example:80")), 2, "no port"),
    ("empty domain", policy(grant(domain="")), 2, "a host name"),
    ("star inside", policy(grant(domain="www.*.example")), 2, "a host name"),
    ("third line", policy(grant(), "", grant("0")), 4, "from 1 to 65535"),
    ("reference", policy(grant(domain="local&#104;ost")), 2, "no & references"),
    ("undefined entity", policy(grant(domain="a&x;b")), 2, "undefined entity"),
    ("entity behind DTD", DOCTYPE + b">\n" + policy(grant(domain="a&x;b")), 3, "no & references"),
    ("entity in text", DOCTYPE + b">\n" + policy("&x;"), 3, "entity &x;"),
    ("entities", LAUGHS + policy("&b;"), 1, "declarations of its own"),
    ("internal subset", b"\n" + DOCTYPE + b" []>\n" + policy(), 2, "declarations of its own"),
    ("foreign DTD", DOCTYPE.replace(b"/xml", b"file:///etc") + b">\n" + policy(), 1, "DOCTYPE"),
    ("parameter entity", LAUGHS.replace(b"a 'ha'", b"% a SYSTEM 'x'") + policy(), 1, "DOCTYPE"),
    ("instruction", policy("<?php ?>"), 2, "<?php?> is not allowed"),
    ("encoding", b'<?xml version="1.0" encoding="latin1"?>' + policy(), 1, "only UTF-8"),
    ("Latin-1 bytes", policy(grant(), "<!-- B\xfchne -->").decode().encode("latin1"), 3, "UTF-8"),
    ("UTF-16", policy(grant()).decode().encode("utf-16-be"), 1, "NUL"),
    ("byte order mark", b"\xef\xbb\xbf" + policy(), 1, "byte order mark"),
    ("NUL", policy(grant(), "", "\0"), 4, "NUL"),
    ("NUL at the end", policy() + b"\n\0", 3, "NUL"),
    ("too large", policy(grant(), *["<!-- 1234567890 -->"] * 1000), 999, "larger than 20000"),
]


@pytest.mark.parametrize(("data", "line", "reason"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_policy_is_named_with_its_line(data: bytes, line: int, reason: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse(data, "p.xml")
    assert str(caught.value).startswith(f"p.xml:{line}: ")
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("7230", (range(7230, 7231),)),
        ("123,456-458", (range(123, 124), range(456, 459))),
        ("5-5", (range(5, 6),)),
        ("*", (range(1, 65536),)),
    ],
)
def test_port_lists_are_parsed(text: str, ports: tuple[range, ...]) -> None:
    assert parse_ports(text) == ports


@pytest.mark.parametrize(
    "text",
    "|0|65536|99999999|1,|,1|1,,2|9-8|1-|-1|1-2-3|1, 2| 1|1;2|http|*,1|1-*|0x50|+80|٣".split("|"),  # noqa: SIM905
)
def test_bad_port_lists_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"port|range"):
        parse_ports(text)
    with pytest.raises(PolicyError, match=r"^p\.xml:2: to-ports="):
        parse(policy(grant(text)), "p.xml")


@pytest.mark.parametrize(
    ("ports", "listening", "warned"),
    [
        ("80", 3000, True),
        ("*", 3000, True),
        ("7230,1000-2000", 3000, True),
        ("1024-65535", 3000, False),
        ("80", 843, False),
        ("*", 1023, False),
        ("1023", 1024, True),
    ],
)
def test_warns_of_low_ports_granted_from_a_high_port(ports: str, listening: int, warned: bool) -> None:
    warnings = parse(policy("", grant(ports)), "p.xml").warnings(listening)
    assert len(warnings) == warned
    assert all(warning.startswith("p.xml:3: ") for warning in warnings)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"none\.xml: no such file"):
        load(tmp_path / "none.xml")
    with pytest.raises(PolicyError, match="not a regular file"):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe.xml")
    with pytest.raises(PolicyError, match="not a regular file"):
        load(tmp_path / "pipe.xml")


def test_a_file_in_a_closed_folder_is_named(tmp_path: Path) -> None:
    """A checkout made with umask 077, mounted into the container of another user."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(PolicyError, match=r"policy\.xml: cannot be read: Permission denied"):
            load(closed / "policy.xml")
    finally:
        os.seteuid(user)


def test_a_long_value_does_not_make_a_long_error() -> None:
    with pytest.raises(PolicyError) as caught:
        parse(policy(grant("9" * 15_000)), "p.xml")
    assert len(str(caught.value)) < 400
