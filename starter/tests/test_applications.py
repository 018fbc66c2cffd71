"""Applications from package registries behind the starter, started as the README says."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from asking import HTTP, HTTP_PORT, HTTPS_PORT, RUNS_ALREADY, STARTER, compose
from support.applications import ALL, Application, an_edit_is_shown, pages_are_not_mixed, visitors_get_copies

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(RUNS_ALREADY, reason="an application of these tests is not the one behind it"),
]
APPLICATIONS = Path(__file__).parent / "applications"


@pytest.fixture(scope="module", params=ALL, ids=lambda each: each.name)
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """The running starter in front of it. (In place of the app of conftest.py.)"""
    application: Application = request.param
    folder = tmp_path_factory.mktemp("shop")
    shutil.copytree(STARTER, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("tests"))
    shutil.copytree(APPLICATIONS / application.name, folder / "app")
    rules = (folder / "recipes" / f"{application.recipe}.vcl").read_text()
    (folder / "varnish" / "rules.vcl").write_text(rules)
    (folder / "app" / application.settings).write_text(application.settings_of(rules))

    services = (folder / "compose.yaml").read_text()
    build = 'build: { context: ./app, args: { PYTHON_IMAGE: "${PYTHON_IMAGE:-python:3.13-slim}" } }\n'
    site = f'    environment: {{ SITE: "localhost:{HTTP_PORT}" }}\n'
    services, count = re.subn(
        r"image: \$\{PYTHON_IMAGE.*?    environment: [^\n]*\n",
        lambda _: build + site,
        services,
        count=1,
        flags=re.S,
    )
    assert count == 1
    (folder / "compose.yaml").write_text(services)
    with (folder / ".env").open("a") as settings:
        settings.write(f"SITE=localhost:{HTTP_PORT}\nHTTP_PORT={HTTP_PORT}\nHTTPS_PORT={HTTPS_PORT}\n")
    try:
        compose(folder, "up", "--detach", "--wait", "--build")
        application.started_at(HTTP)
        yield application
    finally:
        compose(folder, "down", "--volumes", "--rmi", "local", "--timeout", "2")


def test_visitors_get_copies(app: Application) -> None:
    visitors_get_copies(app)


def test_users_and_visitors_never_see_each_others_pages(app: Application) -> None:
    pages_are_not_mixed(app)


def test_an_edit_is_on_the_page_at_once(app: Application) -> None:
    an_edit_is_shown(app)
