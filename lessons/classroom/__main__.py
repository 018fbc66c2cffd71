"""The commands that bin/class runs for a class: COMMAND PATH; the path is the class's folder, or a copy's."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from .copies import make, make_again, print_missing, put_aside, remove_stack, write_handout
from .status import as_csv, as_table, copies


def print_status(folder: Path) -> None:
    """Print each copy's results as a table, or with CSV=1 for a gradebook."""
    found = copies(folder)
    print(as_csv(found) if os.environ.get("CSV") else as_table(found, time.time()))


COMMANDS = {
    **{"status": print_status, "handout": write_handout, "close": put_aside},
    **{"missing": print_missing, "make": make, "remove": remove_stack, "reset": make_again},
}

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # after Ctrl-C, bin/class says what to type
    try:
        COMMANDS[sys.argv[1]](Path(sys.argv[2]))
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    except OSError as error:
        sys.exit(str(error))
