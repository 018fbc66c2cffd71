"""A class's copies of the stack: making, handing out and removing them.

Copy 7 is a clone in the folder 07, which its learner may change. So its settings are kept beside it, as
they were handed out, in 07.env and 07.yaml.
"""

import os
import re
import secrets
import socket
import subprocess
import sys
from pathlib import Path

from proscenium.settings import SETTINGS

SERVICES = ("nginx", "varnish", "backend", "policyd", "locust")
# Settings that the copies get from the teacher's .env.
PASSED_ON = (
    *("BIND_ADDR", "SERVER_NAMES", "VARNISH_STORAGE", "VARNISH_MEMORY"),
    *("NGINX_IMAGE", "VARNISH_IMAGE", "PYTHON_IMAGE", "LOCUST_IMAGE", "PROMETHEUS_IMAGE"),
)
# The last two digits of each port: the default's, unless another port has the same.
PORTS = {
    **{"HTTP_PORT": 80, "HTTPS_PORT": 43, "SWF_PORT": 30, "POLICY_FILE_PORT": 0, "LOCUST_PORT": 89},
    **{"WEB_PORT": 81, "OBSERVE_PORT": 90, "APP_PURGE_PORT": 61, "THEATRES_SWF_PORT": 31, "FTP_PORT": 21},
}
PASSIVE = range(22, 30)  # the last two digits of FTP_PASSIVE_PORTS
MEMORY = 230  # MiB that a copy needs, with the engine's share
HANDOUT = Path(__file__).with_name("handout.txt")


def run(*command: str | Path) -> list[str]:
    """Return the lines that a program prints. Raise CalledProcessError; the program has printed the error."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def made(folder: Path) -> list[Path]:
    """Return the copies of the class in a folder."""
    return [settings.with_suffix("") for settings in sorted(folder.glob("[0-9][0-9].env"))]


def handed_out(copy: Path) -> dict[str, str]:
    """Return the settings of a copy, as they were handed out."""
    lines = copy.with_suffix(".env").read_text().splitlines()
    return dict(line.partition("=")[::2] for line in lines)


def found(kind: str, copy: Path) -> list[str]:
    """Return Docker's list of a kind for a copy's stack, by label, because its compose.yaml may be broken."""
    project = handed_out(copy)["COMPOSE_PROJECT_NAME"]
    return run("docker", *kind.split(), "-q", f"--filter=label=com.docker.compose.project={project}")


def missing(folder: Path, last: int) -> list[Path]:
    """Return the copies, up to the last, that are not open.

    A copy is open if it was started and any of its services runs. Its learner may have stopped the rest.
    """
    started = [copy for copy in made(folder) if copy.with_suffix(".started").exists()]
    opened = [copy for copy in started if found("ps", copy)]
    return [copy for number in range(1, last + 1) if (copy := folder / f"{number:02}") not in opened]


def require_memory(count: int) -> None:
    """Exit if so many more copies need more memory than there is: the kernel would kill programs in all."""
    table, needed = Path("/proc/meminfo"), MEMORY * count
    if not os.environ.get("DOCKER_HOST") and os.access(table, os.R_OK):
        [free] = [int(size) // 1024 for size in re.findall(r"MemAvailable: +(\d+)", table.read_text())]
        if needed > free:
            why = f"{free} MiB are free: room for {free // MEMORY}"
            sys.exit(f"{count} more copies need {needed} MiB of memory; {why}")


def make(copy: Path) -> None:
    """Make the missing parts of a copy. The clone of the last commit gets its name when it is complete."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    settings, override, new = (copy.with_suffix(end) for end in (".env", ".yaml", ".making"))
    if not settings.exists():
        write(override, limits(copy.name))
        write(settings, environment(copy.name))
    if not copy.is_dir():
        run("rm", "-rf", new)
        run("git", "clone", "--quiet", "--local", "--single-branch", "--no-tags", os.environ["PWD"], new)
        run("cp", "-p", settings, new / ".env")
        run("cp", override, new / "compose.override.yaml")
        new.rename(copy)


def start(copy: Path) -> bool:
    """Type make up in a copy, as its learner would; return whether it starts, and say why not."""
    log = copy.with_suffix(".log")
    # The teacher's settings would take precedence over the copy's.
    teachers = {setting.name for setting in SETTINGS}
    own = {name: value for name, value in os.environ.items() if name not in teachers}
    own = {name: value for name, value in own.items() if not name.startswith("COMPOSE_")}
    with log.open("wb") as output:
        up = subprocess.run(
            ["bin/up"],
            cwd=copy,
            env=own | {"MODE": "containers"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    if up.returncode:
        *_, reason = ["no output", *log.read_text(errors="replace").split("\n")[:-1]]
        print(f"  copy {copy.name} did not start: {reason} ({log})", file=sys.stderr)
    else:
        copy.with_suffix(".started").touch()
    return not up.returncode


def write(file: Path, text: str) -> None:
    """Write a file as a whole, readable only by its owner."""
    new = file.with_suffix(".new")
    new.touch(0o600)
    new.write_text(text)
    new.rename(file)


def first_port(number: int) -> int:
    """Return the first of a copy's hundred ports. Exit if there are no ports so high."""
    first = int(os.environ.get("CLASS_PORTS") or 20000) + 100 * number
    if first + 99 > 65535:
        sys.exit(f"Copy {number} would need ports above 65535: choose a lower CLASS_PORTS")
    return first


def environment(number: str) -> str:
    """Return the text of a copy's .env."""
    first = first_port(int(number))
    # No two of these characters look alike on paper.
    letters = "abcdefghijkmnpqrstuvwxyz23456789"
    passwords = ["".join(secrets.choice(letters) for _ in range(10)) for _ in range(2)]
    settings = {
        "COMPOSE_PROJECT_NAME": f"{os.environ['COMPOSE_PROJECT_NAME']}-class-{number}",
        **{name: first + digits for name, digits in PORTS.items()},
        "FTP_PASSIVE_PORTS": f"{first + PASSIVE[0]}-{first + PASSIVE[-1]}",
        "UPSTAGE_ADMIN_PASSWORD": passwords[0],
        "LOCUST_WEB_USERNAME": "locust",
        "LOCUST_WEB_PASSWORD": passwords[1],
        "UPSTAGE_FESTIVAL": "off",  # 21 MB of media in each copy
        # Lessons need these names, whatever BIND_ADDR is.
        "COMPARISON_NAMES": os.environ.get("COMPARISON_NAMES") or "on",
        **{name: f"'{os.environ[name]}'" for name in PASSED_ON if os.environ.get(name)},
    }
    lines = [f"{name}={value}\n" for name, value in settings.items()]
    return "# Written by make class. Explanations: .env.example\n" + "".join(lines)


def limits(number: str) -> str:
    """Return a copy's compose.override.yaml: a share of the cores; subnets, as ten copies use up Docker's."""
    cpus = os.environ.get("CLASS_CPUS") or "0.5"
    one, two, three, _ = (os.environ.get("CLASS_SUBNETS") or "10.213.0.0/18").split(".")
    text = f"# Copy {number} of a class, written by make class (docs/teaching-class.md).\nservices:\n"
    text += "".join(f"  {name}: {{ cpus: {cpus} }}\n" for name in SERVICES)
    text += "networks:\n"
    for place, name in enumerate(("edge", "load", "back")):
        high, low = divmod(256 * int(three) + 128 * int(number) + 32 * place, 256)
        text += f"  {name}:\n    ipam: {{ config: [{{ subnet: {one}.{two}.{high}.{low}/27 }}] }}\n"
    return text


def write_handout(folder: Path) -> None:
    """Write the commands and addresses for the learners of all copies that have been started."""
    address = os.environ["BIND_ADDR"]
    target = "localhost" if address in ("127.0.0.1", "0.0.0.0") or "::" in address else address
    text = ""
    for copy in (each for each in made(folder) if each.with_suffix(".started").exists()):
        own = handed_out(copy)
        ends = [(own[name], target) for name in ("HTTP_PORT", "HTTPS_PORT", "LOCUST_PORT")]
        ends.append((own["OBSERVE_PORT"], "localhost"))  # for lesson 17; on 127.0.0.1 whatever BIND_ADDR is
        own["number"] = copy.name
        own["folder"] = f"{os.environ['PWD']}/{copy}"
        own["server"] = (os.environ.get("SERVER_NAMES") or socket.gethostname()).partition(" ")[0]
        own["tunnels"] = " ".join(f"-L {port}:{end}:{port}" for port, end in ends)
        text += HANDOUT.read_text().format_map(own)
    write(folder / "handout.md", text)


def remove_stack(copy: Path) -> None:
    """Remove everything that Docker has of a copy."""
    for find, remove in (("ps -a", "rm -fv"), ("network ls", "network rm"), ("volume ls", "volume rm -f")):
        if names := found(find, copy):
            run("docker", *remove.split(), *names)
    project = handed_out(copy)["COMPOSE_PROJECT_NAME"]
    images = set(run("docker", "image", "ls", "--format", "{{.Repository}}"))
    if own := images & {f"{project}-backend", f"{project}-policyd"}:  # one that is in use elsewhere stays
        subprocess.run(["docker", "rmi", *sorted(own)], stdout=subprocess.DEVNULL)


def put_aside(folder: Path) -> None:
    """Move FOLDER to FOLDER.before."""
    before = folder.with_suffix(".before")
    run("rm", "-rf", before)
    folder.rename(before)


def make_again(copy: Path) -> None:
    """Remove a copy's stack, put its learner's files aside, and clone the copy again."""
    started, before = copy.with_suffix(".started"), copy.with_suffix(".before")
    remove_stack(copy)
    if started.exists() and copy.is_dir():  # after an interrupted reset, the files are already aside
        put_aside(copy)
    run("rm", "-rf", started, copy)
    make(copy)
    if before.is_dir():  # the files may belong to the learner's account
        subprocess.run(["chown", "-R", f"--reference={before}", copy])
