"""A site for comparisons needs only a file in nginx/sites/, and a row that describes it."""

import subprocess
import sys
from pathlib import Path

from nginx.tests.nginx_server import NginxServer
from proscenium.settings import COMPARISON
from tests.stack import REPO

HOST = "fifth.localhost"
KNOWN = f"""
from pathlib import Path
import topologies
from lessons.checking.rules import HOSTS
from results.chart import COLOURS
from upstage.web.templates import Pages
from upstage.web.visit import SITES
pages = Pages(Path("backend/src/upstage/site"))
badge = pages._templates.get_template("_topology.html").module.badge("fifth")
print("{HOST}" in topologies.hosts(), "fifth" in topologies.COMPARED, COLOURS["fifth"], "{HOST}" in HOSTS,
    "fifth" in SITES, "The fifth way" in badge)
"""


def test_each_site_has_a_file_and_a_row() -> None:
    assert sorted(COMPARISON) == sorted(
        path.name.removesuffix(".localhost.conf") for path in REPO.glob("nginx/sites/*.localhost.conf")
    )


def test_a_file_and_a_row_add_a_site(bare: Path) -> None:
    site = (bare / "nginx/sites/nginx.localhost.conf").read_text()
    (bare / f"nginx/sites/{HOST}.conf").write_text(site.replace("nginx.localhost", HOST))
    table = bare / "topologies.toml"
    [row] = [part for part in table.read_text().split("\n\n") if part.startswith("[classic]")]
    row = row.replace("[classic]", "[fifth]").replace("The setup of 2011", "The fifth way")
    table.write_text(f"{table.read_text()}\n{row}\n")

    def python(*arguments: str) -> str:
        path = "loadtest:backend/src:."
        command = [sys.executable, *arguments]
        return subprocess.check_output(command, cwd=bare, env={"PYTHONPATH": path}, text=True)

    python("-m", "proscenium.settings")
    assert python("-c", KNOWN).split() == ["True", "True", "#f0e442", "True", "True", "True"]
    assert f"the fifth way        http://{HOST}'" in (bare / "bin/lib/table.sh").read_text()
    with NginxServer() as nginx:
        nginx.scripts = bare / "nginx"
        nginx.start()
        assert nginx.request("/", HOST).text == "backend"
        pair = nginx.certificates / "proscenium.pem"
        certificate = nginx.run("openssl", "x509", "-noout", "-text", "-in", pair)
        assert f"DNS:{HOST}" in certificate.stdout
        assert "'fifth' is reserved" in nginx.run_script("reload.sh", THEATRES="fifth").stdout
        assert nginx.run_script("reload.sh", COMPARISON_NAMES="off").returncode == 0
        assert "COMPARISON_NAMES=on" in nginx.request("/", HOST).text
