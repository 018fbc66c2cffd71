"""`python -m proscenium TOOL ARGUMENT...`: runs a tool of Varnish on the running stack. Run by bin/inside."""

import subprocess
import sys

from .running import REPO, NotRunning, running

if __name__ == "__main__":
    try:
        for command in running().varnish_tool(*sys.argv[1:]):
            if code := subprocess.run(command, cwd=REPO, check=False).returncode:
                sys.exit(code)
    except NotRunning as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
