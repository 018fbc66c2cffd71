"""The handout: a table, and for each learner what to type, addresses and passwords."""

import csv
import io
import socket

from lessons.classroom.class_state import LOCUST_USER, ClassState, write_private
from lessons.classroom.plan import Copy

TUNNELED = ("HTTP_PORT", "HTTPS_PORT", "LOCUST_PORT")  # what a browser opens
LOCALHOST = ("", "127.0.0.1", "0.0.0.0", "::", "[::]")  # addresses of a copy that has that name, too


def write_handout(opened: ClassState) -> None:
    """Write handout.md and handout.csv, readable for this user only."""
    slips = "\n".join(_slip(opened, copy) for copy in opened.copies)
    users = f"The names that belong to the passwords: `admin`, and for the load test `{LOCUST_USER}`."
    table = handout_table(opened, passwords=True)
    write_private(opened.folder / "handout.md", f"{table}\n\n{users}\n\n{slips}")
    write_private(opened.folder / "handout.csv", _handout_csv(opened))


def handout_table(opened: ClassState, passwords: bool = False) -> str:
    """One row for each copy, in Markdown; without passwords for a screen, which may be a projector's."""
    rows = [_row(opened, copy) for copy in opened.copies]
    names = [name for name in rows[0] if passwords or "password" not in name]
    lines = [names, ["---"] * len(names), *([row[name] for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _handout_csv(opened: ClassState) -> str:
    """For a spreadsheet or a mail merge: the table, and what its learner types and opens first."""
    rows = [
        _row(opened, copy) | {"ssh": _ssh(opened, copy), "lessons": _lessons(copy)} for copy in opened.copies
    ]
    text = io.StringIO()
    table = csv.DictWriter(text, rows[0], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def _row(opened: ClassState, copy: Copy) -> dict[str, str]:
    entry, host = opened.entries[copy.number], "localhost"
    if opened.settings.get("BIND_ADDR", "127.0.0.1") != "127.0.0.1":  # else a tunnel leads there
        host = _name(opened) or host
    return {
        "number": copy.name,
        "folder": str(opened.folder_of(copy)),
        "stack": f"http://{host}:{copy.port('HTTP_PORT')}/",
        "https": f"https://{host}:{copy.port('HTTPS_PORT')}/",
        "admin password": entry.admin,
        "load test": f"http://{host}:{copy.port('LOCUST_PORT')}/",
        "load test password": entry.locust,
        "chat port": str(copy.port("SWF_PORT")),
    }


def _slip(opened: ClassState, copy: Copy) -> str:
    """What one learner has to know."""
    entry, stack = opened.entries[copy.number], f"http://localhost:{copy.port('HTTP_PORT')}"
    load_test = f"http://localhost:{copy.port('LOCUST_PORT')}/"
    return f"""## Copy {copy.name}

On your own machine (`me@{_server(opened)}` if your account on the server is `me`):

    {_ssh(opened, copy)}

In the shell that it opens on the server:

    cd {opened.folder_of(copy)}
    make learn

It shows a lesson, watches what you do, and checks by itself. Type the lesson's commands in a second shell
on the server (`ssh {_server(opened)}`), in the same folder. With one shell only: `make lesson LESSON=1`,
`make check LESSON=1`.

In the browser on your own machine, while that shell is open:

- the lessons: <{_lessons(copy)}>
- the stage: <{stack}/stages/demo>
- the workshop: <{stack}/admin/>, name `admin`, password `{entry.admin}`
- the load test: <{load_test}>, name `{LOCUST_USER}`, password `{entry.locust}`
"""


def _lessons(copy: Copy) -> str:
    return f"http://localhost:{copy.port('HTTP_PORT')}/lessons/"


def _ssh(opened: ClassState, copy: Copy) -> str:
    """The command that brings the ports of a copy to the learner's machine."""
    address = opened.settings.get("BIND_ADDR", "")
    target = "localhost" if address in LOCALHOST else address
    ports = [(copy.port(name), target) for name in TUNNELED]
    ports.append((copy.port("OBSERVE_PORT"), "localhost"))  # lesson 17; on 127.0.0.1 whatever BIND_ADDR is
    return " ".join(["ssh", *(f"-L {port}:{where}:{port}" for port, where in ports), _server(opened)])


def _server(opened: ClassState) -> str:
    """The name of this machine: the first of SERVER_NAMES, or its own."""
    return _name(opened) or socket.gethostname()


def _name(opened: ClassState) -> str:
    return next(iter(opened.settings.get("SERVER_NAMES", "").split()), "")
