"""TLS handshakes, one connection after another, in a given number of processes.

    python3 -m labs.bench.clients.handshakes '{"address": "tls-nginx", "port": 8443, "version": "TLSv1.3",
        "ciphers": "", "resumed": false, "processes": 3, "seconds": 4}'

A resumed handshake continues the session of an earlier connection, which each process opens before the clock
starts. `ciphers`, for TLS 1.2, are the ciphers that the client offers; empty for OpenSSL's own list. The key
exchanges that it offers are in the configuration file named by the environment variable OPENSSL_CONF.

Reports the number of handshakes, the number of resumed ones, the parameters of the last one, and the CPU
seconds of this program.
"""

import json
import multiprocessing
import resource
import socket
import ssl
import sys
import time
from typing import Any


def context(settings: dict[str, Any]) -> ssl.SSLContext:
    """Return the context of a client that speaks one version and does not check the server's identity."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    version = ssl.TLSVersion[settings["version"].replace(".", "_")]
    made.minimum_version = made.maximum_version = version
    if settings["ciphers"]:
        made.set_ciphers(settings["ciphers"])
    return made


def connect(
    client: ssl.SSLContext, settings: dict[str, Any], session: ssl.SSLSession | None = None
) -> ssl.SSLSocket:
    """Return a connection after its handshake."""
    plain = socket.create_connection((settings["address"], settings["port"]), timeout=10)
    return client.wrap_socket(plain, session=session)


def session_of(client: ssl.SSLContext, settings: dict[str, Any]) -> ssl.SSLSession | None:
    """Return a session to resume. In TLS 1.3 the server sends it after the handshake, before the response."""
    with connect(client, settings) as connection:
        connection.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
        while connection.recv(4096):
            pass
        return connection.session


def shake(settings: dict[str, Any]) -> dict[str, Any]:
    """Make handshakes until the time is over; return their number and parameters."""
    client = context(settings)
    session = session_of(client, settings) if settings["resumed"] else None
    done = resumed = 0
    begin = time.perf_counter()
    while time.perf_counter() - begin < settings["seconds"]:
        with connect(client, settings, session) as connection:
            done += 1
            resumed += connection.session_reused is True
            suite = connection.cipher()
    return {
        "handshakes": done,
        "resumed": resumed,
        "seconds": time.perf_counter() - begin,
        "negotiated": suite[0] if suite else "none",
    }


def main(settings: dict[str, Any]) -> dict[str, Any]:
    """Run with these settings; return the report."""
    with multiprocessing.Pool(settings["processes"]) as pool:
        reports = pool.map(shake, [settings] * settings["processes"], chunksize=1)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "handshakes": sum(one["handshakes"] for one in reports),
        "resumed": sum(one["resumed"] for one in reports),
        "seconds": max(one["seconds"] for one in reports),
        "negotiated": reports[0]["negotiated"],
        "cpu_seconds": used.ru_utime + used.ru_stime,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
