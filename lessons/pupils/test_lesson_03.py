"""Lesson 3: a harmless cookie."""

import pytest

from school import Pupil

FILE = "varnish/normalise.vcl"
RULE = """
sub vcl_req_cookie {
    if (req.url ~ "^/stages/") {
        set req.http.Cookie = regsuball(req.http.Cookie, "(^|;\\s*)theme=[^;]*", "");
        if (req.http.Cookie ~ "^[;\\s]*$") {
            unset req.http.Cookie;
        }
    }
}
"""


@pytest.fixture(autouse=True)
def begin(pupil: Pupil) -> None:
    pupil.begin(3)


def write(pupil: Pupil, rule: str) -> None:
    """Append a rule, load it, ask with two themes."""
    pupil.append(FILE, rule)
    pupil.reload()
    for theme in ("dark", "light"):
        pupil.get("/stages/?WORD", cookie=f"theme={theme}")


def test_the_model_pupil_is_done(pupil: Pupil) -> None:
    write(pupil, RULE)
    pupil.right()


def test_not_asked(pupil: Pupil) -> None:
    pupil.append(FILE, RULE)
    pupil.reload()
    pupil.refused("at least two values of the cookie")


def test_no_rule(pupil: Pupil) -> None:
    write(pupil, "")
    pupil.refused("is still a pass")


def test_all_cookies(pupil: Pupil) -> None:
    write(pupil, 'sub vcl_req_cookie { if (req.url ~ "^/stages/") { unset req.http.Cookie; } }')
    pupil.refused("who=me came from the cache")


def test_on_every_url(pupil: Pupil) -> None:
    write(pupil, RULE.replace('req.url ~ "^/stages/"', "req.http.Cookie"))
    pupil.refused("The rule is for /stages/ only")


def test_cookie_in_the_key(pupil: Pupil) -> None:
    """Two themes, two objects."""
    write(
        pupil,
        """
sub vcl_req_cookie {
    if (req.url ~ "^/stages/" && req.http.Cookie ~ "^theme=[^;]*$") {
        set req.http.X-Theme = req.http.Cookie;
        unset req.http.Cookie;
    }
}
sub vcl_hash { hash_data(req.http.X-Theme); }
""",
    )
    pupil.refused("theme=A and theme=B must share one object")


def test_the_others_are_passed_with_the_theme(pupil: Pupil) -> None:
    """Only a cookie of nothing but the theme is removed; beside another one it reaches the backend."""
    write(pupil, RULE.replace('^/stages/"', '^/stages/" && req.http.Cookie ~ "^theme=[^;]*$"'))
    pupil.refused("must reach the backend, without theme")


def test_return_hash(pupil: Pupil) -> None:
    write(
        pupil,
        'sub vcl_recv { if (req.http.Cookie ~ "^theme=[^;]*$" && req.url ~ "^/stages/")'
        " { unset req.http.Cookie; return (hash); } }" + RULE,
    )
    pupil.refused("does the rule return from vcl_recv")
