"""`make lock`: updates every requirements.lock.

One resolution serves all lock files, so one virtual environment can hold all of them. The locks name no
package index: that is the machine's setting.
"""

import subprocess

ENVIRONMENT = ".run/uv"
TESTS = "tests/requirements"
TOGETHER = [f"{part}/requirements.in" for part in ("tests", "native", "backend", "loadtest", "labs/bench")]
OPTIONS = (
    *("-q", "--universal", "--python-version=3.11", "--generate-hashes"),
    *("--no-emit-index-url", "--no-header", "--no-annotate"),
)
# The files of each lock, and what it agrees with.
LOCKS = {
    TESTS: (["--upgrade"], TOGETHER),
    **{
        f"{part}/requirements": (["-c", f"{TESTS}.lock"], [f"{part}/requirements.in"])
        for part in ("backend", "loadtest", "labs/bench")
    },
    "native/requirements": (["-c", f"{TESTS}.lock"], TOGETHER[1:4]),
    "bin/lib/compose": (["--upgrade"], ["bin/lib/compose.in"]),
    "tests/outside/tools": (["--upgrade"], ["tests/outside/tools.in"]),
}

if __name__ == "__main__":
    subprocess.run(["python3", "-m", "venv", "--clear", ENVIRONMENT], check=True)
    subprocess.run([f"{ENVIRONMENT}/bin/pip", "install", "-q", "uv"], check=True)
    for lock, (agreement, files) in LOCKS.items():
        print(f"==> {lock}.lock", flush=True)
        command = [f"{ENVIRONMENT}/bin/uv", "pip", "compile", *OPTIONS, *agreement, *files]
        subprocess.run([*command, "-o", f"{lock}.lock"], check=True)
