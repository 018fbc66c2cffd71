"""metrics: the measurements, and the values of a real server, from a spoken line to its counter."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from twisted.internet.task import Clock

from backend.tests.demo_stage import with_demo
from backend.tests.forked import SRC
from backend.tests.running_backend import PASSWORD, RARELY, Backend, Editor, ask, serve
from upstage.media import speech
from upstage.net.connection import Connections
from upstage.net.metrics import LAG_INTERVAL, MeasuredStages, Metrics, Sources, class_of


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/", "page"),
        ("/nothing/at/all", "page"),
        ("/stages/demo?x=/media/", "stage"),
        ("/media/ann.svg", "media"),
        ("/media/video/ann.jpg?s=1", "webcam"),
        ("/media/video-still/ann.jpg", "media"),
        ("/speech/utter-1.mp3", "speech"),
        ("/script/0123456789ab/main.js", "asset"),
        ("/admin/login", "admin"),
        ("/ws", "websocket"),
    ],
)
def test_a_path_has_a_class_from_a_fixed_list(path: str, name: str) -> None:
    assert class_of(path) == name


class Meter:
    """Metrics with separate stages, under a fake clock."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.stages = with_demo(MeasuredStages())
        self.waiting = 0
        sources = Sources(
            Connections(self.stages, self.clock),
            queues={"speech": lambda: self.waiting},
            long_polls={"webcam": lambda: 7},
            outcomes={"utterances": Counter(spoken=3, late=0)},
        )
        self.metrics = Metrics(sources, self.stages, self.clock)

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"upstage_{name}", labels)


@pytest.fixture
def meter() -> Meter:
    return Meter()


def test_counters_are_read_at_the_scrape(meter: Meter) -> None:
    sent: list[bytes] = []
    member = meter.stages.connect(sent.append)
    for frame in (b"stage_ID=demo&mode=JOIN", b"mode=NONSENSE", b"", b"%zz"):
        meter.stages.receive(member, frame)
    meter.stages.counts["cut_laggard"] += 2
    meter.stages.counts["frames_sent"] += 5
    meter.waiting = 4
    assert meter.value("frames_received_total") == 1
    assert meter.value("frames_sent_total") == 5
    assert meter.value("frames_ignored_total", reason="unknown_modes") == 1
    assert meter.value("frames_ignored_total", reason="empty") == 1
    assert meter.value("frame_seconds_count") == 4
    assert meter.value("clients_cut_total", reason="laggard") == 2
    assert meter.value("queue_length", queue="speech") == 4
    assert meter.value("long_polls", **{"for": "webcam"}) == 7
    assert meter.value("utterances_total", outcome="spoken") == 3
    assert meter.value("clients", transport="tcp", role="player") == 0


def test_the_reactor_lag_is_measured(meter: Meter) -> None:
    meter.metrics.startService()
    for _ in range(8):
        meter.clock.advance(LAG_INTERVAL)
    assert meter.value("reactor_lag_seconds_count") == 8
    assert meter.value("reactor_lag_seconds_sum") == 0
    meter.clock.advance(LAG_INTERVAL + 0.1)  # the reactor was blocked for 0.1 s
    assert meter.value("reactor_lag_seconds_sum") == pytest.approx(0.1)
    meter.clock.advance(LAG_INTERVAL - 0.1)  # then it is on time again
    assert meter.value("reactor_lag_seconds_count") == 10
    assert meter.value("reactor_lag_seconds_sum") == pytest.approx(0.1)
    meter.metrics.stopService()
    assert meter.clock.getDelayedCalls() == []


def scrape(server: Backend) -> dict[str, float]:
    """Return every sample of the server's /metrics, by name and labels."""
    connection = HTTPConnection("127.0.0.1", server.port_of("MetricsSite"), timeout=60)
    connection.request("GET", "/metrics")
    response = connection.getresponse()
    text = response.read().decode()
    assert response.status == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    connection.request("GET", "/admin/")
    assert connection.getresponse().status == 404  # nothing else is served
    connection.close()
    lines = (line.rpartition(" ") for line in text.splitlines() if line[0] != "#")
    return {name: float(value) for name, _, value in lines}


def test_a_running_server_counts_chat_and_speech(tmp_path: Path) -> None:
    """The admin speaks; the audience reads and hears it; the metrics count."""
    backend = Backend(tmp_path, UPSTAGE_ADMIN_PASSWORD=PASSWORD)
    player, audience = backend.on_stage(key=Editor(backend).key), backend.on_stage()
    numbers = scrape(backend)
    assert numbers['upstage_clients{role="player",transport="tcp"}'] == 1
    assert numbers['upstage_clients{role="audience",transport="tcp"}'] == 1

    player.send_frames(b"ID=1&mode=AV", b"msg=Good evening&mode=TEXT")
    assert audience.frames_until(b"mode=TEXT")[-1].endswith(b"&text=Good+evening&mode=TEXT")
    if all(map(shutil.which, speech.PROGRAMS)):
        wave = parse_qs(audience.receive_frame().decode())
        assert wave["mode"] == ["WAVE"]
        response = ask(backend, wave["url"][0])
        assert (response.status, response.headers["content-type"]) == (200, "audio/mpeg")
        assert len(response.body) > 2000
        assert scrape(backend)['upstage_utterances_total{outcome="spoken"}'] == 1

    for path in ("/media", "/media/", "/media/video", "/media/video/", "/media/video/x.jpg"):
        assert ask(backend, path).status == 404
    numbers = scrape(backend)
    assert numbers['upstage_http_request_seconds_count{path="webcam",status="404"}'] == 2
    assert numbers["upstage_frame_seconds_count"] >= 6
    assert numbers["upstage_frames_sent_total"] > 30
    backend.wait_for(lambda: scrape(backend)["upstage_reactor_lag_seconds_count"] > 1)
    assert numbers["process_resident_memory_bytes"] > 10_000_000
    for client in (player, audience):
        client.close()
    backend.end()


def test_a_stop_does_not_wait_for_work_in_progress(tmp_path: Path) -> None:
    """The work: a line being recorded, requests that wait for it, and a client that does not read."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in speech.PROGRAMS:
        (programs / name).write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/started\nexec /bin/sleep 1000\n")
        (programs / name).chmod(0o755)
    few = "from upstage.web import speech; speech.MAX_WAITING = 3; " + serve(RARELY)[1]
    path = f"{programs}:{os.environ['PATH']}"
    server = Backend(tmp_path, ["-c", few], PATH=path, UPSTAGE_ADMIN_PASSWORD=PASSWORD)
    player, stalled = server.on_stage(key=Editor(server).key), server.connect()
    stalled.send_frames(b"stage_ID=demo&mode=JOIN")
    player.send_frames(b"ID=1&mode=AV", b"msg=Good evening&mode=TEXT")
    url = parse_qs(player.frames_until(b"mode=WAVE")[-1].decode())["url"][0]
    listeners = [socket.create_connection(("127.0.0.1", server.web_port), 5) for _ in range(3)]
    for listener in listeners:
        listener.sendall(f"GET {url} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    server.wait_for(lambda: scrape(server)['upstage_long_polls{for="speech"}'] == 3)
    refused = ask(server, url)
    assert (refused.status, refused.headers["retry-after"]) == (503, "2")
    listeners.pop().close()
    server.wait_for(lambda: scrape(server)['upstage_long_polls{for="speech"}'] == 2)
    server.wait_for(lambda: len((tmp_path / "started").read_text().split()) == 2)
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 5
    for process in (tmp_path / "started").read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)
    assert not server.logged("Unhandled Error")
    assert not server.logged("a request failed")
    for connection in (*listeners, stalled.socket, player.socket):
        connection.close()


def test_the_health_check_starts_without_twisted() -> None:
    """The check runs every few seconds; imports of a third of a second each time would be a load."""
    code = "import sys, upstage.cli; sys.exit(any(m.split('.')[0] in {names} for m in sys.modules))"
    names = {"twisted", "prometheus_client", "jinja2", "argon2", "sqlite3"}
    command = [sys.executable, "-c", code.format(names=names)]
    subprocess.run(command, env={"PYTHONPATH": str(SRC)}, check=True, timeout=60)
