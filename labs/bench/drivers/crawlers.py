"""Visitors beside crawlers: the visitors' times, the requests that reach UpStage, and those that are refused.

Locust runs in its own service: the visitors by its shape Compare, and beside them the class Crawler
(loadtest/README.md). The rules of varnish/ are first loaded into the running Varnish. A well-behaved bot in
the generator, with its own address and no cookie, requests once a second a page that no cache has: its times
are also those of a new visitor who requests a page that has not been requested before.

Settings: `users`, the visitors; `rate`, how many visitors arrive in a second; `chat_rate`, lines of each
visitor per minute; `crawl`, requests of crawlers a second; `addresses` of the crawlers, 0: no crawlers;
`robots`, "ignore" or "obey"; `arguments`, whether those of pages are dropped; `anonymous`, whether UpStage
learns which clients are anonymous and makes two pages at a time for them; `warm_up` and `seconds`;
`processes` of Locust; `cores`, the number that the backend may use.
"""

import json
import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from labs.bench.cpu import Cpu
from labs.bench.drivers.capacity import SCRIPT, SERVICE
from labs.bench.lab_stack import LabStack, Problem
from labs.bench.percentile import percentile

# These files come before those of varnish/ in Varnish's path. The last file takes back the header by which
# anonymous.vcl tells UpStage.
RULES = """
cd /tmp/varnish
rm -f queries.vcl trace.vcl
[ "$1" = True ] || : >queries.vcl
[ "$2" = True ] || echo 'sub vcl_backend_fetch { unset bereq.http.X-Anonymous; }' >trace.vcl
sh /etc/varnish/reload.sh
"""
BOT = """
for page in $(seq "$1"); do
    curl -s -o /dev/null -w '%{http_code} %{time_total}\\n' --haproxy-clientip 198.19.255.1 \\
        -H 'Host: upstage.localhost' "http://nginx:8001/stages/?bot-$$-$page" || :
    sleep 1
done
"""
LINES = {
    "page_p95_milliseconds": "p95 of GET /stages/*",
    "chat_p95_milliseconds": "p95 of * chat",
}


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Make one run. Raise Problem if Locust or the bot measured nothing."""
    stack.run("varnish", "sh", "-c", RULES, "sh", str(settings["arguments"]), str(settings["anonymous"]))
    length = round(settings["warm_up"] + settings["seconds"])
    with Cpu(stack) as cpu, ThreadPoolExecutor(1) as pool:
        bot = pool.submit(stack.run, "generator", "sh", "-c", BOT, "sh", str(length))
        printed = stack.run(SERVICE, "sh", "-c", SCRIPT, "locust", *options(settings))
        asked = bot.result()
    return metrics(json.loads(printed), asked, cpu, settings["cores"])


def options(settings: Mapping[str, Any]) -> list[str]:
    """Return the arguments of Locust."""
    return [
        "--shape=Compare",
        "--topologies=default",
        "--misses=count",
        f"--users={settings['users']}",
        f"--spawn-rate={settings['rate']}",
        f"--chat-rate={settings['chat_rate']}",
        f"--seconds={settings['seconds']}",
        f"--warm-up={settings['warm_up']}",
        f"--processes={settings['processes']}",
        f"--crawl={settings['crawl'] if settings['addresses'] else 0}",
        f"--crawl-addresses={settings['addresses'] or 1}",
        f"--robots={settings['robots']}",
    ]


def metrics(report: Mapping[str, Any], asked: str, cpu: Cpu, cores: float) -> dict[str, float]:
    """Return the figures of Locust's report and of the bot's responses; raise Problem as `measure` does."""
    if not report["measurements"]:
        raise Problem(report["outcome"] or "Locust measured nothing")
    [run] = report["measurements"]
    said = {line["what"]: re.match(r"[\d.]+", line["measured"]) for line in run["lines"]}
    responses = [line.split() for line in asked.splitlines()]
    good = [float(seconds) * 1000 for status, seconds in responses if status == "200"]
    if not good:
        raise Problem("the bot had no answer")
    counted = crawled(run["caches"])
    used = cpu.percent(run["began"], run["began"] + run["seconds"])
    rest = used["system_cpu_percent"] - used[f"cpu_percent.{SERVICE}"] / (os.cpu_count() or 1)
    return {
        **{name: float(found[0]) for name, line in LINES.items() if (found := said.get(line))},
        "p95_milliseconds": run["p95_ms"],
        "visitors_failed": float(run["failures"]),
        "bot_p95_milliseconds": percentile(good, 95),
        "bot_refused": float(len(responses) - len(good)),
        **{f"crawlers_{name}_per_second": count / run["seconds"] for name, count in counted.items()},
        "backend_requests_per_second": run["backend_requests_per_second"],
        "backend_share_percent": used["cpu_percent.backend"] / cores,
        "generator_cpu_percent": run["generator_cpu_percent"],
        **used,
        "system_without_generator_cpu_percent": max(0.0, rest),
    }


def crawled(caches: list[Mapping[str, Any]]) -> dict[str, int]:
    """Return the numbers of the crawlers' responses: all, those that a cache had, and refusals."""
    rows = [row for row in caches if row["row"].startswith("(crawlers)")]

    def count(tier: str, *outcomes: str) -> int:
        return sum(row["answers"] for row in rows if row["tier"] == tier and row["outcome"] in outcomes)

    asked = sum(row["answers"] for row in rows if row["tier"] == "status")
    return {"asked": asked, "hits": count("client", "hit", "stale"), "refused": count("status", "429", "503")}
