"""Lesson 7: an old copy for three seconds, not ten."""

from school import Pupil

FILE = "varnish/stale.vcl"
PAGE = "/stages/demo?WORD"


def watch(pupil: Pupil, seconds: float) -> None:
    """What the page's loop does."""
    for _ in range(round(seconds / 0.7)):
        pupil.get(PAGE, method="HEAD")
        pupil.wait(0.7)


def test_step_by_step(pupil: Pupil) -> None:
    """Names each missing step, and each change that is not the lesson's."""
    pupil.get(PAGE)
    pupil.refused("until you have seen a stale copy")
    watch(pupil, 6.3)
    pupil.refused("in use is the shipped one: change its 10 s to 3 s")
    pupil.edit(FILE, "ttl < -10s", "ttl < 0s")
    pupil.reload()
    pupil.refused("If no expired copy will do, clients wait")
    pupil.edit(FILE, "ttl < 0s", "ttl < -5s")
    pupil.reload()
    pupil.refused("A copy that expired four seconds ago was served")
    pupil.edit(FILE, "ttl < -5s", "ttl < -3s")
    pupil.reload()
    pupil.refused("Watch the page under the new rule")
    watch(pupil, 6.3)
    pupil.refused("Leave the page alone for six seconds")
    pupil.wait(12)
    pupil.get(PAGE)
    pupil.refused("Leave the page alone for six seconds")


def test_other_changes(pupil: Pupil) -> None:
    watch(pupil, 2.8)
    shipped = (pupil.folder / FILE).read_text()
    for old, new, sentence in (
        ("grace = 24h", "grace = 3s", "The 24 h are for a backend that fails"),
        (
            "    unset beresp.http.X-Fetch-Failed;",
            "    set beresp.ttl = 3s;",
            r"beresp\.ttl and beresp\.grace say how long",
        ),
        (
            "    if (obj.ttl",
            "    set req.grace = 3s;\n    if (obj.ttl",
            "Only the 10 s of the healthy backend",
        ),
    ):
        (pupil.folder / FILE).write_text(shipped)
        pupil.edit(FILE, old, new)
        pupil.reload()
        pupil.refused(sentence)
