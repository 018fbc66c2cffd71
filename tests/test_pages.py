"""Every page: its links and commands exist; and what `make slides` writes can be printed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.stack import REPO
from tests.support.checks import tracked

SLIDES = REPO / "docs" / "slides"
PAGES = [REPO / name for name in tracked("*.md", "docs/slides/*.html")]
page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPO)))


@page
def test_links_to_files_and_headings_exist(page: Path) -> None:
    text = page.read_text()
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    for target in targets:
        file, _, heading = target.partition("#")
        if "://" in file:
            continue
        other = page.parent / file if file else page
        assert other.exists(), target
        titles = re.findall(r"^#+ (.*)", other.read_text(), re.M) if heading else []
        names = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
        assert not heading or heading in names, target


@page
def test_commands_exist(page: Path) -> None:
    known = {"help", *re.findall(r"^([a-z-]+) ", (REPO / "bin" / "lib" / "commands.txt").read_text(), re.M)}
    used = re.findall(r"(?:`|<code>|<pre>|^    )make ([a-z-]+)", page.read_text(), re.M)
    assert set(used) <= known


def test_every_lesson_is_in_the_index() -> None:
    index = (REPO / "docs" / "course.md").read_text()
    lessons = [folder.name for folder in (REPO / "lessons").glob("[0-9]*-*")]
    assert [name for name in lessons if f"{name}/README.md" not in index] == []


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("npm"), reason="needs Node.js and npm")
def test_the_slides_and_the_cheat_sheet_are_written() -> None:
    subprocess.run(["make", "slides"], cwd=REPO, check=True, timeout=300)
    made = REPO / ".run" / "slides"
    assert (made / "cheat-sheet.pdf").read_bytes().count(b"/Type /Page\n") == 1
    assert (made / "slides.pdf").read_bytes().startswith(b"%PDF")
    shown = (made / "slides.html").read_text()
    assert shown.count("<section ") == len((SLIDES / "slides.md").read_text().split("\n---\n")) - 1
