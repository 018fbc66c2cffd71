"""The lessons without containers: every tool that a check reads works there too."""

from pathlib import Path

from school import school
from test_lesson_01 import do
from test_lesson_02 import MEDIA
from test_valid_ways import is_right


def test_hits_and_passes_and_a_changed_rule(tmp_path: Path) -> None:
    with school(tmp_path, "native") as pupil:
        pupil.begin(1)
        pupil.refused("You have not requested")
        do(pupil)
        pupil.right()
        pupil.restart("varnish")
        pupil.refused("varnish was restarted", code=2)

        pupil.begin(2)
        pupil.get("/media/fox.svg?WORD")
        pupil.edit(MEDIA, "ttl = 12h", "ttl = 60s")
        pupil.reload()
        is_right(pupil)
