"""Applications from package registries: MediaWiki, Wagtail and WordPress, which purge what has
been edited, and JupyterLab, which is private.

Each is built from a folder of starter/tests/applications and runs behind the starter, or extras/app, with
its recipe.
"""

import base64
import re
from dataclasses import dataclass, field
from pathlib import Path

import requests

from tests.support.wait import wait_until

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "stage.png"
PASSWORDS = {"ann": "the curtain rises", "bob": "the curtain falls"}


@dataclass
class Application:
    """An application at `address`, and the actions of its users. `files` are those of the first page."""

    name: str
    recipe: str
    settings: str  # the file for the lines in the head of the recipe
    pages: tuple[str, ...]
    link: str  # a pattern for the addresses of files
    kept: float  # the least share of visitors' requests that a copy answers
    own: tuple[str, ...] = ()  # pages that differ for each user; a visitor is sent to the sign-in
    files: list[str] = field(default_factory=list)
    address: str = ""

    def settings_of(self, recipe: str) -> str:
        """Return the lines for the application's settings from the head of its recipe."""
        lines = re.findall(r"^#     (.*\n)", recipe.partition("\nsub ")[0], re.M)
        assert lines
        return "".join(lines)

    def started_at(self, address: str) -> None:
        """Wait for the application's first page at an address."""
        self.address = address

        def page() -> str:
            response = requests.get(address + self.pages[0])
            return response.text if response.status_code == 200 else ""

        links = re.findall(self.link, wait_until(page, within=60))
        self.files = [link.replace("&amp;", "&") for link in links][:3]
        assert len(self.files) >= 2

    def sign_in(self, browser: requests.Session, user: str) -> None:
        raise NotImplementedError

    def user(self, page: str) -> bool | str:
        """Return whose page this is: the user's name (or True), or False for a visitor."""
        raise NotImplementedError

    def edit(self, browser: requests.Session, path: str, words: str) -> None:
        raise NotImplementedError

    def upload(self, browser: requests.Session) -> None:
        """Do nothing: MediaWiki accepts no uploads by default."""


def form(page: str, *names: str) -> dict[str, str]:
    """Return the hidden fields of a page that have these names."""
    fields = dict(re.findall(r'name="([^"]+)"[^>]*? value="([^"]*)"', page))
    fields |= {name: value for value, name in re.findall(r'value="([^"]*)"[^>]*? name="([^"]+)"', page)}
    return {name: fields[name] for name in names}


class MediaWiki(Application):
    def sign_in(self, browser: requests.Session, user: str) -> None:
        address = f"{self.address}/index.php?title=Special:UserLogin"
        fields = form(browser.get(address).text, "wpLoginToken", "wpEditToken")
        fields |= {"wpName": user, "wpPassword": PASSWORDS[user], "authAction": "login"}
        done = browser.post(address, fields)
        assert self.user(done.text) == user

    def user(self, page: str) -> bool | str:
        name = re.search(r'"wgUserName":"(\w+)"', page)
        return name[1].lower() if name else False

    def edit(self, browser: requests.Session, path: str, words: str) -> None:
        address = f"{self.address}{path}?action=edit"
        names = ("wpEditToken", "wpUnicodeCheck", "wpStarttime", "wpEdittime", "editRevId", "wpUltimateParam")
        fields = form(browser.get(address).text, *names)
        title = path.rpartition("/")[2]
        saved = browser.post(
            f"{self.address}/index.php?title={title}&action=submit",
            {**fields, "wpTextbox1": words, "wpSave": "1"},
        )
        assert words in saved.text


class Wagtail(Application):
    def sign_in(self, browser: requests.Session, user: str) -> None:
        address = f"{self.address}/admin/login/"
        browser.headers["Origin"] = self.address
        fields = form(browser.get(address).text, "csrfmiddlewaretoken")
        done = browser.post(address, {"username": user, "password": PASSWORDS[user], **fields})
        assert done.url == f"{self.address}/admin/"

    def user(self, page: str) -> bool | str:
        email = re.search(r"(\w+)@example\.org", page)
        return email[1] if email else "wagtail-userbar" in page

    def edit(self, browser: requests.Session, path: str, words: str) -> None:
        bar = re.search(r"/admin/pages/\d+/edit/", browser.get(self.address + path).text)
        assert bar
        address = self.address + bar[0]
        fields = form(browser.get(address).text, "csrfmiddlewaretoken")
        fields |= {"title": words, "slug": path.strip("/"), "action-publish": "action-publish"}
        fields |= {f"comments-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL", "MIN_NUM", "MAX_NUM")}
        saved = browser.post(address, fields, headers={"Origin": self.address})
        assert "has been published" in saved.text or "is now live" in saved.text, saved.text[:3000]

    def upload(self, browser: requests.Session) -> None:
        address = f"{self.address}/admin/images/multiple/add/"
        fields = form(browser.get(address).text, "csrfmiddlewaretoken") | {"title": "a scene"}
        files = {"files[]": ("scene.png", PICTURE.read_bytes(), "image/png")}
        headers = {"X-Requested-With": "XMLHttpRequest", "Origin": self.address}
        sent = browser.post(address, fields, files=files, headers=headers)
        assert sent.json()["success"] is True, sent.text


class WordPress(Application):
    def sign_in(self, browser: requests.Session, user: str) -> None:
        address = f"{self.address}/wp-login.php"
        browser.get(address)  # its cookie shows that the browser takes cookies
        fields = {"log": user, "pwd": PASSWORDS[user], "testcookie": "1"}
        assert self.user(browser.post(address, fields).text) == user

    def user(self, page: str) -> bool | str:
        name = re.search(r'class="display-name">(\w+)<', page)
        return name[1] if name else False

    def nonce(self, browser: requests.Session) -> dict[str, str]:
        """Return the header that the editor's scripts send with each request."""
        return {"X-WP-Nonce": browser.get(f"{self.address}/wp-admin/admin-ajax.php?action=rest-nonce").text}

    def edit(self, browser: requests.Session, path: str, words: str) -> None:
        number = re.search(r"postid-(\d+)", browser.get(self.address + path).text)
        assert number
        address = f"{self.address}/wp-json/wp/v2/posts/{number[1]}"
        saved = browser.post(address, {"content": words}, headers=self.nonce(browser))
        assert words in saved.text, saved.text[:3000]

    def upload(self, browser: requests.Session) -> None:
        address, files = f"{self.address}/wp-json/wp/v2/media", {"file": ("scene.png", PICTURE.read_bytes())}
        sent = browser.post(address, files=files, headers=self.nonce(browser))
        assert sent.status_code == 201, sent.text
        assert browser.get(sent.json()["source_url"]).content == PICTURE.read_bytes()


class JupyterLab(Application):
    """JupyterLab: one password for all users, and only the sign-in page for visitors."""

    def sign_in(self, browser: requests.Session, user: str) -> None:
        address = f"{self.address}/login?next=/lab"
        fields = form(browser.get(address).text, "_xsrf") | {"password": PASSWORDS["ann"]}
        done = browser.post(address, fields)
        assert done.url == f"{self.address}/lab"
        browser.headers["Referer"] = done.url  # without it, JupyterLab sends no file

    def user(self, page: str) -> bool | str:
        return 'name="password"' not in page

    def put(self, browser: requests.Session, name: str, **content: str) -> None:
        address, file = f"{self.address}/api/contents/{name}", {"type": "file", **content}
        assert browser.put(address, json=file).status_code == 403
        sent = browser.put(address, json=file, headers={"X-XSRFToken": browser.cookies["_xsrf"]})
        assert sent.ok, sent.text

    def edit(self, browser: requests.Session, path: str, words: str) -> None:
        self.put(browser, path.removeprefix("/files/"), format="text", content=words)

    def upload(self, browser: requests.Session) -> None:
        picture = PICTURE.read_bytes()
        self.put(browser, "scene.png", format="base64", content=base64.b64encode(picture).decode())
        for _ in range(2):
            assert browser.get(f"{self.address}/files/scene.png").content == picture
            assert not self.user(requests.get(f"{self.address}/files/scene.png").text)


WIKI = MediaWiki(
    "mediawiki",
    "mediawiki",
    "settings.php",
    tuple(f"/index.php/{page}" for page in ("Main_Page", "Hamlet", "Macbeth", "Othello", "Lear")),
    r'"(/(?:load\.php|resources/)[^"]+)"',
    0.95,
)
SHOP = Wagtail(
    "wagtail",
    "django",
    "settings.py",
    ("/", "/about/", "/news/"),
    r'"(/static/[^"]+)"',
    0.8,
    ("/admin/account/",),
)
BLOG = WordPress(
    "wordpress",
    "wordpress",
    "varnish.php",
    ("/", "/hamlet/", "/macbeth/", "/othello/", "/lear/"),
    r"""["'](?:http://[^/"']+)?(/wp-(?:content|includes)/[^"']+\.(?:css|js)[^"']*)["']""",
    0.95,
    ("/wp-admin/profile.php",),
)
LAB = JupyterLab(
    "jupyterlab",
    "jupyterlab",
    "settings.py",
    ("/login",),
    r'"(/static/style/[^"]+)"',
    0.75,  # the files
    ("/lab", "/files/hamlet.txt"),
)
ALL = [WIKI, SHOP, BLOG, LAB]


def visitor(number: int) -> requests.Session:
    """Return a browser with a new visitor's cookies; every third visitor comes from a campaign."""
    browser = requests.Session()
    browser.cookies.update({"_ga": f"GA1.1.{number}.1", "_gid": f"GA1.2.{number}", "cookieconsent": "yes"})
    if number % 3 == 0:
        browser.params = {"utm_source": f"mail{number}", "gclid": f"c{number}"}
    return browser


def visitors_get_copies(app: Application) -> None:
    """Require that twelve visitors with different cookies get copies after the first visitor."""
    responses = []
    for number in range(13):
        browser = visitor(number)
        responses += [browser.get(app.address + path) for path in (*app.pages, *app.files)]
    assert {response.status_code for response in responses} == {200}
    hits = ["; hit" in response.headers["Cache-Status"] for response in responses]
    later = hits[len(app.pages) + len(app.files) :]
    print(f"{app.name}: {sum(hits) / len(hits):.0%}, after the first visitor {sum(later) / len(later):.0%}")
    assert sum(later) / len(later) >= app.kept


def pages_are_not_mixed(app: Application) -> None:
    """Require that two users and two visitors, who take turns, get their own pages in 520 requests."""
    browsers = [requests.Session(), visitor(101), requests.Session(), visitor(102)]
    users: list[bool | str] = ["ann", False, "bob", False]
    for browser, user in zip(browsers, users, strict=True):
        if user:
            app.sign_in(browser, str(user))
    wrong, pages = [], (*app.pages, *app.own)
    for number in range(520):
        path, turn = pages[number // 4 % len(pages)], number % 4
        response = browsers[turn].get(app.address + path)
        if response.status_code != 200 or app.user(response.text) not in (users[turn], bool(users[turn])):
            wrong.append((number, users[turn], path, response.status_code))
    assert wrong == []


def an_edit_is_shown(app: Application) -> None:
    """Require that a reader sees an edit: the page is purged, or was never kept."""
    kept = len(app.pages) > 1
    path = app.pages[1] if kept else app.own[-1]
    reader, editor = visitor(201), requests.Session()
    app.sign_in(editor, "ann")
    if not kept:
        app.sign_in(reader, "bob")
    for _ in range(2):
        before = reader.get(app.address + path)
    assert ("; hit" in before.headers["Cache-Status"]) == kept
    app.upload(editor)
    app.edit(editor, path, "A new ending")
    wait_until(lambda: "A new ending" in reader.get(app.address + path).text, within=3)
    assert "A new ending" not in before.text
