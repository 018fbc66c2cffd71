"""Policies that may be served, and errors that name the file and the line."""

from xml.etree import ElementTree

import pytest

from policyd.src.policyd import MAX_BYTES, Problem, check_policy
from policyd.tests.running_daemon import SHIPPED

ARTICLE = """<?xml version="1.0"?>
<!DOCTYPE cross-domain-policy SYSTEM "/xml/dtds/cross-domain-policy.dtd">
<!-- as on the web page of 2011: Bühne & <b>bold</b> -->
<cross-domain-policy>
<site-control permitted-cross-domain-policies="master-only" />
<allow-access-from domain="*.swf.example.com" to-ports="123,456-458" />
<allow-access-from domain="*" to-ports="*" secure="false"></allow-access-from>
</cross-domain-policy>
"""


def policy(*lines: str) -> bytes:
    """Return a policy whose line 1 is the root element and whose line 2 is the first of `lines`."""
    return "\n".join(["<cross-domain-policy>", *lines, "</cross-domain-policy>"]).encode()


def grant(ports: str = "7230", domain: str = "localhost", more: str = "") -> str:
    return f'<allow-access-from domain="{domain}" to-ports="{ports}"{more}/>'


def test_the_shipped_policy_grants_the_stage_sockets_to_local_names_only() -> None:
    assert check_policy(SHIPPED.read_bytes(), "p.xml", 3000) == []
    grants = [element.attrib for element in ElementTree.parse(SHIPPED).iter("allow-access-from")]
    assert {item["domain"]: item["to-ports"] for item in grants} == {
        "localhost": "7230",
        "*.localhost": "7230-7246",  # with the ports of sixteen theatres (nginx/scripts/theatres.sh)
        "127.0.0.1": "7230",
    }


def test_good_policies_are_accepted() -> None:
    for data in (ARTICLE.encode(), policy(), policy(grant("1,65535,2-3")), policy(grant()).ljust(MAX_BYTES)):
        assert check_policy(data, "p.xml", 843) == []


BAD_PORTS = "|0|65536|99999999|1,|,1|1,,2|9-8|1-|-1|1-2-3|1, 2| 1|1;2|http|*,1|1-*|0x50|+80|٣"
BAD_DOMAINS = ("http://a.example", "a.example:80", "", "www.*.example", "a b")
ENTITIES = "<!DOCTYPE x [\n<!ENTITY a 'ha'>\n<!ENTITY b '&a;&a;'>\n]>\n"
BAD = [
    *[(policy("", grant(ports)), 3, 'to-ports="') for ports in BAD_PORTS.split("|")],
    *[(policy("", grant(domain=domain)), 3, 'domain="') for domain in BAD_DOMAINS],
    (policy(grant(more=' secure="yes"')), 2, "true or false"),
    (policy('<allow-access-from domain="a" to-port="1"/>'), 2, 'to-ports=""'),
    (policy("<site-control/>"), 2, "none, master-only or all"),
    (policy("<site-control permitted-cross-domain-policies='all'>", grant()), 3, "not here"),
    (policy("<cross-domain-policy/>"), 2, "not here"),
    (policy("", '<allow-http-request-headers-from domain="*"/>'), 3, "not an element"),
    (b"<!-- -->\n<policy/>", 2, "<policy> is not an element"),
    (b"", 1, "no element found"),
    (b"\nhello", 2, "not well-formed"),
    (ENTITIES.encode() + policy(grant(domain="&b;")), 2, "no entities"),
    (policy(grant(), "<!-- \xfc -->").decode().encode("latin1"), 3, "not well-formed"),
    (policy(grant()).decode().encode("utf-16-be"), 1, "UTF-8"),
    (b"\xef\xbb\xbf" + policy(), 1, "byte order mark"),
    (policy() + b"\n\0", 3, "not well-formed"),
    (policy(*["<!-- 1234567890 -->"] * 1000), 1, "larger than 20000"),
    (policy(grant("9" * 15_000)), 2, "to-ports"),
]


@pytest.mark.parametrize(("data", "line", "reason"), BAD)
def test_a_bad_policy_is_named_with_its_line(data: bytes, line: int, reason: str) -> None:
    with pytest.raises(Problem, match=rf"^p\.xml:{line}: .*{reason}") as caught:
        check_policy(data, "p.xml", 843)
    assert len(str(caught.value)) < 400


def test_warns_of_low_ports_granted_from_a_high_port() -> None:
    for ports, port in (("80", 3000), ("*", 1024), ("7230,1000-2000", 0)):
        (warning,) = check_policy(policy("", grant(ports)), "p.xml", port)
        assert warning.startswith("p.xml:3: ports below 1024")
    assert check_policy(policy(grant("1024-65535")), "p.xml", 3000) == []
    assert check_policy(policy(grant("80")), "p.xml", 1023) == []
