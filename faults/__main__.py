"""Runs `make faults`, `make break FAULT=name` and `make mend`; bin/fault gives it the stack's settings."""

import http.client
import os
import secrets
import sys
import time
from dataclasses import replace

from logs.serverlogs import nginx_lines
from proscenium.running import NotRunning, running

from .fault import FOLDER, Fault, FaultError, bash, faults
from .state import State, read_state, write_state

RANDOM = "random"
PATIENCE = 60  # seconds, after which a repair counts as failed
FILE = FOLDER.parent / ".run" / os.environ["COMPOSE_PROJECT_NAME"] / "fault.json"


def main(command: str, name: str = "") -> int:
    """Run one command; return its exit code."""
    known = {fault.name: fault for fault in faults()}
    state = read_state(FILE)
    now = known.get(state.random or state.name) if state and not state.mended else None
    secret = bool(now and state and state.random)
    if command == "list":
        for fault in known.values():
            print(f"{'*' if fault is now and not secret else ' '} {fault.name:24} {fault.title}")
        print(
            "\nmake break FAULT=name makes one, FAULT=random one that is yours to find; make mend undoes it."
        )
    elif command == "break":
        if name not in known and name != RANDOM:
            raise FaultError(f"FAULT is '{name}'; make faults lists them.")
        if now and state:
            raise FaultError(f"The stack is broken already: {state.name}. Type: make mend")
        if name == RANDOM:
            return break_secretly([fault for fault in known.values() if fault.complaint])
        fault = known[name]
        state = State(name, fault.title, fault.users, time.time())
        write_state(FILE, state)  # first, so that a command that fails half-way can be undone
        fault.run()
        print(
            f"{fault.title}.\n\nUsers see: {fault.users}\nPromised:  {fault.promise}\nLook at:   {fault.look}"
        )
        if not visited():
            print("\nThere are no visitors: make load, in another terminal, brings some for half a minute.")
        if fault.commands[1]:
            print("\nmake mend undoes it.")
        else:
            print("\nIt mends itself; this takes a moment.", flush=True)
            time.sleep(fault.lasts)
            wait_until_mended()
            write_state(FILE, state.ended())
            print("Mended.")
    elif state and now:
        now.run(mend=True)
        wait_until_mended()
        write_state(FILE, replace(state.ended(), random=""))  # the learner has not found it
        print("Mended." if secret else f'Mended. It was: "{now.title}".')
    else:
        print("The stack is not broken.")
    return 0


def wait_until_mended() -> None:
    """Wait until every service is healthy, and uncached pages are served. Raise FaultError."""
    began = time.monotonic()
    while bash("is_well").returncode or not all(map(answers, (f"/stages/demo?{time.time_ns()}", "/admin/"))):
        if time.monotonic() - began > PATIENCE:
            raise FaultError(f"It is not mended after {PATIENCE} s. Type: make status")


def answers(path: str) -> bool:
    """Return whether UpStage answers a visitor; True if it does not run here (extras/app)."""
    if "backend" not in running().services():
        return True
    address = os.environ["BIND_ADDR"].replace("0.0.0.0", "127.0.0.1").strip("[]")
    connection = http.client.HTTPConnection(address, int(os.environ["HTTP_PORT"]), timeout=5)
    try:
        connection.request("GET", path, headers={"Host": "upstage.localhost"})
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def visited() -> bool:
    """Return whether nginx has answered any request in the last ten seconds; True if it has been stopped."""
    try:
        lines = nginx_lines(running().log("nginx", 50).splitlines())
    except NotRunning:  # the fault has stopped nginx
        return True
    return any((line.ended or 0) > time.time() - 10 for line in lines)


def break_secretly(drawn_from: list[Fault]) -> int:
    """Make one of these faults; tell the learner only a visitor's complaint."""
    fault = secrets.choice(drawn_from)
    write_state(
        FILE, State(RANDOM, "A fault that is yours to find", fault.complaint, time.time(), random=fault.name)
    )
    fault.run()
    print(
        f"A visitor writes: {fault.complaint}\n\n"
        f"This fails:\n    {os.path.expandvars(fault.shows)}\n\n"
        "Find out what is broken, and mend it (lesson 17)."
    )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except FaultError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print("Interrupted. make mend undoes what has been broken.", file=sys.stderr)
        sys.exit(130)
