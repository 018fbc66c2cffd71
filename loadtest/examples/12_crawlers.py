# A thousand clients whom no cache helps, because each of their URLs is requested only once. On this port,
# which is for load tests alone, nginx takes the address that a connection states (the PROXY protocol), so
# each client has limits of its own. With CRAWLERS = 1 all are one client: look at *Failures*.
import http.client
import os
import random
import time
from itertools import cycle
from urllib.parse import urlsplit

from locust import User, constant_throughput, task

PORT = int(os.environ.get("LOADTEST_PROXY_PORT", "8001"))
CRAWLERS = 1000
# 198.18.0.0/15 is for load tests (RFC 2544).
ADDRESSES = cycle(f"198.18.{number // 250}.{number % 250 + 1}" for number in range(CRAWLERS))


class Crawler(User):
    wait_time = constant_throughput(50)

    @task
    def crawl(self) -> None:
        began = time.perf_counter()
        fault: Exception | None = None
        server = http.client.HTTPConnection(urlsplit(self.host).hostname, PORT, timeout=10)
        try:
            server.connect()
            address = next(ADDRESSES)
            server.sock.sendall(f"PROXY TCP4 {address} 127.0.0.1 40000 {PORT}\r\n".encode())
            named = {"X-Forwarded-For": address}  # with TRUSTED_PROXIES, nginx believes this address
            server.request("GET", f"/stages/load?{random.getrandbits(64):x}", headers=named)
            if (status := server.getresponse().status) != 200:
                fault = RuntimeError(f"status {status}")
        except (OSError, http.client.HTTPException) as error:
            fault = error
        server.close()
        sample = {"request_type": "crawl", "name": "stage", "response_length": 0, "exception": fault}
        passed = 1000 * (time.perf_counter() - began)
        self.environment.events.request.fire(response_time=passed, context={}, **sample)
