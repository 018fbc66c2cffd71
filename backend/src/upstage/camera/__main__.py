"""`python -m upstage.camera`: uploads pictures until it is stopped.

`python -m upstage.camera check` exits with 1 if no picture has been uploaded recently.

CAMERA_SERVER          HOST:PORT of the FTP listener
LOADTEST_ACCOUNT_FILE  a file with the load tests' account, with which it signs in: one line NAME:PASSWORD
CAMERA_STAMP           a file touched after each picture, for the check
"""

import os
import sys
import time
from pathlib import Path

FRESH = 15.0  # seconds: if the last picture is older, the camera counts as stopped


def main(arguments: list[str]) -> int:
    """Run, or check the age of the last picture; return the exit status."""
    stamp = Path(os.environ.get("CAMERA_STAMP", "/tmp/camera"))  # noqa: S108  # the container's own /tmp
    if arguments == ["check"]:
        return int(not stamp.exists() or time.time() - stamp.stat().st_mtime > FRESH)

    from upstage.camera.upload import run  # not imported for the check, which runs every few seconds

    account = Path(os.environ.get("LOADTEST_ACCOUNT_FILE", "/run/player/account"))
    run(os.environ.get("CAMERA_SERVER", "webcam:2121"), account, stamp)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
