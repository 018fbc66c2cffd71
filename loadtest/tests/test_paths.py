"""The rows of paths, and which responses the backend holds. (Stored, passed: tests/test_path_rules.py.)"""

import pytest

from users.paths import held, polled, row, spoken


def test_webcam_pictures_and_spoken_lines_may_be_held() -> None:
    camera, line = "/media/video/a.jpg", "/speech/utter-1.mp3"
    assert [(polled(path), spoken(path), held(path)) for path in (camera, line)] == [
        (True, False, True),
        (False, True, True),
    ]
    assert not any(map(held, ("/media/video-still/a.jpg", "/media/a.mp3", "/stages/demo")))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/stages/demo", "/stages/demo"),
        ("/admin/id", "/admin/id"),
        ("/media/queen.svg", "/media/*.svg"),
        ("/media/audio/bell.mp3", "/media/audio/*.mp3"),
        ("/style/3f2a/main.css", "/style/*.css"),
        ("/style/main.css", "/style/*.css"),
        ("/script/3f2a/deep/main.js", "/script/*.js"),
        ("/favicon.ico", "/favicon.ico"),
        ("/", "/"),
    ],
)
def test_rows_do_not_depend_on_versions(path: str, expected: str) -> None:
    assert row(path) == expected
