"""Applications from package registries behind the starter, started as the README says."""

from collections.abc import Iterator

import pytest

from starter.tests.asking import HTTP, copy_with, started
from tests.support.applications import (
    ALL,
    Application,
    an_edit_is_shown,
    pages_are_not_mixed,
    visitors_get_copies,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=ALL, ids=lambda each: each.name)
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """Run the starter in front of an application. (It replaces the app of conftest.py.)"""
    application: Application = request.param
    folder = tmp_path_factory.mktemp("shop")
    copy_with(application.name, folder)
    rules = (folder / "recipes" / f"{application.recipe}.vcl").read_text()
    (folder / "varnish" / "rules.vcl").write_text(rules)
    (folder / "app" / application.settings).write_text(application.settings_of(rules))
    with started(folder):
        application.started_at(HTTP)
        yield application


def test_visitors_get_copies(app: Application) -> None:
    visitors_get_copies(app)


def test_users_and_visitors_never_see_each_others_pages(app: Application) -> None:
    pages_are_not_mixed(app)


def test_an_edit_is_on_the_page_at_once(app: Application) -> None:
    an_edit_is_shown(app)
