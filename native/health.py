"""Exit 0 if the given URL answers 2xx within 3 seconds, otherwise 1."""

import sys
import urllib.error
import urllib.request

try:
    with urllib.request.urlopen(sys.argv[1], timeout=3):  # noqa: S310  # a setting
        pass
except (urllib.error.URLError, OSError) as error:
    sys.exit(f"{sys.argv[1]}: {error}")
