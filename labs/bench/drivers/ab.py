"""ab, the driver of three of the four articles: one URL; each client sends its next request after a response.

Settings: `url` and `path`; `host`, the Host header if it is not the URL's; `headers`, a list of further
lines; `post`, the form to send, which makes it a POST; `clients`; `keepalive`; `requests`; `seconds`, an
earlier end; `bytes`, the required length of a response.
"""

from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import TIME, generator_cpu_percent, number
from labs.bench.lab_stack import LabStack, Problem

BODY = "/tmp/ab.body"  # noqa: S108  # in a container of its own

# The first request shows the length of a response.
SCRIPT = rf"""
exec 2>&1
set -e
echo -n "$4" >{BODY}
ab -q -n 1 "${{@:5}}"
echo "=== measured"
{TIME} ab -q -t "$2" -n "$1" -c "$3" -e /tmp/ab.csv "${{@:5}}"
cat /tmp/ab.csv
"""


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Load one URL. Raise Problem if a request fails, or a response is not a 2xx or differs in length."""
    numbers = [str(settings[name]) for name in ("requests", "seconds", "clients")]
    form = settings.get("post", "")
    printed = stack.run("generator", "bash", "-c", SCRIPT, "ab", *numbers, form, *options(settings))
    return metrics(printed, settings.get("bytes"))


def options(settings: Mapping[str, Any]) -> list[str]:
    """Return the arguments of both calls of ab."""
    headers = [*settings.get("headers", [])]
    if "host" in settings:
        headers.append(f"Host: {settings['host']}")
    return [
        *(["-k"] if settings["keepalive"] else []),
        *(word for line in headers for word in ("-H", line)),
        *(["-p", BODY, "-T", "application/x-www-form-urlencoded"] if "post" in settings else []),
        settings["url"] + settings.get("path", ""),
    ]


def metrics(printed: str, expected: int | None) -> dict[str, float]:
    """Return the metrics of the second report, with the percentiles; raise Problem as `measure` does."""
    first, measured = printed.split("=== measured")
    length = number(r"Document Length: +(\d+)", first)
    if number(r"Non-2xx responses: +(\d+)", first, 0):
        raise Problem("the first response was not a 2xx")
    if expected is not None and length != expected:
        raise Problem(f"the first response had {length:.0f} bytes instead of {expected}")
    if (now := number(r"Document Length: +(\d+)", measured)) != length:
        raise Problem(f"the responses had {length:.0f} bytes at first, then {now:.0f}")
    complete = number(r"Complete requests: +(\d+)", measured)
    for what, pattern in (
        ("failed", r"Failed requests: +(\d+)"),
        ("were not answered by a 2xx", r"Non-2xx responses: +(\d+)"),
    ):
        if bad := number(pattern, measured, 0):
            raise Problem(f"{bad:.0f} of {complete:.0f} requests {what}")
    seconds = number(r"Time taken for tests: +([\d.]+)", measured)
    return {
        "requests": complete,
        "seconds": seconds,
        "requests_per_second": complete / seconds,
        "milliseconds": seconds / complete * 1000,  # the mean of all clients, as in the article
        **{
            f"p{per_cent}_milliseconds": number(rf"^{per_cent},([\d.]+)", measured)
            for per_cent in (50, 95, 99)
            # With fewer requests, ab reads past the end of its array and prints meaningless figures.
            if int(0.5 + complete * per_cent / 100) < complete
        },
        "bytes_per_second": number(r"Total transferred: +(\d+)", measured) / seconds,
        "kept_alive_percent": number(r"Keep-Alive requests: +(\d+)", measured, 0) / complete * 100,
        "generator_cpu_percent": generator_cpu_percent(measured, seconds),
    }
