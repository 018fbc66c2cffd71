"""What native.sh asks of the processes: COMMAND ARGUMENT... They run under supervisord."""

import os
import shutil
import signal
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Callable
from pathlib import Path
from typing import Any

from supervisor.states import ProcessStates
from supervisor.xmlrpc import Faults, SupervisorTransport

from .services import REPO, Program, is_healthy, nginx, program, services, theatres, upstage

RUN = Path(os.environ["NATIVE_RUN"])
SOCKETS = Path(os.environ["SOCKETS"])
GENERATED = Path(os.environ["GENERATED_FOLDER"])
HEALTHY_WITHIN = 45.0  # seconds
ENDED_WITHIN = 10.0  # seconds
# A part of supervisord.conf for each service.
PROGRAM = """\
[program:{service}]
command=.venv/bin/python -m native run %(program_name)s
autostart=false
redirect_stderr=true
stdout_logfile=%(ENV_NATIVE_RUN)s/log/%(program_name)s.log
stdout_logfile_maxbytes=5MB
stdout_logfile_backups=1

"""


def supervisord() -> Any:
    """Return supervisord's methods. http://supervisord.org/api.html"""
    transport = SupervisorTransport(None, None, f"unix://{RUN}/supervisor.sock")
    return xmlrpc.client.ServerProxy("http://127.0.0.1", transport).supervisor


def fails(call: Callable[..., Any], *arguments: object, unless: int = 0) -> bool:
    """Return whether a call fails, with `unless` for another reason than this fault of supervisord."""
    try:
        call(*arguments)
    except xmlrpc.client.Fault as fault:
        return fault.faultCode != unless
    except (OSError, xmlrpc.client.Error):
        return True
    return False


def answers() -> bool:
    """Whether supervisord answers."""
    return not fails(supervisord().getPID)


def runs(service: str) -> bool:
    """Whether a service runs."""
    return service in {info["name"] for info in running()}


def running() -> list[dict[str, Any]]:
    """Return what supervisord says about the services that run."""
    return [info for info in supervisord().getAllProcessInfo() if info["state"] == ProcessStates.RUNNING]


def make_folders() -> None:
    """Make the folders. Varnish's files are copied: varnishd, another user, may not enter the checkout."""
    for folder in (RUN / "log", GENERATED, Path(os.environ["CERTIFICATE_FOLDER"]), Path(".run/logs")):
        folder.mkdir(parents=True, exist_ok=True)
    if RUN.stat().st_uid != os.geteuid():
        sys.exit(f"{RUN} belongs to another user; COMPOSE_PROJECT_NAME chooses another folder.")
    for folder in (RUN.parent, RUN, GENERATED):  # also under a strict umask
        folder.chmod(folder.stat().st_mode | 0o555)
    for service in ("backend", *theatres(), "policyd", "varnish"):
        folder = SOCKETS / service
        folder.mkdir(parents=True, exist_ok=True)
        # Like the containers' volumes, where each program runs as another user.
        SOCKETS.chmod(0o1777)
        folder.chmod(0o1777)
    for name in ("varnish", "starter"):
        shutil.rmtree(RUN / name, ignore_errors=True)
        shutil.copytree(name, RUN / name)
        subprocess.run(["chmod", "-R", "a+rX", RUN / name], check=True)


def begin(*ports: str) -> None:
    """Start supervisord, with all services stopped. The ports are those that this stack gets."""
    if answers():
        end()
    make_folders()
    parts = [PROGRAM.format(service=name) for name in services()]
    (RUN / "programs.conf").write_text("".join(parts))
    (RUN / "ports").write_text("".join(f"{port}\n" for port in ports))
    command = [".venv/bin/supervisord", "-c", "native/supervisord.conf"]
    if code := subprocess.run(command).returncode:  # such as that of another `make up`, which was quicker
        sys.exit(code)
    for old in GENERATED.iterdir():  # of the last run
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    for path in SOCKETS.glob("*/*"):
        path.unlink()


def start(service: str) -> bool:
    """Start a service, and return whether it became healthy."""
    fails(supervisord().startProcess, service, False)  # without waiting: the health check is quicker
    until = time.monotonic() + HEALTHY_WITHIN
    while not is_healthy(service):
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def stop(service: str) -> bool:
    """Stop a service, and return whether it has ended."""
    return not fails(supervisord().stopProcess, service, unless=Faults.NOT_RUNNING)


def end() -> None:
    """Stop all services at once, then supervisord, which alone would stop them one after another."""
    fails(supervisord().stopAllProcesses)
    fails(supervisord().shutdown)
    until = time.monotonic() + ENDED_WITHIN
    while (RUN / "supervisor.sock").exists():
        if time.monotonic() > until:
            sys.exit(f"supervisord did not stop within 10 seconds: {RUN}/log/supervisord.log says why.")
        time.sleep(0.1)


def status() -> bool:
    """Print a line for each process and for each health check; return whether all services are healthy."""
    for info in supervisord().getAllProcessInfo():
        print(f"{info['name']:24}{info['statename']:10}{info['description']}")
    healthy = {service: is_healthy(service) for service in services()}
    for service, right in healthy.items():
        print(service, "healthy" if right else "NOT healthy. Type: make up")
    return all(healthy.values())


def started() -> None:
    """Print each running service with its process id, which is as good a sign of a restart as a time."""
    for info in running():
        print(info["name"], info["pid"])


def begun(service: str) -> None:
    """Print when a service was started, in seconds since 1970."""
    print(supervisord().getProcessInfo(service)["start"])


def varnishtest(folder: str, *tests: str) -> None:
    """Run the tests of a folder; print a line for each."""
    options = ("-k", "-j", "2", "-t", "24")
    environment = os.environ | {"TMPDIR": os.path.abspath(folder)}
    done = subprocess.run(
        ["varnishtest", *options, *tests], cwd=folder, env=environment, capture_output=True, text=True
    )
    lines = (done.stdout + done.stderr).splitlines()
    print("\n".join(line for line in lines if line.startswith("# ") and " TEST " in line))


def become(started: Program) -> None:
    """Become a program."""
    command, own = started
    os.chdir(REPO)
    os.execvpe(command[0], command, os.environ | own)


COMMANDS: dict[str, Callable[..., bool | None]] = {
    **{"answers": answers, "runs": runs, "folders": make_folders, "begin": begin, "start": start},
    **{"stop": stop, "end": end, "status": status, "started": started},
    **{"begun": begun, "varnishtest": varnishtest},
    "services": lambda: print("\n".join(services())),
    "run": lambda service: become(program(service)),
    "upstage": lambda *arguments: become(upstage(*arguments)),
    "nginx": lambda *arguments: become(nginx(*arguments)),
}

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # after Ctrl-C, the command in bin/ says what to type
    try:
        sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]) is False)
    except (OSError, xmlrpc.client.Error) as error:
        sys.exit(f"supervisord: {error}")
