"""The other sources: their figures, and those that remain if a source is absent or sends nonsense."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import choose_encoder

from extras.observe.exporter import connections, services, varnish
from extras.observe.exporter.alerts import lines
from extras.observe.exporter.connections import Connections
from extras.observe.exporter.services import Services
from extras.observe.exporter.sources import Sources
from extras.observe.exporter.varnish import Varnishes
from tests.support.origin import Origin, Request, response

FIXTURE = (
    Path(__file__).parent / "fixtures" / "varnishstat.json"
)  # from Varnish 7, with two VCLs and a sick backend
PAGE = (
    "Active connections: 5 \nserver accepts handled requests\n 20 19 31 \nReading: 1 Writing: 2 Waiting: 2 \n"
)


def scrape(source: Callable[[], object]) -> dict[str, float]:
    """Return all samples; `up` is 0 if the source is down."""
    registry = CollectorRegistry()
    registry.register(Sources({"it": source}))  # type: ignore[dict-item]
    openmetrics, _ = choose_encoder("application/openmetrics-text")
    assert openmetrics(registry).endswith(b"# EOF\n")  # in the format that Prometheus prefers

    def key(name: str, labels: dict[str, str]) -> str:
        if name == "observe_source_up":
            return "up"
        return name + "".join(f" {label}={value}" for label, value in sorted(labels.items()))

    return {key(one.name, one.labels): one.value for each in registry.collect() for one in each.samples}


def test_a_source_that_fails_takes_nothing_from_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> list[object]:
        raise KeyError("gone")

    registry = CollectorRegistry()
    registry.register(Sources({"bad": fails, "good": list}))  # type: ignore[dict-item]
    for _ in range(3):
        generate_latest(registry)
    assert registry.get_sample_value("observe_source_up", {"source": "bad"}) == 0
    assert registry.get_sample_value("observe_source_up", {"source": "good"}) == 1
    assert capsys.readouterr().err == "bad is down: KeyError: 'gone'\n"  # printed once


# --- nginx's connections


@pytest.fixture
def nginx() -> Origin:
    return Origin("nginx")


def test_the_connections_of_nginx(nginx: Origin) -> None:
    nginx.respond = lambda _: response(PAGE)
    source = Connections(f"http://{nginx.address}/")
    assert scrape(source.read) == {"up": 0}
    source.ask()
    assert scrape(source.read) == {
        "nginx_connections_active": 5,
        "nginx_connections_reading": 1,
        "nginx_connections_writing": 2,
        "nginx_connections_waiting": 2,
        "nginx_connections_accepted_total": 20,
        "nginx_connections_handled_total": 19,
        "up": 1,
    }


def test_an_old_page_and_another_page_are_no_figures(nginx: Origin, monkeypatch: pytest.MonkeyPatch) -> None:
    def respond(request: Request) -> bytes:
        return response(PAGE) if request.target == "/" else response(b"\xff" * 100_000)

    nginx.respond = respond
    source = Connections(f"http://{nginx.address}/other")
    source.ask()
    assert scrape(source.read) == {"up": 0}
    source = Connections(f"http://{nginx.address}/")
    source.ask()
    nginx.close()
    source.ask()
    assert scrape(source.read)["up"] == 1  # one lost response is not a gap
    monkeypatch.setattr(connections, "OLD", 0)
    assert scrape(source.read) == {"up": 0}


# --- Varnish


def test_the_counters_of_varnish_have_the_names_of_its_exporter(tmp_path: Path) -> None:
    (tmp_path / "varnish.json").write_bytes(FIXTURE.read_bytes())
    found = scrape(Varnishes(tmp_path).read)
    counters = json.loads(FIXTURE.read_text())["counters"]
    for name, key in {
        "varnish_main_cache_hit service=varnish": "MAIN.cache_hit",
        "varnish_main_n_object service=varnish": "MAIN.n_object",
        "varnish_main_sessions service=varnish type=conn": "MAIN.sess_conn",
        "varnish_main_fetch service=varnish type=length": "MAIN.fetch_length",
        "varnish_mgt_uptime service=varnish": "MGT.uptime",
        "varnish_sma_g_bytes service=varnish type=s0": "SMA.s0.g_bytes",
        "varnish_backend_req backend=upstage service=varnish vcl=default_2": "VBE.default_2.upstage.req",
    }.items():
        assert found[name] == counters[key]["value"], name
    assert found["varnish_backend_up backend=upstage service=varnish vcl=default_2"] == 1
    assert found["varnish_backend_up backend=sick service=varnish vcl=default_2"] == 0
    assert found["up"] == 1
    assert not [name for name in found if "lck" in name or "mempool" in name]


def test_several_varnishes_and_one_of_them_ends(tmp_path: Path) -> None:
    for name in ("varnish", "varnish-2"):
        (tmp_path / f"{name}.json").write_bytes(FIXTURE.read_bytes())
    source = Varnishes(tmp_path)
    assert scrape(source.read)["up"] == 1
    past = time.time() - 60
    os.utime(tmp_path / "varnish.json", (past, past))
    found = scrape(source.read)
    assert found["up"] == 0
    assert {name.split("service=")[1].split()[0] for name in found if "service=" in name} == {"varnish-2"}


def test_a_killed_varnish_whose_memory_can_still_be_read_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """varnishstat still prints the last counters, with the uptime at which Varnish was killed."""
    report = json.loads(FIXTURE.read_text())
    path = tmp_path / "varnish.json"
    source = Varnishes(tmp_path)
    clock = SimpleNamespace(time=time.time, monotonic=lambda: 0)
    monkeypatch.setattr(varnish, "time", clock)
    path.write_text(json.dumps(report))
    assert scrape(source.read)["up"] == 1
    clock.monotonic = lambda: varnish.OLD + 1
    path.write_text(json.dumps(report))
    assert scrape(source.read) == {"up": 0}
    report["counters"]["MAIN.uptime"]["value"] = 1  # Varnish has started again
    path.write_text(json.dumps(report))
    assert scrape(source.read)["up"] == 1


UPTIME = ("1", "{}", '{"value": "x"}')


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", '{"version": 2, "counters": {}}', '{"version": 1}'),
        *('{"version": 1, "counters": {"MAIN.uptime": UPTIME}}'.replace("UPTIME", value) for value in UPTIME),
    ],
)
def test_another_format_of_varnishstat_is_no_figures(tmp_path: Path, text: str) -> None:
    assert scrape(Varnishes(tmp_path).read) == {"up": 0}
    (tmp_path / "varnish.json").write_text(text)
    assert scrape(Varnishes(tmp_path).read) == {"up": 0}


# --- The services


def groups_1(root: Path) -> None:
    """Make control groups 1: a hierarchy for each controller, one of them below the engine's own group."""
    files = {
        "cpuacct/x-nginx.slice/cpuacct.usage": "2500000000\n",
        "cpuacct/x-nginx.slice/container/cgroup.procs": "1\n",
        "cpuacct/x-varnish.slice/cpuacct.usage": "9\n",  # a group whose container has ended
        "cpuacct/x-test-nginx.slice/cpuacct.usage": "9\n",
        "memory/docker/a/x-nginx.slice/memory.usage_in_bytes": "9\n",  # a group of an engine that was killed
        "memory/docker/z/x-nginx.slice/memory.usage_in_bytes": "9\n",
        "memory/docker/abc/x-nginx.slice/memory.usage_in_bytes": "5000\n",
        "memory/docker/abc/x-nginx.slice/container/cgroup.procs": "1\n",
        "memory/docker/abc/x-nginx.slice/memory.stat": "inactive_file 1\ntotal_inactive_file 1000\n",
    }
    write(root, files)


def groups_2(root: Path) -> None:
    """Make control groups 2, as systemd nests them."""
    group = "x.slice/x-nginx.slice"
    files = {
        "cgroup.controllers": "cpu memory\n",
        f"{group}/cpu.stat": "usage_usec 2500000\nuser_usec 1\n",
        f"{group}/container/cgroup.procs": "1\n",
        f"{group}/memory.current": "5000\n",
        f"{group}/memory.stat": "anon 4000\ninactive_file 1000\n",
        "x.slice/x-test.slice/x-test-nginx.slice/cpu.stat": "usage_usec 9\n",
    }
    write(root, files)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    files = {
        "stat": "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3\n",
        "loadavg": "0.50 0.40 0.30 1/100 1\n",
        "meminfo": "MemTotal: 8 kB\nMemAvailable:  4 kB\n",
    }
    write(tmp_path / "proc", files)
    return tmp_path / "proc"


MACHINE = {
    "machine_cpu_busy_seconds_total": 150 / services.TICKS,
    "machine_cpu_seconds_total": 1000 / services.TICKS,
    "machine_load": 0.5,
    "machine_memory_available_bytes": 4096,
}
NGINX = {"service_cpu_seconds_total service=nginx": 2.5, "service_memory_bytes service=nginx": 4000}


@pytest.mark.parametrize("groups", [groups_1, groups_2])
def test_the_groups_of_this_project_alone(tmp_path: Path, proc: Path, groups: Callable[[Path], None]) -> None:
    """Project x-test has a group whose name begins with x, too."""
    groups(tmp_path / "cgroup")
    source = Services("x", ["nginx", "varnish"], tmp_path / "cgroup", proc)
    assert scrape(source.read) == {**MACHINE, **NGINX, "up": 1}


def test_a_service_that_ends_or_starts_later(
    tmp_path: Path, proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "cgroup"
    root.mkdir()
    source = Services("x", ["nginx", "varnish"], root, proc)
    assert scrape(source.read) == {**MACHINE, "up": 0}
    groups_2(root)
    assert scrape(source.read)["up"] == 0  # searching takes time, so not every scrape searches
    monkeypatch.setattr(services, "SEARCH", 0)
    assert scrape(source.read) == {**MACHINE, **NGINX, "up": 1}
    monkeypatch.undo()
    write(
        root,
        {"x.slice/x-nginx.slice/cpu.stat": "nonsense\n", "x.slice/x-nginx.slice/memory.current": "max\n"},
    )
    assert scrape(source.read) == {**MACHINE, "up": 0}
    (root / "x.slice").rename(root / "gone")
    assert scrape(source.read) == {**MACHINE, "up": 0}


def test_without_a_machine_there_is_nothing(tmp_path: Path) -> None:
    assert scrape(Services("x", ["nginx"], tmp_path, tmp_path).read) == {"up": 0}


# --- make status


def test_alerts_in_words() -> None:
    def alert(name: str, state: str, at: str, **annotations: str) -> dict[str, object]:
        return {"labels": {"alertname": name}, "annotations": annotations, "state": state, "activeAt": at}

    slow = alert("SiteIsSlow", "pending", "2026-11-25T13:00:00.123456789Z", summary="Pages are slow")
    down = alert("BackendDown", "firing", "2026-11-25T13:00:30Z", summary="The backend does not answer")
    body = {"data": {"alerts": [slow, down, alert("Bare", "pending", "2026-11-25T13:00:40Z")]}}
    now = 1795611660.0  # 13:01:00
    assert lines(body, now) == [
        "Alert firing for 30 s: The backend does not answer (BackendDown)",
        "Alert pending for 60 s: Pages are slow (SiteIsSlow)",
        "Alert pending for 20 s: Bare (Bare)",
    ]
    assert lines({"data": {"alerts": []}}, now) == ["Alerts: none"]
