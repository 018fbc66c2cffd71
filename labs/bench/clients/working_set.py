"""One client that asks for many files, one after the other over one connection.

    python3 -m labs.bench.clients.working_set '{"address": "nginx", "port": 8000, "host": "upstage.localhost",
        "path": "/media/bench/small.swf?x-", "files": 410, "requests": 1000, "seed": 3}'

Asks for `requests` of the files at random; with 0 for each of them once, in random order. It requests ten
bytes of each, so that nginx's one-second copy does not answer in place of a cache. Reports the statuses and
the hits.
"""

import http.client
import json
import random
import sys
import time
from collections import Counter
from typing import Any


def main(settings: dict[str, Any]) -> dict[str, Any]:
    """Run with the settings; returns the report."""
    chance = random.Random(settings["seed"])
    files = range(settings["files"])
    chosen = chance.choices(files, k=settings["requests"]) or chance.sample(files, k=len(files))
    connection = http.client.HTTPConnection(settings["address"], settings["port"], timeout=20)
    statuses: Counter[int] = Counter()
    hits, began = 0, time.perf_counter()
    for file in chosen:
        headers = {"Host": settings["host"], "Range": "bytes=0-9"}
        connection.request("GET", f"{settings['path']}{file}", headers=headers)
        response = connection.getresponse()
        response.read()
        statuses[response.status] += 1
        hits += "; hit" in response.headers.get("Cache-Status", "").partition(",")[0]
    return {"statuses": statuses, "hits": hits, "seconds": time.perf_counter() - began}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
