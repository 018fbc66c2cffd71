"""Varnish's counters, from the files that varnishstat.sh writes: NAME.json is about the service NAME.

The names are those of prometheus-varnish-exporter, so that dashboards made for it work: MAIN.cache_hit is
`varnish_main_cache_hit`, without `_total`. The exceptions:

    MAIN.sess_conn, MAIN.fetch_304   varnish_main_sessions{type="conn"}, varnish_main_fetch{type="304"}
    SMA.s0.g_bytes                   varnish_sma_g_bytes{type="s0"}
    VBE.VCL.NAME.happy               varnish_backend_happy{backend="NAME",vcl="VCL"}; its last bit, the last
                                     probe, is varnish_backend_up

Locks and memory pools (LCK, MEMPOOL), two thirds of all counters, are left out.
https://varnish-cache.org/docs/7.7/reference/varnishstat.html
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, UnknownMetricFamily
from prometheus_client.metrics_core import Metric

OLD = 6.0  # seconds
Sample = tuple[str, dict[str, str], str, str, float]  # name, labels, description, flag, value
GROUPED = re.compile(r"(sess|fetch)_(\w+)")
FAMILIES = {"sess": "sessions", "fetch": "fetch"}
NOT_IN_A_NAME = re.compile(r"\W")


class Varnishes:
    """The counters of all Varnish services, from the files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._progress: dict[str, tuple[float, float]] = {}  # service -> its uptime, and when it last changed

    def read(self) -> Iterator[Metric]:
        """Yield the counters of every running Varnish. Raise ValueError if one is not running, or if there is
        no file.
        """
        families: dict[str, Metric] = {}
        failed: list[str] = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                self._add(families, path)
            except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                failed.append(f"{path.stem}: {error!r}")
        yield from families.values()
        if failed or not families:
            raise ValueError("; ".join(failed) or f"no file in {self._folder}")

    def _add(self, families: dict[str, Metric], path: Path) -> None:
        """Add one Varnish's counters, all or none of them."""
        if time.time() - path.stat().st_mtime > OLD:
            raise ValueError("varnishstat does not answer")
        report = json.loads(path.read_text())
        if report["version"] != 1:
            raise ValueError(f"varnishstat has another format: {report['version']!r}")
        samples = list(self._samples(report["counters"]))
        self._check_progress(path.stem, float(report["counters"]["MAIN.uptime"]["value"]))
        for name, labels, help_text, flag, value in samples:
            if name not in families:
                # Not a Counter, whose name would end in _total.
                kind = GaugeMetricFamily if flag == "g" else UnknownMetricFamily
                families[name] = kind(name, help_text)
            families[name].add_sample(name, {"service": path.stem, **labels}, value)

    def _check_progress(self, service: str, uptime: float) -> None:
        """Raise ValueError if the uptime stands still: the memory of a killed varnishd is still readable."""
        now = time.monotonic()
        before, since = self._progress.get(service, (-1.0, now))
        if uptime != before:
            self._progress[service] = (uptime, now)
        elif now - since > OLD:
            raise ValueError("varnishd has stopped")

    @staticmethod
    def _samples(counters: dict[str, dict[str, str | int]]) -> Iterator[Sample]:
        """Yield each counter as a sample. The flag is c for a counter, g for a gauge, b for a bitmap."""
        for key, counter in counters.items():
            group, *middle, field = key.split(".")
            about = (str(counter["description"]), str(counter["flag"]), float(counter["value"]))
            if group == "VBE" and len(middle) == 2:
                labels = {"vcl": middle[0], "backend": middle[1]}
                yield f"varnish_backend_{field}", labels, *about
                if field == "happy":
                    last = float(int(counter["value"]) & 1)
                    yield "varnish_backend_up", labels, "1: the last probe succeeded", "g", last
            elif group == "MAIN" and (parts := GROUPED.fullmatch(field)):
                yield f"varnish_main_{FAMILIES[parts[1]]}", {"type": parts[2]}, "By kind", *about[1:]
            elif group not in ("LCK", "MEMPOOL", "VBE"):
                name = NOT_IN_A_NAME.sub("_", f"varnish_{group}_{field}".lower())
                yield name, {"type": ".".join(middle)} if middle else {}, *about
