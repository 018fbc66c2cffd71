"""`python -m lessons.pages DATA`: writes the pages into DATA/lessons, and the results that they show into
DATA/lessons.json: those on standard input, a list as `make check LESSON=all JSON=1` prints it, or else those
that were kept. The backend runs it at its start, and when a check reports results.
"""

import json
import os
import sys
from pathlib import Path

from lessons.lesson import PORTS
from lessons.pages.results import LIMIT, ResultsError, read_results
from lessons.pages.site import write_site


def main(data: Path, told: str) -> None:
    """Keep the results, and write the pages. Raise ResultsError, OSError."""
    kept = data / "lessons.json"
    results = read_results(told) if told else {}
    if told:
        new = data / "lessons.json.new"
        new.write_text(json.dumps(list(results.values())))
        new.replace(kept)
    elif kept.exists():
        try:
            results = read_results(kept.read_text("utf-8"))
        except ValueError:
            print(f"{kept} is damaged: the next command of a lesson writes it anew.", file=sys.stderr)
    ports = {name: os.environ.get(f"UPSTAGE_{name}") or default for name, default in PORTS.items()}
    write_site(data / "lessons", results, ports)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.stdin.read(LIMIT + 1))
    except (ResultsError, OSError) as error:
        sys.exit(str(error))
