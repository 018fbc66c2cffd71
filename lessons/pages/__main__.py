"""`python -m lessons.pages DATA`: writes the pages into DATA/lessons, and the results that they show into
DATA/lessons.json. The results are those on standard input, a list as `make check LESSON=all JSON=1` prints
it, or else the stored ones. The backend runs this at its start, and when a check reports results.
"""

import fcntl
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from lessons.lesson import PORTS
from lessons.pages.results import LIMIT, ResultsError, read_results
from lessons.pages.site import write_site


def main(data: Path, told: str) -> None:
    """Write the pages, and keep the results. Raise ResultsError, OSError."""
    ports = {name: os.environ.get(f"UPSTAGE_{name}") or default for name, default in PORTS.items()}
    kept, new = data / "lessons.json", data / "lessons.json.new"
    with (data / "lessons.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a starting backend and a reporting check may run at once
        if told:
            results = read_results(told)
        else:
            results = {}
            with suppress(FileNotFoundError, ResultsError):  # the learner's checkout still has the results
                results = read_results(kept.read_text("utf-8", "replace"))
        write_site(data / "lessons", results, ports)
        new.write_text(json.dumps(list(results.values())))
        new.replace(kept)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.stdin.read(LIMIT + 1))
    except (ResultsError, OSError) as error:
        sys.exit(str(error))
