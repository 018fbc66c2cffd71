"""What a VCL file says, and what its rules read of a request."""

import pytest

from lessons.checking import nginx
from lessons.checking.vcl import changes, foreign, reads, sets, statements

AGENT = "req.http.user-agent"
RULE = "sub vcl_backend_response { if (bereq.http.X-Media) { set beresp.ttl = 12h; } }"


@pytest.mark.parametrize(
    "text",
    [
        RULE.replace("12h", "43200s"),
        RULE.replace("12h", "0.5d"),
        RULE.replace(" = ", "="),
        RULE.replace("; }", "; # as shipped\n}"),
        RULE.replace("; }", "; // as shipped\n/* of\ncourse */ }"),
        RULE.replace(" ", "\n\t"),
    ],
)
def test_spelling_is_no_change(text: str) -> None:
    assert statements(text) == statements(RULE)
    assert changes(RULE, text) == ([], [])


def test_a_comment_in_a_text_is_text() -> None:
    assert statements('set a = "x # y; // z";') == ['set a = "x # y; // z";']
    quoted = 'synthetic ( "a \N{RIGHT DOUBLE QUOTATION MARK} b; c" );'
    assert statements('synthetic({"a " b; c"});') == [quoted]
    assert statements('set a = "x{2}" + {""};') == ['set a = "x{2}" + "";']


def test_what_was_changed() -> None:
    hours, minute = ["set beresp.ttl = 43200s;"], ["set beresp.ttl = 60s;"]
    assert changes(RULE, RULE.replace("12h", "1m")) == (hours, minute)
    twice = RULE.replace("set beresp.ttl = 12h;", "set beresp.ttl = 12h; set beresp.ttl = 12h;")
    assert changes(RULE, twice) == ([], hours)


@pytest.mark.parametrize(
    ("rule", "read"),
    [
        ('if (req.http.User-Agent ~ "x") {', {AGENT}),
        ("if (bereq.http.USER-AGENT) {", {AGENT}),
        ("if (client.ip ~ local && now > 0s) {", {"client.ip", "now"}),
        ("set req.http.X-A = std.random(0, 1); if (req.http.X-A) {", {"std.random"}),
        ("set req.http.X-A = req.url; if (bereq.http.X-A) {", set()),
        ("if (req.http.X-A) { set req.http.X-A = req.url; }", {"req.http.x-a"}),
        ("unset req.http.User-Agent; if (req.http.User-Agent) {", {AGENT}),
        ("set req.http.X-A = req.http.User-Agent; set req.http.User-Agent = req.http.X-A;", {AGENT}),
        ("if (req.http.X-Forwarded-For) { set req.http.X-Forwarded-For = 1; }", {"req.http.x-forwarded-for"}),
        ('if (req.url ~ "client.ip") { set beresp.ttl = 1s; }', set()),
    ],
)
def test_what_a_rule_reads(rule: str, read: set[str]) -> None:
    assert reads(statements(rule)) == read | ({"req.url"} if "req.url" in rule else set())


SHIPPED = 'sub vcl_recv { if (req.http.X-Old && now > req.time) { set req.http.X-Old = "1"; } }'


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ("if (req.http.Cookie && req.http.x-old && bereq.method) {", []),
        ('import cookie; cookie.parse(req.http.Cookie); set req.http.Cookie = cookie.get("a");', []),
        ('set beresp.ttl = std.duration("60s", 1s);', []),
        ("if (req.can_gzip || req.restarts > 0) {", ["req.can_gzip", "req.restarts"]),
        ('if (beresp.http.Date ~ " 12:" || beresp.reason ~ "x") {', ["resp.http.date", "resp.reason"]),
        ("if (now > req.time + 1s) {", ["now", "req.time"]),
        ('if (req.http."User-Agent") {', ["req.http."]),
        ('include "/tmp/rule.txt";', ["include"]),
        ("import directors; new x = directors.a();", ["directors.a", "import directors", "new"]),
        ("return (vcl(other));", ["vcl ("]),
        ("if (req_top.http.User-Agent) {", ["req.http.user-agent"]),
        ('if (req.url ~ {"x"y"} || req.http.User-Agent) {', ["req.http.user-agent"]),
        ("import std as cookie;", ["import std as cookie"]),
        ('backend other { .host = "x"; }', ["backend"]),
        ('if (beresp.status == 200 && beresp.http.Content-Type ~ "^image/" && !beresp.uncacheable) {', []),
        ('set beresp.http.X-Esi = "1"; if (resp.http.X-Esi) {', []),
    ],
)
def test_what_a_rule_may_not_use(rule: str, named: list[str]) -> None:
    """The shipped file's names are known, but not those that tell one moment from another."""
    assert foreign(statements(rule), statements(SHIPPED), {"req.http.Cookie"}) == named


def test_what_a_rule_sets() -> None:
    found = sets(statements("set beresp.ttl = 1s; unset req.http.Cookie; call x;"))
    assert found == {"beresp.ttl", "req.http.cookie"}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("proxy_pass http://varnish; # $http_user_agent", []),
        ("proxy_pass http://$varnish_tcp/x;", []),
        ("include caching/compression.conf;", []),
        ("include /tmp/mine.conf;", ["include /tmp/mine.conf"]),
        ("if ($http_user_agent ~ curl) { gzip on; }", ["$http_user_agent", "if"]),
        ("return 200;", ["return"]),
        ('add_header X "#"; gzip on; return 200 "x"; deny all;', ["deny", "return"]),
        ("include /etc/hostname;", ["include /etc/hostname"]),
        ("include ../varnish/README.md;", ["include ../varnish/README.md"]),
        ("location /x { proxy_pass http://$varnish_tcp; }", []),
    ],
)
def test_what_a_line_of_nginx_may_not_use(line: str, named: list[str]) -> None:
    shipped = "server {\n    proxy_pass http://$varnish_tcp; # as shipped\n}\n"
    assert nginx.foreign(shipped, f"{shipped}\n    {line}\n") == named
