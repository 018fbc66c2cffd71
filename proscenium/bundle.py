"""Writes the archive of `make bundle`: IMAGE... and what else a machine without internet needs."""

import gzip
import hashlib
import platform
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from proscenium.terminal import BEGAN, step

LOCKS = ("tests/requirements.lock", "bin/lib/compose.lock")
WORK = Path(".run/bundle")
CHUNK = 1 << 20  # bytes


def run(*command: str | Path) -> str:
    """Return what a program prints. Raise CalledProcessError; the program has printed the error."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def megabytes(path: Path) -> str:
    """Return the size of a file or folder."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return f"{sum(each.stat().st_size for each in files) / 1e6:.0f} MB"


def save_images(images: list[str], file: Path) -> None:
    """Save images of the engine into a file, and show its size on a terminal meanwhile."""
    with subprocess.Popen(["docker", "save", *images], stdout=subprocess.PIPE) as saving:
        assert saving.stdout
        with gzip.open(file, "wb", compresslevel=6) as packed:
            while chunk := saving.stdout.read(CHUNK):
                packed.write(chunk)
                if sys.stdout.isatty():
                    print(f"\r    {megabytes(file)} ", end="", flush=True)
    print(end="\r" if sys.stdout.isatty() else "")
    if saving.returncode:
        raise subprocess.CalledProcessError(saving.returncode, "docker save")


def clone_into(bundle: Path) -> None:
    """Write the repository, with the name of its branch: a clone would have none otherwise."""
    branch = subprocess.run(["git", "symbolic-ref", "-q", "--short", "HEAD"], capture_output=True, text=True)
    file = bundle / "repository.bundle"
    run("git", "bundle", "create", "-q", file, "HEAD", branch.stdout.strip() or "HEAD")
    run("git", "clone", "-q", "--bare", file, WORK / "clone")  # it can be opened
    shutil.rmtree(WORK / "clone")


def checksums(bundle: Path) -> str:
    """Return the lines of SHA256SUMS for all files."""
    lines = []
    for path in sorted(each for each in bundle.rglob("*") if each.is_file()):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  ./{path.relative_to(bundle)}\n")
    return "".join(lines)


def archive(bundle: Path) -> Path:
    """Write the archive, and read it back before it gets its name."""
    whole = Path(".run", f"{bundle.name}.tar")
    part = whole.with_suffix(".tar.part")
    with tarfile.open(part, "w") as packed:
        packed.add(bundle, bundle.name)
    with tarfile.open(part) as packed:
        images = packed.extractfile(f"{bundle.name}/images.tar.gz")
        assert images
        with gzip.open(images) as content:
            while content.read(CHUNK):
                pass
    return part.rename(whole)


def main(images: list[str]) -> None:
    """Write the bundle of the images and of the last commit."""
    bundle = WORK / f"proscenium-{run('git', 'rev-parse', '--short', 'HEAD')}"
    shutil.rmtree(WORK, ignore_errors=True)
    bundle.mkdir(parents=True)
    step(f"Saving {len(images)} images")
    save_images(images, bundle / "images.tar.gz")
    step("Downloading the Python packages")
    for lock in LOCKS:
        options = ("-q", "--disable-pip-version-check", "--require-hashes")
        run(".venv/bin/pip", "download", *options, "-d", bundle / "wheels", "-r", lock)
    step(f"Writing .run/{bundle.name}.tar")
    clone_into(bundle)
    shutil.copy("bin/lib/open.py", bundle / "open")
    (bundle / "made-for").write_text(f"{platform.machine()}\n{sys.version_info[0]}.{sys.version_info[1]}\n")
    sums = checksums(bundle)
    (bundle / "SHA256SUMS").write_text(sums)
    for name in ("images.tar.gz", "wheels", "repository.bundle"):
        print(f"    {name:18} {megabytes(bundle / name):>8}")
    whole = archive(bundle)
    print(
        f"\n{whole}, {megabytes(whole)}, in {time.monotonic() - BEGAN:.0f} seconds. "
        "On the other machine, which needs Docker, git, make and python3-venv:\n\n"
        f"    tar -xf {bundle.name}.tar\n    {bundle.name}/open"
    )


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        print("Interrupted. There is no new bundle.", file=sys.stderr)
        sys.exit(130)
    except (subprocess.CalledProcessError, OSError) as error:
        sys.exit(f"There is no new bundle: {error}")
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
