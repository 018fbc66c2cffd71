"""`make class-status`: the copies of a class in a FOLDER, as a table, or with CSV=1 for a gradebook."""

import os
import sys
import time
from pathlib import Path

from .status import EngineError, as_csv, as_table, copies

if __name__ == "__main__":
    try:
        found = copies(Path(sys.argv[1]))
    except EngineError as error:
        sys.exit(str(error))
    print(as_csv(found) if os.environ.get("CSV") else as_table(found, time.time()))
