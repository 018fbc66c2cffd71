"""Health check of the Locust container: exit code 0 if the web UI answers, 1 if not."""

import http.client
import os
import sys

# http.client rather than urllib.request, which would ask a proxy if the environment names one.
ui = http.client.HTTPConnection("127.0.0.1", int(os.environ.get("LOCUST_WEB_PORT", "8089")), timeout=3)
try:
    ui.request("GET", "/")
    # With LOCUST_WEB_LOGIN the front page redirects to the login page: that is healthy, too.
    healthy = ui.getresponse().status in (200, 302)
except (OSError, http.client.HTTPException) as error:
    sys.exit(f"web UI does not answer: {error}")
sys.exit(0 if healthy else "web UI answers with an error")
