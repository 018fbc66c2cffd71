"""Changes the comments of the starter's files, to show that no program reads them."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.program import Service

COMMENT = re.compile(r"(^|(?<=\s))#(?=\s|$).*$", flags=re.M)


def rendered(folder: Path) -> dict[str, str]:
    """Return the files in this folder, without their comments."""
    texts = {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}
    return {name: re.sub(r"\s+\n", "\n", COMMENT.sub("", text)) for name, text in texts.items()}


def reworded(server: Service) -> Iterator[str]:
    """Let a service run from a copy, and change each word of the starter's comments there; yield them."""
    server.copy_scripts()
    starter = server.folder / "starter"
    for file in [*starter.glob("*/*.*"), starter / "compose.yaml"]:
        text = file.read_text()
        yield from (found[0] for found in COMMENT.finditer(text))
        file.write_text(COMMENT.sub(lambda comment: re.sub(r"\w+", "word", comment[0]), text))
