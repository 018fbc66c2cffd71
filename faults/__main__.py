"""`make faults`, `make break FAULT=name`, `make mend`: run by bin/fault with the running stack's settings."""

import os
import sys

from .fault import FOLDER, FaultError, faults

STATE = FOLDER.parent / ".run" / os.environ["COMPOSE_PROJECT_NAME"] / "fault"


def main(command: str, name: str = "") -> int:
    """Run one command; return the exit code."""
    known = {fault.name: fault for fault in faults()}
    now = STATE.read_text() if STATE.exists() else ""
    if command == "list":
        for fault in known.values():
            print(f"{'*' if fault.name == now else ' '} {fault.name:24} {fault.title}")
        print("\nmake break FAULT=name makes one; make mend undoes it.")
    elif command == "break":
        if name not in known:
            raise FaultError(f"FAULT is '{name}'; make faults lists them.")
        if now:
            raise FaultError(f"The stack is broken already: {now}. Type: make mend")
        fault = known[name]
        STATE.write_text(name)  # first: a command that fails half-way can be undone
        fault.run()
        print(
            f"{fault.title}.\n\nUsers see: {fault.users}\nPromised:  {fault.promise}\nLook at:   {fault.look}"
        )
        if fault.commands[1]:
            print("\nmake mend undoes it.")
        else:
            STATE.unlink()
            print("\nIt mends itself.")
    elif now:
        known[now].run(mend=True)
        STATE.unlink()
        print(f"Mended: {known[now].title.lower()}.")
    else:
        print("The stack is not broken.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except FaultError as error:
        sys.exit(str(error))
