"""`make faults`, `make break FAULT=name`, `make mend`: run by bin/fault with the running stack's settings."""

import os
import sys
import time

from .fault import FOLDER, FaultError, bash, faults
from .note import Note, read_note, write_note

FILE = FOLDER.parent / ".run" / os.environ["COMPOSE_PROJECT_NAME"] / "fault.json"


def main(command: str, name: str = "") -> int:
    """Run one command; return the exit code."""
    known = {fault.name: fault for fault in faults()}
    note = read_note(FILE)
    now = known.get(note.name) if note and not note.mended else None
    if command == "list":
        for fault in known.values():
            print(f"{'*' if fault is now else ' '} {fault.name:24} {fault.title}")
        print("\nmake break FAULT=name makes one; make mend undoes it.")
    elif command == "break":
        if name not in known:
            raise FaultError(f"FAULT is '{name}'; make faults lists them.")
        if now:
            raise FaultError(f"The stack is broken already: {now.name}. Type: make mend")
        fault = known[name]
        note = Note(name, fault.title, fault.users, time.time())
        write_note(FILE, note)  # first: a command that fails half-way can be undone
        fault.run()
        print(
            f"{fault.title}.\n\nUsers see: {fault.users}\nPromised:  {fault.promise}\nLook at:   {fault.look}"
        )
        if fault.commands[1]:
            print("\nmake mend undoes it.")
        else:
            print("\nIt mends itself; this takes a moment.", flush=True)
            time.sleep(fault.lasts)
            if bash("wait_until_well").returncode:
                raise FaultError("It has not mended itself within a minute. Type: make status")
            write_note(FILE, note.ended())
            print(f"Mended: {fault.title.lower()}.")
    elif note and now:
        now.run(mend=True)
        write_note(FILE, note.ended())
        print(f"Mended: {now.title.lower()}.")
    else:
        print("The stack is not broken.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except FaultError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
