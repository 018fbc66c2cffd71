"""labs/static: its file, and its five servers on the engine."""

import pytest

from bench.lab_stack import LabStack, Problem
from bench.tests.running_lab import ask, needs_engine
from bench.tools import hold, sweep
from stack import REPO
from support.wait import wait_until

LAB = "static"
PAGE = REPO / "labs" / LAB / "www" / "page.html"
NGINX = ["nginx-shipped", "nginx-article", "nginx-today"]
APACHE = ["apache-event", "apache-prefork"]


def test_the_file_has_5_kb() -> None:
    assert PAGE.stat().st_size == 5000


def settings(service: str) -> dict[str, object]:
    return {"host": service, "service": service, "port": 8080, "path": "/page.html", "bytes": 5000}


@needs_engine
@pytest.mark.slow
class TestServers:
    @pytest.mark.parametrize("service", NGINX + APACHE)
    def test_each_server_has_the_file_and_a_log(self, lab: LabStack, service: str) -> None:
        received = ask(lab, service, f"/page.html?{service}")
        assert (received.status, received.text) == (200, PAGE.read_text())
        assert received.headers["server"].startswith("nginx" if service in NGINX else "Apache")
        # As shipped, each line is written at once. A server that could not write its log would be faster.
        if service in ("nginx-shipped", *APACHE):
            wait_until(
                lambda: f"?{service} " in lab.run(service, "sh", "-c", "cat /var/log/*/access.log"), within=60
            )

    def test_each_server_has_its_process_model(self, lab: LabStack) -> None:
        processes = lab.containers["nginx-article"].top(ps_args="-eo pid,args")["Processes"]
        assert len([args for _, args in processes if "worker process" in args]) == 4
        said = {name: lab.run(name, "sh", "-c", ". /etc/apache2/envvars && apache2 -V") for name in APACHE}
        models = {name: text.split("Server MPM:")[1].split()[0] for name, text in said.items()}
        assert models == {"apache-event": "event", "apache-prefork": "prefork"}

    @pytest.mark.parametrize(
        ("service", "connections"), [(name, 200) for name in NGINX] + [(name, 5) for name in APACHE]
    )
    def test_connections_are_held_and_answered(self, lab: LabStack, service: str, connections: int) -> None:
        # Apache closes after five idle seconds; the engine needs a second for a sample of the memory.
        wanted = {"connections": connections, "every": 0.5, "rounds": 6, "pause": 0.2, "response_timeout": 60}
        found = hold.measure(lab, {**settings(service), **wanted})
        assert found["requests_per_second"] == pytest.approx(connections * 2, rel=0.3)
        assert found["memory_bytes"] > 1_000_000

    def test_more_connections_than_the_server_is_configured_for_are_rejected(self, lab: LabStack) -> None:
        wanted = {"connections": 2000, "every": 1, "rounds": 1, "pause": 0.5, "response_timeout": 60}
        with pytest.raises(Problem, match=r"^\d+ of 2000 connections held, then: "):
            hold.measure(lab, {**settings("apache-event"), **wanted})

    @pytest.mark.parametrize("service", NGINX + APACHE)
    def test_a_slow_sweep_is_answered(
        self, lab: LabStack, service: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sweep, "LATE", float("inf"))  # however busy this machine is
        found = sweep.measure(lab, {**settings(service), "rate": 10, "seconds": 1, "timeout": 60})
        assert found["errors"] == 0
        assert 0 < found["milliseconds"] < 60_000
        assert found["memory_bytes"] > 1_000_000
