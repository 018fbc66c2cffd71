"""TLS handshakes: how many the server completes in a second, and the cost of each.

labs/bench/clients/handshakes.py is the client. Settings: `address`; `port`; `version`, "TLSv1.2" or
"TLSv1.3"; `ciphers`, for TLS 1.2, empty for OpenSSL's own; `negotiates`, the beginning of the resulting
cipher suite's name; `openssl`, the client's OpenSSL configuration, with its key exchanges; `resumed`, whether
each handshake continues an earlier session; `processes` of the client; `seconds`.
"""

from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import report
from labs.bench.lab_stack import LabStack, Problem


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Make one run. Raise Problem if the handshakes were not as the settings require."""
    found = report(stack, settings, "handshakes", environment=[f"OPENSSL_CONF={settings['openssl']}"])
    done, resumed = found["handshakes"], found["resumed"]
    if resumed != (done if settings["resumed"] else 0):
        raise Problem(f"{resumed} of {done} handshakes were resumed")
    suite = found["negotiated"]
    if not suite.startswith(settings["negotiates"]):
        raise Problem(f"negotiated {suite} instead of {settings['negotiates']}")
    return {
        "requests": float(done),
        "seconds": found["seconds"],
        "handshakes_per_second": done / found["seconds"],
        "generator_cores": found["cpu_seconds"] / found["seconds"],
    }
