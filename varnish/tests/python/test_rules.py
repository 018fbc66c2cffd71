"""varnish/tests/rules.txt: each rule of the default host and of classic.localhost, on a running Varnish."""

import pytest

from tests.support.rules import Proxy, check, rules
from varnish.tests.python.varnish_server import VARNISH, VarnishServer

OUTCOMES = {
    "hit": "varnish; hit; .*",
    "stored": "varnish; fwd=uri-miss; stored; .*",
    "miss": "varnish; fwd=uri-miss",
    "hit-for-miss": "varnish; fwd=miss; detail=hit-for-miss",
    "pass": "varnish; fwd=bypass; detail=pass",
    "method": "varnish; fwd=method; detail=pass",
    "error": "varnish; fwd=uri-miss; detail=error",
    "synth": "varnish; detail=synth",
}


@pytest.mark.parametrize(("rule", "rows"), rules(VARNISH / "tests" / "rules.txt"))
def test_rule(server: VarnishServer, rule: str, rows: list[str]) -> None:
    server.cli("ban", "obj.status", "!=", "0")
    listeners = {"": ("127.0.0.1", server.port), "purge": ("127.0.0.1", server.purge_port)}
    proxy = Proxy(listeners | {"socket": server.socket}, {"backend": server.backend}, OUTCOMES)
    for row in rows:
        check(row, proxy)
