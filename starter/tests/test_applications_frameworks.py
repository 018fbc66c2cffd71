"""starter/recipes/*_cache.py: Django, Flask and FastAPI name what is on a page, and a saved object
purges it.
"""

import shutil
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from starter.tests.asking import Response, ask, copy_with, started
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow


NETWORK, TOKEN = "", "VARNISH_PURGE_URL=http://nginx:8080\nPURGE_TOKEN=secret\n"


@pytest.fixture(scope="module", autouse=True, params=[NETWORK, TOKEN], ids=["network", "token"])
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run all three in one container. (They replace the app of conftest.py.)"""
    folder = tmp_path_factory.mktemp("frameworks")
    copy_with("frameworks", folder)
    for recipe in (folder / "recipes").glob("*_cache.py"):
        shutil.copy(recipe, folder / "app")
    with started(folder, request.param):
        wait_until(lambda: ask("/django/plays").status == 200, within=60)
        yield


def copy(path: str) -> Response:
    """Return the page that the second visitor gets; require that it is a copy."""
    ask(path)
    page = ask(path)
    assert page.hit, page.cache
    assert not page.headers["X-Cache-Tags"]
    return page


@pytest.mark.parametrize("framework", ["django", "flask", "fastapi"])
def test_what_is_saved_or_deleted_purges_the_pages_that_show_it(framework: str) -> None:
    plays, hamlet, lear, othello = (f"/{framework}/plays{number}" for number in ("", "/1", "/2", "/3"))
    for page, title in ((plays, "Hamlet"), (hamlet, "Hamlet"), (lear, "Lear"), (othello, "Othello")):
        assert title in copy(page).text
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert ask(hamlet, "POST", body=urlencode({"title": "Ophelia"}).encode(), headers=kind).status == 200
    assert ask(lear, "DELETE").status == 200
    assert "Ophelia" in ask(hamlet).text
    assert ask(lear).status == 404
    assert ask(othello).hit
    assert ("Ophelia" in ask(plays).text, "Lear" in ask(plays).text) == (True, False)
