"""Lesson 15: Vary by language."""

from printed import changes
from school import Pupil

((FILE, _, RULE),) = changes(15)
GERMAN = ("de", "de-AT,de;q=0.9", "de-CH;q=0.9,en;q=0.5")


def look(pupil: Pupil, query: str = "", *languages: str) -> None:
    for language in languages or GERMAN:
        pupil.get(f"/welcome?WORD{query}", method="HEAD", accept_language=language)


def write(pupil: Pupil, rule: str) -> None:
    """Load a rule, look."""
    pupil.rule(FILE, rule)
    look(pupil, "-2")


def test_step_by_step(pupil: Pupil) -> None:
    """Names each missing step."""
    look(pupil, "", "de", "de", "de")
    pupil.refused("with three different Accept-Language first")
    look(pupil)
    pupil.refused("Three readers of German were miss, miss, miss")
    pupil.rule(FILE, RULE)
    pupil.refused("The rule works, but you have not seen it")


def test_wrong_languages(pupil: Pupil) -> None:
    write(pupil, 'sub vcl_recv { if (req.url ~ "^/welcome") { unset req.http.Accept-Language; } }')
    pupil.refused("A reader of German got another language")
    write(pupil, 'sub vcl_recv { if (req.url ~ "^/welcome") { set req.http.Accept-Language = "de"; } }')
    pupil.refused("nothing in particular got de, de, de, de, de")


def test_no_copies_for_the_rest(pupil: Pupil) -> None:
    other = 'set req.http.Accept-Language = "en";'
    write(pupil, RULE.replace(other, f"{other}\n            return (pass);"))
    pupil.refused("the rest the English one.*were miss, miss, pass, pass, pass")


def test_too_much(pupil: Pupil) -> None:
    write(
        pupil,
        RULE
        + "sub vcl_hash { hash_data(req.http.Accept-Language); }\n"
        + "sub vcl_deliver { unset resp.http.Vary; }\n",
    )
    pupil.refused("Vary must stay")
    write(pupil, RULE.replace('req.url ~ "^/welcome(\\?|$)"', 'req.method == "GET" || req.method == "HEAD"'))
    pupil.refused("The rule is for /welcome only")
    write(pupil, RULE + 'sub vcl_recv { if (req.url !~ "^/welcome") { return (hash); } }')
    pupil.refused("The change also breaks other caching rules")
