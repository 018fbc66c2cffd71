import pytest

from users.paths import held, passed, polled, row, spoken, stored


@pytest.mark.parametrize(
    "path",
    [
        "/media/queen.svg",
        "/media/audio/bell.mp3",
        "/media/bench/tiny.html",
        "/media/no-ending",
        "/speech/utter-1.mp3",
        "/style/v1/main.css",
        "/script/v1/main.js",
        "/favicon.ico",
        "/image/v1/a.jpeg",
        "/image/v1/a.woff2",
    ],
)
def test_files_are_stored(path: str) -> None:
    assert stored(path)
    assert not passed(path)


@pytest.mark.parametrize(
    "path",
    ["/admin", "/admin/", "/admin/id", "/admin/icon.png", "/swf/upstage.swf", "/ws", "/media/video/1.jpg"],
)
def test_private_paths_are_passed(path: str) -> None:
    assert passed(path)
    assert not stored(path)


def test_webcam_pictures_and_spoken_lines_may_be_held() -> None:
    assert (polled("/media/video/a.jpg"), spoken("/media/video/a.jpg"), held("/media/video/a.jpg")) == (
        True,
        False,
        True,
    )
    assert (polled("/speech/utter-1.mp3"), spoken("/speech/utter-1.mp3"), held("/speech/utter-1.mp3")) == (
        False,
        True,
        True,
    )
    assert not any(map(held, ("/media/video-still/a.jpg", "/media/a.mp3", "/stages/demo")))


@pytest.mark.parametrize("path", ["/", "/stages/demo", "/administrator", "/wsx", "/a.html", "/js"])
def test_other_paths_are_neither_stored_nor_passed(path: str) -> None:
    assert not stored(path)
    assert not passed(path)


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
