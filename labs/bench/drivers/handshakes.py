"""TLS handshakes: how many a second the server can do, and what each costs it.

clients/handshakes.py is the client. Settings: `address`; `port`; `version`, "TLSv1.2" or "TLSv1.3";
`ciphers`, for TLS 1.2, empty for OpenSSL's own; `negotiates`, how the cipher suite that results must begin;
`openssl`, the client's OpenSSL configuration, with its key exchanges; `resumed`, whether each continues an
earlier session; `processes` of the client; `seconds`.
"""

import json
from collections.abc import Mapping
from typing import Any

from bench.lab_stack import LabStack, Problem

FOR_THE_PROGRAM = ("address", "port", "version", "ciphers", "resumed", "processes", "seconds")


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """One run. Raise Problem if the handshakes were not of the kind that the settings say."""
    wanted = json.dumps({name: settings[name] for name in FOR_THE_PROGRAM})
    printed = stack.run(
        *("generator", "env", f"OPENSSL_CONF={settings['openssl']}"),
        *("python3", "-m", "bench.clients.handshakes", wanted),
    )
    return metrics(json.loads(printed), settings)


def metrics(report: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a report; raise Problem as `measure` does."""
    done, resumed = report["handshakes"], report["resumed"]
    if resumed != (done if settings["resumed"] else 0):
        raise Problem(f"{resumed} of {done} handshakes were resumed")
    suite = report["negotiated"]
    if not suite.startswith(settings["negotiates"]):
        raise Problem(f"negotiated {suite} instead of {settings['negotiates']}")
    return {
        "requests": float(done),
        "seconds": report["seconds"],
        "handshakes_per_second": done / report["seconds"],
        "generator_cores": report["cpu_seconds"] / report["seconds"],
    }
