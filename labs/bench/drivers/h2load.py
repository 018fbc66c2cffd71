"""h2load: TLS, with HTTP/2 if the server supports it.

Each client has one request in progress. Settings: `tls`, the address of the server as HOST:PORT; `host` and
`path`; `clients`, each with one connection; `seconds`; `headers`, a list of header lines; `bytes`, the
minimum length of a response.
"""

import re
from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import TIME, generator_cpu_percent, number, numbers, repeated
from labs.bench.lab_stack import LabStack, Problem

# Some runs of h2load 1.64 never end on a machine that is too busy to connect all clients in time.
ATTEMPTS = 3
SPARE = 10  # seconds for connecting

SCRIPT = rf"""
exec 2>&1
{TIME} timeout -k 1 "$1" h2load -t 1 "${{@:2}}"
"""


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Load one URL.

    Raise Problem if a request fails or is not answered by a 2xx, a response is too short, or a client ends
    early.
    """
    command = (
        *("bash", "-c", SCRIPT, "h2load", str(settings["seconds"] + SPARE)),
        *("-c", str(settings["clients"]), "-m", "1", "-D", str(settings["seconds"])),
        "--alpn-list=h2,http/1.1",
        f"--connect-to={settings['tls']}",
        *(word for line in settings.get("headers", []) for word in ("-H", line)),
        f"https://{settings['host']}{settings['path']}",
    )
    printed = repeated(ATTEMPTS, lambda: stack.run("generator", *command))
    found = metrics(printed, settings.get("bytes", 0))
    check_connections(printed, settings["clients"])
    return found


def check_connections(printed: str, expected: int) -> None:
    """Raise Problem if a server has closed connections, which h2load does not reopen.

    `expected` requests are in progress at the end, as at any time: started, and not done.
    """
    started, done = numbers(r"^requests: .* (\d+) started, (\d+) done", printed)
    if started - done < expected:
        raise Problem(
            f"{started - done:.0f} of {expected} requests in progress: the server has closed connections"
        )


def metrics(printed: str, expected: int = 0) -> dict[str, float]:
    """Return the metrics of h2load's report; raise Problem as `measure` does."""
    requests = number(r"^requests: \d+ total, \d+ started, (\d+) done", printed)
    if not requests:
        raise Problem("h2load received no response")
    for bad in ("failed", "errored", "timeout"):
        if count := number(rf"^requests: .* (\d+) {bad}", printed):
            raise Problem(f"{count:.0f} of {requests:.0f} requests: {bad}")
    if other := sum(map(int, re.findall(r"(\d+) [345]xx", printed))):
        raise Problem(f"{other} of {requests:.0f} requests were not answered by a 2xx")
    body = number(r"^traffic: .* \((\d+)\) data$", printed)
    # More bytes are not an error: they belong to the last responses, which are incomplete and do not count.
    if body / requests < expected:
        raise Problem(f"the responses had {body / requests:.0f} bytes instead of {expected}")
    seconds = number(r"^finished in ([\d.]+)s", printed)
    return {
        "requests": requests,
        "seconds": seconds,
        "requests_per_second": requests / seconds,
        "bytes_per_second": body / seconds,
        "http_version": number(r"^Application protocol: (?:http/|h)([\d.]+)", printed),
        "generator_cpu_percent": generator_cpu_percent(printed, seconds),
    }
