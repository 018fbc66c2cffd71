"""nginx/tests/rules.txt: each rule of nginx's sites, on a running nginx with the deployed files."""

import pytest

from nginx.tests.nginx_server import NGINX, NginxServer
from tests.support.rules import Proxy, check, rules

SETTINGS = {"SERVER_NAMES": "stage.example.org 192.0.2.7"}


@pytest.mark.parametrize(("rule", "rows"), rules(NGINX / "tests" / "rules.txt"))
def test_rule(server: NginxServer, rule: str, rows: list[str]) -> None:
    listeners = {"": (server.address, server.public), "load": (server.address, server.load)}
    origins = {
        "varnish": server.varnish,
        "tcp": server.varnish_tcp,
        "backend": server.backend,
        "metrics": server.metrics,
    }
    for row in rows:
        for name, port in (("LOAD", server.load), ("PUBLIC", server.public)):
            row = row.replace(f"ADDRESS:{name}", f"{server.address}:{port}").replace(f":{name}", f":{port}")
        check(row, Proxy(listeners, origins, {}))
