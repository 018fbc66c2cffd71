"""Lesson 21: a test that fails first."""

from printed import changes
from school import Pupil

FILE = "varnish/normalise.vcl"
(TEST, _, VTC), (_, _, RULE) = changes(21)


def test_one_near_miss_after_the_other(pupil: Pupil) -> None:
    pupil.refused("the test comes first")
    pupil.append(TEST, VTC.replace("&reader=1", "").replace("reader=2&", "").replace("?reader=3", ""))
    pupil.refused("Your test passes with the shipped rules")
    (pupil.folder / TEST).write_text(VTC.replace('req.url == "/stages/?a=1"', 'req.url == "/stages/?a=2"'))
    pupil.refused("Your test fails with a rule that is right")
    (pupil.folder / TEST).write_text(VTC.replace("a=1&", "").replace("&a=1", "").replace("?a=1", ""))
    pupil.refused("Your test passes with a rule that drops the whole query")
    (pupil.folder / TEST).write_text(VTC)
    pupil.refused("The test is good")
    for rule, sentence in (
        (RULE.replace("([?&])reader=", "([?&])[a-z]*reader="), "proofreader= is another argument"),
        (RULE.replace("[?&]$", "&$"), r"asks the backend for /stages/\?, not for /stages/"),
        ('sub vcl_hash { hash_data(regsub(req.url, "reader.*", "")); }', "they should share one copy"),
    ):
        pupil.rule(FILE, rule)
        pupil.refused(sentence)
