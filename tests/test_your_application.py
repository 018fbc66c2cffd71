"""Your own application on the whole stack: by the commands of docs/your-application.md, with applications
from package registries, and with the starter's, which does what proxies often break.
"""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.conditions import differences
from tests.stack import PROJECT, REPO, Stack
from tests.support.applications import (
    BLOG,
    SHOP,
    Application,
    an_edit_is_shown,
    pages_are_not_mixed,
    visitors_get_copies,
)
from tests.support.checks import check, ran
from tests.support.http import connect
from tests.support.ports import free_ports
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow
PAGE = (REPO / "docs" / "your-application.md").read_text()
RULES = REPO / "extras" / "app" / "rules.vcl"
SERVICES = RULES.with_name("services.yaml")
HOST = "app.localhost"
APP = (sys.executable, "starter/tests/app.py", "127.0.0.1")


class Site(Stack):
    """The stack with an application of your own; commands of the page run with this stack's ports."""

    app_port = 0

    def typed(self, commands: str) -> str:
        """Run commands as the page prints them, but for the ports; return their output."""
        ours = {
            "8001": self.app_port,
            "8080": self.ports["HTTP_PORT"],
            "6081": self.ports["APP_PURGE_PORT"],
        }
        script = re.sub(
            r"(?<=:)(8001|8080|6081)\b|(?<=--port )8001", lambda port: str(ours[port[0]]), commands
        )
        environment = {name: value for name, value in self.environment.items() if name != "EXTRAS"}
        return check("bash", "-ec", script, env=environment, stdin=subprocess.DEVNULL, timeout=400)

    def start(self) -> str:
        """Start the stack in front of the application."""
        return self.make("up", "EXTRAS=app", f"APP=http://localhost:{self.app_port}", "WITH=locust")

    def session(self, host: str = HOST) -> requests.Session:
        """Return a browser that keeps its cookies; every *.localhost is 127.0.0.1."""
        session = requests.Session()
        session.headers["Host"] = f"{host}:{self.ports['HTTP_PORT']}"
        return session

    def at(self, path: str) -> str:
        """Return the URL of a path; the Host header chooses the site."""
        return f"http://127.0.0.1:{self.ports['HTTP_PORT']}{path}"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site("containers", PROJECT + "-app")
    for file in (RULES, SERVICES):
        assert not file.exists(), f"{file} is in the way of this test"
    yield site
    RULES.unlink(missing_ok=True)
    site.make("clean")


@contextmanager
def program(*command: str, port: int, folder: Path = REPO) -> Iterator[None]:
    """Run an application on this machine during the block, which begins when it listens on `port`."""
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_until(lambda: connect(("127.0.0.1", port)), within=30).close()
            yield
        finally:
            process.terminate()


def block(start: str) -> str:
    """Return the page's block of commands that begins with this text."""
    blocks: list[str] = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    return next(each for each in blocks if each.startswith(start))


def outcome(response: requests.Response) -> str:
    """Return the outcome in Varnish: `hit`, or why it was none."""
    return str(response.headers["Cache-Status"]).split(";")[1].split(",")[0].strip()


def test_a_program_on_this_machine_by_the_pages_commands(site: Site) -> None:
    """With Datasette as the program: a page is cached, a stream is whole, the comparison counts hits; without
    UpStage a page is cached and purged.
    """
    [site.app_port] = free_ports(1)
    install, up = block("python3 -m venv"), block("make up EXTRAS=app")
    try:
        site.typed(install + "\necho $! >.run/apps/pid")
        first, second = site.typed(up).splitlines()[-2:]
        assert "fwd=uri-miss; stored" in first
        assert "varnish; hit" in second

        browser = site.session()
        page = browser.get(site.at("/plays/plays"))
        assert (page.status_code, outcome(page)) == (200, "hit")
        assert f"http://{HOST}:{site.ports['HTTP_PORT']}/plays/plays.json" in page.headers["Link"]
        csv = browser.get(site.at("/plays/plays.csv?_stream=on&_size=max")).text
        assert csv.count("\n") >= 5000

        table = site.typed(block("printf").replace("SECONDS=20", "SECONDS=3"))
        rows = [line.split() for line in table.splitlines() if re.match(r" *((alone|nginx)\.)?app ", line)]
        hits = {row[0]: float(row[7]) for row in rows}
        assert hits["alone.app"] == hits["nginx.app"] == 0
        assert hits["app"] > 50
        assert "Of 100 requests a cache answers" in table
        assert "INVALID" not in table
        assert "lifetime 0.000, Cache-Control" in table
        assert "app.css" not in table.rpartition("reached the application:")[2]  # kept, because of its ending

        printed = site.make("up", "EXTRAS=app", f"APP=http://127.0.0.1:{site.app_port}")
        assert f"http://localhost:{site.ports['HTTP_PORT']}/ " in printed
        assert "workshop" not in printed
        assert set(site.compose("ps", "--services").split()) == {"nginx", "varnish", "app-relay"}
        assert "Datasette" in site.session("localhost").get(site.at("/")).text
        wait_until(
            lambda: re.search("hit; ttl=[1-9]", browser.get(site.at("/plays/plays")).headers["Cache-Status"])
        )
        site.typed(block("curl -X PURGE"))
        wait_until(lambda: outcome(browser.get(site.at("/plays/plays"))) == "fwd=uri-miss", within=3)
    finally:
        subprocess.run(["bash", "-c", "kill $(cat .run/apps/pid); rm .run/apps/pid .run/plays.db"], cwd=REPO)


@pytest.fixture(scope="module")
def foreign(site: Site) -> Iterator[Site]:
    """Yield the stack in front of the starter's application on this machine."""
    [site.app_port] = free_ports(1)
    with program(*APP, str(site.app_port), port=site.app_port):
        site.start()
        yield site


def test_what_takes_long_or_is_large_arrives_whole(foreign: Site) -> None:
    """Both come at the same time, as from real visitors."""

    def download() -> int:
        response = foreign.session().get(foreign.at("/large?times=15"), stream=True, timeout=60)
        return sum(len(part) for part in response.iter_content(1 << 20))

    with ThreadPoolExecutor() as pool:
        size = pool.submit(download)
        assert foreign.session().get(foreign.at("/page?wait=30"), timeout=60).text.startswith("page")
        assert size.result() == 300 << 20


@pytest.mark.parametrize("cookie", [{}, {"Cookie": "who=me"}], ids=["visitor", "cookie"])
def test_conditional_requests_and_ranges_have_the_responses_of_the_table(
    foreign: Site, cookie: dict[str, str]
) -> None:
    url = foreign.at("/file/fox.png")
    asked = foreign.session().request
    assert list(differences(lambda method, fields: asked(method, url, headers=fields | cookie))) == []


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_a_page_without_a_lifetime_arrives_part_by_part(foreign: Site, encoding: str) -> None:
    headers = {"Accept-Encoding": encoding}
    response = foreign.session().get(foreign.at("/stream/parts"), headers=headers, stream=True, timeout=10)
    arrived = [time.monotonic() for line in response.iter_lines(chunk_size=1) if line]
    assert len(arrived) == 5
    assert arrived[-1] - arrived[0] > 1.5  # not all at the end


def test_another_site_has_no_copies_of_the_former(foreign: Site) -> None:
    page, browser = foreign.at("/page/7"), foreign.session()
    assert [outcome(browser.get(page)) for _ in range(2)] == ["fwd=uri-miss", "hit"]
    [silent] = free_ports(1)
    printed = foreign.make("up", "EXTRAS=app", f"APP=http://localhost:{silent}/", "WITH=locust")
    assert f"Nothing answers at http://localhost:{silent} yet." in printed
    assert browser.get(page).status_code == 503
    assert "Nothing answers" not in foreign.start()


def test_a_load_test_of_ones_own(foreign: Site) -> None:
    mine = REPO / "loadtest" / "mine"
    readme = (mine / "README.md").read_text()
    shopper, thresholds = mine / "shopper_of_a_test.py", mine / "thresholds.toml"
    assert not thresholds.exists(), f"{thresholds} is in the way of this test"
    settings = ("EXTRAS=app", f"APP=http://localhost:{foreign.app_port}", "WITH=locust")
    try:
        shopper.write_text(re.search(r"```python\n(.*?)```", readme, re.S)[1])  # type: ignore[index]
        thresholds.write_text(re.search(r"```toml\n(.*?)```", readme, re.S)[1])  # type: ignore[index]
        foreign.make("reload", *settings)
        wait_until(lambda: foreign.compose("exec", "-T", "locust", "true") == "")
        said = foreign.make("load", "CLASSES=Shopper", *settings)
        assert "GOOD" in said
        assert re.search(r"p95 of GET /\s", said)
        shopper.write_text("import nothing_of_this_name\n")
        with pytest.raises(AssertionError, match=r"(?s)nothing_of_this_name.*goes on with its old files"):
            foreign.make("reload", *settings)
    finally:
        shopper.unlink(missing_ok=True)
        thresholds.unlink(missing_ok=True)


def test_a_service_in_a_container_with_plain_compose(site: Site, tmp_path: Path) -> None:
    """`make` knows the stack; the relay follows the service to another address."""
    service = tmp_path / "shop.yaml"
    service.write_text(
        f"""services:
  shop:
    image: {{image}}
    user: "1000:1000"
    command: [python, /app.py, 0.0.0.0, "8000"]
    volumes: ["{REPO}/starter/tests/app.py:/app.py:ro,z"]
    networks: [app]
""".replace("{image}", f"{site.project}-backend")
    )
    site.make("down")
    files = f"compose.yaml:extras/app/compose.yaml:{service}"
    site.settings = {"COMPOSE_FILE": files, "APP": "http://shop:8000"}
    compose = f"docker compose -f compose.yaml -f extras/app/compose.yaml -f {service}"
    site.typed(f"{compose} up -d --wait")
    browser = site.session()

    def served_by() -> str:
        response = browser.get(site.at(f"/page/{time.monotonic_ns()}"))
        return response.text.rpartition(" ")[2] if response.status_code == 200 else ""

    first = wait_until(served_by)
    assert "shop" in site.make("status")
    # Another container takes the service's address, so that the service comes back at a new one.
    squatter = f"docker run -d --rm --name {site.project}-squatter --network {site.project}_app"
    site.typed(f"{compose} rm -sf shop && {squatter} {site.project}-backend sleep 60")
    try:
        site.typed(f"{compose} up -d shop")
        wait_until(lambda: served_by() not in ("", first))
    finally:
        ran("docker", "rm", "-f", f"{site.project}-squatter")
    assert "varnish; hit" in [browser.get(site.at("/page/1")) for _ in range(2)][1].headers["Cache-Status"]
    site.make("purge", "URL=/page/1")


@pytest.mark.parametrize("application", [SHOP, BLOG], ids=lambda each: each.name)
def test_applications_from_package_registries(site: Site, tmp_path: Path, application: Application) -> None:
    """Each runs in a container, with its recipe: copies, users and visitors, and an edit that it purges.

    starter/tests/test_applications.py tests the others."""
    recipe = (REPO / "starter" / "recipes" / f"{application.recipe}.vcl").read_text()
    folder = shutil.copytree(REPO / "starter" / "tests" / "applications" / application.name, tmp_path / "app")
    (folder / application.settings).write_text(application.settings_of(recipe))
    SERVICES.write_text(
        f"""services:
  {application.name}: # Compose builds only what has no image yet
    build: {{ context: {folder}, args: {{ PYTHON_IMAGE: "${{PYTHON_IMAGE:-python:3.13-slim}}" }} }}
    environment: {{ PUBLIC_NAME: "localhost:{site.ports["HTTP_PORT"]}" }}
    networks: [app]
"""
    )
    site.make("down")
    site.settings = {
        "EXTRAS": "app",
        "APP": f"http://{application.name}:8000",
        "APP_RECIPE": application.recipe,
    }
    if application is BLOG:
        site.settings |= {"WITH": "locust", "APP_NAMES": "localhost"}
    try:
        site.make("up")
        application.started_at(f"http://localhost:{site.ports['HTTP_PORT']}")
        visitors_get_copies(application)
        pages_are_not_mixed(application)
        an_edit_is_shown(application)
        if application is BLOG:  # it redirects every name but its own
            (tmp_path / "paths.txt").write_text("\n".join(application.pages))
            said = site.make("compare", f"PATHS={tmp_path}/paths.txt", "USERS=5", "SECONDS=5")
            assert "Of 100 requests a cache answers" in said
            assert "INVALID" not in said
    finally:
        SERVICES.unlink()
        site.settings = {}
