"""`python -m proscenium TOOL ARGUMENT...`: a tool of Varnish on the running stack. Run by bin/inside."""

import sys

from .running import NotRunning, running

if __name__ == "__main__":
    try:
        sys.stdout.write(running().varnish(*sys.argv[1:]))
    except NotRunning as error:
        sys.exit(str(error))
