"""starter/tests/rules.txt: each rule of the starter and its recipes, on a Varnish with its options."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

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
    "cookie": "varnish; fwd=bypass; detail=cookie",
}


class StarterVarnish(Service):
    """varnishd as compose.yaml starts it, but with listeners and a backend in a folder of the test."""

    def __init__(self) -> None:
        super().__init__(STARTER / "varnish")
        self.app = Origin("app", self.folder / "app.sock")
        self.origins = [self.app]
        [self.network, self.port] = free_ports(2)
        (self.folder / "backend.vcl").write_text(f'backend app {{ .path = "{self.app.path}"; }}')
        text = re.sub(r"\$\{\w+:-(.*?)\}", r"\1", (STARTER / "compose.yaml").read_text())
        command = yaml.safe_load(text)["services"]["varnish"]["entrypoint"]
        here = {"/run/web": self.folder, ":6081": f"127.0.0.1:{self.network}", "/etc/varnish/": ""}
        here["/var/lib/varnish"] = self.folder
        for old, new in here.items():
            command = [word.replace(old, str(new)) for word in command]
        parameters = ("varnishd", "-x", "parameter")  # an older Varnish has not all of them
        known = subprocess.check_output(parameters, env=self.environment(PATH=PATH), text=True).split()
        command = [word for word in command if word[:2] != "-p" or word[2:].partition("=")[0] in known]
        path = f"-pvcl_path={self.folder}:{self.scripts}"
        more = ["-j", "none", "-p", QUICK, path, f"-aclients=127.0.0.1:{self.port}"]
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
