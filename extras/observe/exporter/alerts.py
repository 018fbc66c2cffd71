"""Prints the active alerts, one line each, for `make status`: `python -m exporter.alerts`."""

import json
import sys
import time
from datetime import datetime
from typing import Any
from urllib.request import urlopen

URL = "http://prometheus:9090/api/v1/alerts"


def main() -> int:
    """Ask Prometheus; return the exit code: 1 if an alert is firing, or if Prometheus does not answer."""
    try:
        with urlopen(URL, timeout=3) as response:
            body = json.load(response)
        print("\n".join(lines(body, time.time())))
        return int(any(alert["state"] == "firing" for alert in body["data"]["alerts"]))
    except (OSError, ValueError, LookupError, TypeError) as error:
        print(f"Alerts: unknown, Prometheus does not answer ({error})")
        return 1


def lines(body: dict[str, Any], now: float) -> list[str]:
    """Return a line for each alert in the response, firing ones first, at `now` (seconds since 1970)."""
    alerts = body["data"]["alerts"]
    alerts.sort(key=lambda alert: (alert["state"] != "firing", alert["activeAt"]))
    return [line(alert, now) for alert in alerts] or ["Alerts: none"]


def line(alert: dict[str, Any], now: float) -> str:
    """Return `Alert firing for 20 s: The backend does not answer (BackendDown)`."""
    name = alert["labels"]["alertname"]
    seconds = now - datetime.fromisoformat(alert["activeAt"]).timestamp()
    return f"Alert {alert['state']} for {seconds:.0f} s: {alert['annotations'].get('summary', name)} ({name})"


if __name__ == "__main__":
    sys.exit(main())
