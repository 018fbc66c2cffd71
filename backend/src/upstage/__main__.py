import sys

from upstage.cli import main

sys.exit(main())
