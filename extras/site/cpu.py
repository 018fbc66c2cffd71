"""The CPU time of an application: `cpu.py SITE` prints a line twice a second until it is ended.

A line is the time in seconds since 1970 and the seconds of CPU time that the application's processes have
used: those that listen on the port of SITE, or run in its container, and all that they have started. It works
on Linux only, and prints nothing if they are on another machine or belong to another user.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

INTERVAL = 0.5  # seconds
TICK = os.sysconf("SC_CLK_TCK")
LISTEN = "0A"


def main(site: str, project: str) -> None:
    """Print until the application is gone."""
    address = urlsplit(site)
    while roots := processes_of(
        address.hostname or "", address.port or (443 if address.scheme == "https" else 80), project
    ):
        print(f"{time.time():.3f} {used(roots):.2f}", flush=True)
        time.sleep(INTERVAL)


def processes_of(host: str, port: int, project: str) -> set[int]:
    """The processes of the application, without what they have started."""
    if "." not in host and host != "localhost":
        return of_container("--filter", f"label=com.docker.compose.service={host}", project=project)
    if host != "localhost" and not host.startswith("127."):
        return set()
    found = listening(port)
    # The engine's own proxy listens on a published port.
    if any(name(pid) == "docker-proxy" for pid in found) or not found:
        return of_container("--filter", f"publish={port}", project="")
    return found


def of_container(*choice: str, project: str) -> set[int]:
    """The first process of each container that is chosen; of this project if it has one, else of any."""

    def ids(*more: str) -> list[str]:
        return said("docker", "ps", "-q", *choice, *more).split()

    found = (ids("--filter", f"label=com.docker.compose.project={project}") if project else []) or ids()
    return (
        set(map(int, said("docker", "inspect", "-f", "{{.State.Pid}}", *found).split())) if found else set()
    )


def said(*command: str) -> str:
    """The output of a command; empty if there is no engine."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def listening(port: int) -> set[int]:
    """The processes that listen on a TCP port of this machine."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTEN and int(words[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{words[9]}]")
    return {pid for pid in running() if inodes & open_files(pid)}


def running() -> list[int]:
    """All processes."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def open_files(pid: int) -> set[str]:
    """The targets of a process's file descriptors; empty if it has ended or is not ours."""
    found = set()
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            found.add(os.readlink(entry.path))
    except OSError:
        pass
    return found


def name(pid: int) -> str:
    """The name of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def used(roots: set[int]) -> float:
    """Seconds of CPU time of these processes and of all that they have started, ended ones included."""
    parents: dict[int, list[int]] = {}
    times: dict[int, int] = {}
    for pid in running():
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        fields = re.sub(r".*\)", "", text).split()  # a name may contain spaces
        parents.setdefault(int(fields[1]), []).append(pid)
        times[pid] = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    total, left, seen = 0, list(roots), set()
    while left:
        pid = left.pop()
        if pid not in seen:
            seen.add(pid)
            total += times.get(pid, 0)
            left += parents.get(pid, [])
    return total / TICK


if __name__ == "__main__":
    main(sys.argv[1], os.environ.get("COMPOSE_PROJECT_NAME", ""))
