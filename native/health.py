"""Exit 0 when the URL given answers 2xx within 3 seconds, 1 when not."""

import sys
import urllib.error
import urllib.request

try:
    with urllib.request.urlopen(sys.argv[1], timeout=3):
        pass
except (urllib.error.URLError, OSError) as error:
    sys.exit(f"{sys.argv[1]}: {error}")
