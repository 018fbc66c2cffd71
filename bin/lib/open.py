#!/usr/bin/env python3
"""open [FOLDER]: puts Proscenium on a machine without internet, from the bundle that this file is part of.

Loads the images and clones the repository into FOLDER, ./proscenium by default. `make bundle` makes the
bundle. Works on Python 3.6, too.
"""

import hashlib
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

BUNDLE = Path(__file__).resolve().parent
BEGAN = time.monotonic()


def step(text: str) -> None:
    """Print what begins now."""
    print(f"==> {text} ({time.monotonic() - BEGAN:.0f} s)", flush=True)


def run(*command: str) -> None:
    """Run a program; exit if it fails, which says why."""
    code = subprocess.run(command).returncode
    if code:
        sys.exit(code)


def require(folder: str, machine: str) -> None:
    """Exit unless the bundle can be opened here."""
    if Path(folder).exists():
        sys.exit(f"'{folder}' already exists. Remove it, or name another folder: {sys.argv[0]} FOLDER")
    here = platform.machine()
    if machine != here:
        why = f"The images are for {machine}, but this machine is {here}"
        sys.exit(f"{why}: make the bundle on such a machine.")
    for name in ("docker", "git", "make"):
        if not shutil.which(name):
            sys.exit(f"{name} is missing. It is not in the bundle: install it while there is a network.")
    if subprocess.run(["docker", "info"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        why = "No container engine answers: start Docker, and let this user use it"
        sys.exit(f"{why} (docker info says more).")


def is_damaged() -> bool:
    """Return whether a file has another checksum than when the bundle was made."""
    for line in (BUNDLE / "SHA256SUMS").read_text().splitlines():
        checksum, name = line.split("  ", 1)
        found = hashlib.sha256()
        with (BUNDLE / name).open("rb") as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                found.update(chunk)
        if found.hexdigest() != checksum:
            return True
    return False


def main(folder: str = "proscenium") -> None:
    """Open the bundle."""
    machine, python = (BUNDLE / "made-for").read_text().split()
    require(folder, machine)
    step("Comparing checksums")
    if is_damaged():
        sys.exit("The bundle is damaged: copy it again.")
    step("Loading the images")
    run("docker", "load", "-i", str(BUNDLE / "images.tar.gz"))
    step(f"Cloning the repository into {folder}")
    run("git", "clone", "-q", "-o", "origin", str(BUNDLE / "repository.bundle"), folder)
    run("git", "-C", folder, "remote", "remove", "origin")
    shutil.copytree(str(BUNDLE / "wheels"), str(Path(folder, ".run", "wheels")))
    print(f"\nReady, in {time.monotonic() - BEGAN:.0f} seconds. Type:\n    cd {folder}\n    make up")
    here = "{}.{}".format(*sys.version_info[:2])
    if python != here:
        why = f"The tests' Python packages are for Python {python}, but this machine has Python {here}"
        print(f"{why}: everything but make test will work.")


if __name__ == "__main__":
    main(*sys.argv[1:])
