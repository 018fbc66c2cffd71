"""`make class-status` and `make class-page`, for bin/class: status FOLDER, page FOLDER."""

import os
import sys
from pathlib import Path

from .page import serve
from .status import EngineError, as_csv, as_table, copies


def main(command: str, folder: Path) -> None:
    """Run one command. Raise EngineError if the engine does not answer, OSError if the port is taken."""
    if command == "page":
        serve(folder, int(os.environ.get("CLASS_PAGE_PORT") or 20080))
    else:
        found = copies(folder)
        print((as_csv if os.environ.get("CSV") else as_table)(found))


if __name__ == "__main__":
    try:
        main(sys.argv[1], Path(sys.argv[2]))
    except (EngineError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print()
