"""Lesson 3: a harmless cookie."""

from printed import changes
from school import Pupil

((FILE, _, RULE),) = changes(3)
# Two themes, two objects.
TWO_OBJECTS = """
sub vcl_req_cookie {
    if (req.url ~ "^/stages/" && req.http.Cookie ~ "^theme=[^;]*$") {
        set req.http.X-Theme = req.http.Cookie;
        unset req.http.Cookie;
    }
}
sub vcl_hash { hash_data(req.http.X-Theme); }
"""
RETURN_HASH = """
sub vcl_recv {
    if (req.http.Cookie ~ "^theme=[^;]*$" && req.url ~ "^/stages/") {
        unset req.http.Cookie;
        return (hash);
    }
}
"""


def write(pupil: Pupil, rule: str) -> None:
    """Load a rule, ask with two themes."""
    pupil.rule(FILE, rule)
    for theme in ("dark", "light"):
        pupil.get("/stages/?WORD", cookie=f"theme={theme}")


def test_not_asked(pupil: Pupil) -> None:
    pupil.rule(FILE, RULE)
    pupil.refused("at least two values of the cookie")


def test_rules_that_do_less_or_more(pupil: Pupil) -> None:
    for rule, sentence in (
        ("", "is still a pass"),
        (
            'sub vcl_req_cookie { if (req.url ~ "^/stages/") { unset req.http.Cookie; } }',
            "=me came from the cache",
        ),
        (RULE.replace('req.url ~ "^/stages/"', "req.http.Cookie"), "The rule is for /stages/ only"),
        (TWO_OBJECTS, "theme=A and theme=B must share one object"),
        # Only a cookie of nothing but the theme is removed; beside another one it reaches the backend.
        (
            RULE.replace('^/stages/"', '^/stages/" && req.http.Cookie ~ "^theme=[^;]*$"'),
            "must reach the backend, without theme",
        ),
        (RETURN_HASH + RULE, "does the rule return from vcl_recv"),
    ):
        write(pupil, rule)
        pupil.refused(sentence)
