"""The measurements of `make soak`, its judgement of growth, and a whole run with a fake stack."""

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from proscenium import soak

NGINX = (
    '1.2.3.4 "GET {} HTTP/1.1" localhost {} 5 {}s answered=nginx:hit cache="" visitor=identified at={} id=7'
)
FRAMES = 'upstage_frame_seconds_bucket{{le="0.01"}} {}\nupstage_frame_seconds_bucket{{le="+Inf"}} {}\n'


def test_each_cgroup_version_says_what_a_service_uses() -> None:
    for name in ("inactive_file", "inactive_file 1\ntotal_inactive_file"):
        assert soak.used(f"9\n30000000\n80000000\nanon 1\n{name} 10000000\n") == (25, 9)


def test_the_latency_is_that_of_the_last_minute_without_what_is_held_open() -> None:
    held = [NGINX.format("/ws", 101, 99, 200), NGINX.format("/media/video/1", 200, 99, 200)]
    log = [NGINX.format("/", 200, at / 100, at) for at in range(1, 201)]
    assert soak.request_p95([*log, *held], since=100) == 1.95
    before, now = FRAMES.format(100, 200), FRAMES.format(195, 300)
    assert soak.chat_p95(before, now) == 0.01
    assert soak.chat_p95(now, now) is None


@pytest.mark.parametrize(
    ("measure", "name", "values", "verdict", "fault"),
    [
        (soak.MEMORY, "policyd", [1, 30, 30, 31, 30, 31], "steady", False),  # the first third is warm-up
        (soak.MEMORY, "policyd", [30, 30, 30, 33, 39, 42], "GROWS", True),
        (soak.MEMORY, "policyd", [4, 4, 4, 4, 5, 6], "steady", False),  # less than the floor
        (soak.MEMORY, "nginx", [3, 3, 3, 6, 9, 12], f"fills: {soak.FILLS['nginx'][1]}", False),
        (soak.MEMORY, "nginx", [3, 3, 10, 20, 30, 40], "GROWS", True),  # beyond the share where it should end
        (soak.DESCRIPTORS, "nginx", [100, 100, 100, 120, 160, 180], "GROWS", True),
        (soak.P95, "requests", [10, 10, 10], "NOT MEASURED: 3 samples, 4 are needed", True),
    ],
)
def test_what_grows(measure: str, name: str, values: list[float], verdict: str, fault: bool) -> None:
    samples = [{key: {name: value} if key == measure else {} for key in soak.FLOORS} for value in values]
    [(line, found)] = soak.judge(samples)
    assert (line.split("  ")[-1], found) == (verdict, fault)


def test_a_run_is_recorded_and_a_restart_fails_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = count()
    fake = SimpleNamespace(
        started=lambda: {"nginx": "before" if next(turns) < 9 else "now"},
        run=lambda *_: "9 30 100 inactive_file 0",
        log=lambda _: NGINX.format("/", 200, 0.01, 1e10),
        upstage=lambda _: FRAMES.format(next(turns), next(turns)),
    )
    monkeypatch.setattr(soak, "running", lambda: fake)
    monkeypatch.setattr(soak, "EVERY", 0.001)
    monkeypatch.setattr(soak, "LOCUST", ["sh", "-c", "sleep 1"])
    assert soak.main(5, tmp_path) == 1
    [first, _, _, _] = (tmp_path / "samples.jsonl").read_text().splitlines()
    assert json.loads(first)[soak.MEMORY] == {"nginx": 30}
    assert "nginx stopped or was restarted" in (tmp_path / "verdict.txt").read_text()
