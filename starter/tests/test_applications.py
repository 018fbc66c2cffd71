"""Two applications from package registries, with their recipes: MediaWiki and Wagtail.

Each is started as the README says, with the settings from the head of its recipe.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from asking import HTTP, HTTP_PORT, HTTPS_PORT, RUNS_ALREADY, STARTER, compose
from support.wait import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(RUNS_ALREADY, reason="an application of these tests is not the one behind it"),
]
APPLICATIONS = Path(__file__).parent / "applications"
PASSWORDS = {"ann": "the curtain rises", "bob": "the curtain falls"}


@dataclass
class Application:
    """What a visitor and a user do with it. Each address is a path; `files` are found in the first page."""

    name: str
    recipe: str
    settings: str  # the file for the lines in the head of the recipe
    pages: tuple[str, ...]
    link: str  # what the addresses of files look like
    kept: float  # the least share of visitors' requests that a copy answers
    files: list[str] = field(default_factory=list)

    def sign_in(self, browser: requests.Session, user: str) -> None:
        raise NotImplementedError

    def user(self, page: str) -> bool | str:
        """Whose page it is: the name, where the application writes it, and False for a visitor's."""
        raise NotImplementedError

    def edit(self, browser: requests.Session, path: str, words: str) -> None:
        raise NotImplementedError


def form(page: str, *names: str) -> dict[str, str]:
    """The hidden fields of a page that have these names."""
    fields = dict(re.findall(r'name="([^"]+)"[^>]*? value="([^"]*)"', page))
    fields |= {name: value for value, name in re.findall(r'value="([^"]*)"[^>]*? name="([^"]+)"', page)}
    return {name: fields[name] for name in names}


class MediaWiki(Application):
    def sign_in(self, browser: requests.Session, user: str) -> None:
        address = f"{HTTP}/index.php?title=Special:UserLogin"
        fields = form(browser.get(address).text, "wpLoginToken", "wpEditToken")
        fields |= {"wpName": user, "wpPassword": PASSWORDS[user], "authAction": "login"}
        done = browser.post(address, fields)
        assert self.user(done.text) == user

    def user(self, page: str) -> bool | str:
        name = re.search(r'"wgUserName":"(\w+)"', page)
        return name[1].lower() if name else False

    def edit(self, browser: requests.Session, path: str, words: str) -> None:
        address = f"{HTTP}{path}?action=edit"
        names = ("wpEditToken", "wpUnicodeCheck", "wpStarttime", "wpEdittime", "editRevId", "wpUltimateParam")
        fields = form(browser.get(address).text, *names)
        title = path.rpartition("/")[2]
        saved = browser.post(
            f"{HTTP}/index.php?title={title}&action=submit",
            {**fields, "wpTextbox1": words, "wpSave": "1"},
        )
        assert words in saved.text


class Wagtail(Application):
    def sign_in(self, browser: requests.Session, user: str) -> None:
        address = f"{HTTP}/admin/login/"
        fields = form(browser.get(address).text, "csrfmiddlewaretoken")
        done = browser.post(address, {"username": user, "password": PASSWORDS[user], **fields})
        assert done.url == f"{HTTP}/admin/"

    def user(self, page: str) -> bool | str:
        return "wagtail-userbar" in page

    def edit(self, browser: requests.Session, path: str, words: str) -> None:
        bar = re.search(r"/admin/pages/\d+/edit/", browser.get(HTTP + path).text)
        assert bar
        address = HTTP + bar[0]
        fields = form(browser.get(address).text, "csrfmiddlewaretoken")
        fields |= {"title": words, "slug": path.strip("/"), "action-publish": "action-publish"}
        fields |= {f"comments-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL", "MIN_NUM", "MAX_NUM")}
        saved = browser.post(address, fields, headers={"Origin": HTTP})
        assert "has been published" in saved.text or "is now live" in saved.text, saved.text[:3000]


WIKI = MediaWiki(
    "mediawiki",
    "mediawiki",
    "settings.php",
    tuple(f"/index.php/{page}" for page in ("Main_Page", "Hamlet", "Macbeth", "Othello", "Lear")),
    r'"(/(?:load\.php|resources/)[^"]+)"',
    0.95,
)
SITE = Wagtail("wagtail", "django", "settings.py", ("/", "/about/", "/news/"), r'"(/static/[^"]+)"', 0.8)


@pytest.fixture(scope="module", params=[WIKI, SITE], ids=lambda each: each.name)
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """The running starter in front of it. (In place of the app of conftest.py.)"""
    application: Application = request.param
    folder = tmp_path_factory.mktemp("shop")
    shutil.copytree(STARTER, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("tests"))
    shutil.copytree(APPLICATIONS / application.name, folder / "app")
    rules = (folder / "recipes" / f"{application.recipe}.vcl").read_text()
    (folder / "varnish" / "rules.vcl").write_text(rules)
    lines = re.findall(r"^#     (.*\n)", rules.partition("\nsub ")[0], re.M)
    assert lines
    (folder / "app" / application.settings).write_text("".join(lines))

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
        page = wait_until(lambda: first_page(application), within=60)
        application.files = [found.replace("&amp;", "&") for found in re.findall(application.link, page)][:3]
        assert len(application.files) >= 2, page
        yield application
    finally:
        compose(folder, "down", "--volumes", "--rmi", "local", "--timeout", "2")


def first_page(application: Application) -> str:
    response = requests.get(HTTP + application.pages[0])
    return response.text if response.status_code == 200 else ""


def visitor(number: int) -> requests.Session:
    """A browser with the cookies of a new visitor; every third has come from a campaign."""
    browser = requests.Session()
    browser.cookies.update({"_ga": f"GA1.1.{number}.1", "_gid": f"GA1.2.{number}", "cookieconsent": "yes"})
    if number % 3 == 0:
        browser.params = {"utm_source": f"mail{number}", "gclid": f"c{number}"}
    return browser


def test_visitors_get_copies(app: Application) -> None:
    """Twelve, each with cookies of its own, after the first."""
    answers = []
    for number in range(13):
        browser = visitor(number)
        answers += [browser.get(HTTP + path) for path in (*app.pages, *app.files)]
    assert {answer.status_code for answer in answers} == {200}
    hits = ["; hit" in answer.headers["Cache-Status"] for answer in answers]
    later = hits[len(app.pages) + len(app.files) :]
    print(f"{app.name}: {sum(hits) / len(hits):.0%}, after the first visitor {sum(later) / len(later):.0%}")
    assert sum(later) / len(later) >= app.kept


def test_users_and_visitors_never_see_each_others_pages(app: Application) -> None:
    """520 requests of two and two, in turns."""
    browsers = [requests.Session(), visitor(101), requests.Session(), visitor(102)]
    users: list[bool | str] = ["ann", False, "bob", False]
    for browser, user in zip(browsers, users, strict=True):
        if user:
            app.sign_in(browser, str(user))
    wrong = []
    for number in range(520):
        path, turn = app.pages[number // 4 % len(app.pages)], number % 4
        answer = browsers[turn].get(HTTP + path)
        if answer.status_code != 200 or app.user(answer.text) not in (users[turn], bool(users[turn])):
            wrong.append((number, users[turn], path, answer.status_code))
    assert wrong == []


def test_an_edit_is_on_the_page_at_once(app: Application) -> None:
    """The application purges it."""
    path = app.pages[1]
    reader, editor = visitor(201), requests.Session()
    app.sign_in(editor, "ann")
    for _ in range(2):
        before = reader.get(HTTP + path)
    assert "; hit" in before.headers["Cache-Status"]
    app.edit(editor, path, "A new ending")
    wait_until(lambda: "A new ending" in reader.get(HTTP + path).text, within=3)
    assert "A new ending" not in before.text
