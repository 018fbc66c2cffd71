"""starter/tests/rules.txt: each rule of the starter and its recipes, on a Varnish as in the starter."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.http import Address
from tests.support.origin import Origin
from tests.support.ports import free_ports
from tests.support.program import PATH, Program, Service
from tests.support.rules import Proxy, check, rules
from varnish.tests.python.varnish_server import QUICK, VARNISH

STARTER = VARNISH.parent / "starter"
OUTCOMES = {
    "hit": "varnish; hit; .*",
    "stored": "varnish; fwd=uri-miss; stored; .*",
    "miss": "varnish; fwd=uri-miss",
    "hit-for-pass": "varnish; fwd=bypass; detail=hit-for-pass",
    "header": 'varnish; fwd=bypass; detail="header x-theme"',
    "cookie": "varnish; fwd=bypass; detail=cookie",
}


class StarterVarnish(Service):
    """varnishd with the starter's options, but with listeners and a backend in a folder of the test."""

    def __init__(self) -> None:
        super().__init__(STARTER / "varnish")
        self.app = Origin("app", self.folder / "app.sock")
        self.origins = [self.app]
        [self.network, self.port] = free_ports(2)
        (self.folder / "backend.vcl").write_text(f'backend app {{ .path = "{self.app.path}"; }}')
        parameters = ("varnishd", "-x", "parameter")  # an older Varnish does not know all of them
        known = subprocess.check_output(parameters, env=self.environment(PATH=PATH), text=True).split()
        options = [line.split() for line in (self.scripts / "options").read_text().splitlines()]
        command = ["varnishd", "-F", "-j", "none", "-n", str(self.folder / "varnishd"), "-f", "default.vcl"]
        for name, value in (line for line in options if line[0] != "#"):
            if name != "-p" or value.partition("=")[0] in known:
                command += [name, value]
        more = ["-p", QUICK, "-p", f"vcl_path={self.folder}:{self.scripts}"]
        for listener in (
            f"nginx={self.folder}/varnish.sock",
            f"purge={self.folder}/purge.sock",
            f"purge_network=127.0.0.1:{self.network}",
            f"clients=127.0.0.1:{self.port}",
        ):
            more += ["-a", listener]
        self.program = Program([*command, *more], self.environment(PATH=PATH), self.log)
        self.program.wait_for((self.folder / "purge.sock").exists)

    def use(self, rule_file: Path | None) -> None:
        """Load the VCL with these rules, or with none, into an empty cache."""
        name = rule_file.stem if rule_file else "none"
        text = rule_file.read_text() if rule_file else ""
        if name not in self.cli("vcl.list"):
            (self.folder / "rules.vcl").write_text(text)
            self.cli("vcl.load", name, "default.vcl")
        self.cli("vcl.use", name)
        self.cli("ban", "obj.status != 0")

    def cli(self, *command: str) -> str:
        varnishadm = ["varnishadm", "-n", str(self.folder / "varnishd"), *command]
        return subprocess.check_output(varnishadm, env=self.environment(PATH=PATH), text=True)


@pytest.fixture(scope="module")
def starter() -> Iterator[StarterVarnish]:
    with StarterVarnish() as running:
        yield running


@pytest.mark.parametrize(("rule", "rows"), rules(STARTER / "tests" / "rules.txt"))
def test_rule(starter: StarterVarnish, rule: str, rows: list[str]) -> None:
    file = STARTER / rule.partition(":")[0]
    starter.use(file if rule.startswith("recipes/") else None)
    listeners: dict[str, Address] = {
        "": ("127.0.0.1", starter.port),
        "purge": starter.folder / "purge.sock",
        "network": ("127.0.0.1", starter.network),
    }
    proxy = Proxy(listeners, {"app": starter.app}, OUTCOMES)
    for row in rows:
        check(row, proxy)
