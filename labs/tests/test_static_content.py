"""labs/static: its file, and its six servers on the engine."""

import gzip

import pytest

from labs.bench.drivers import fixed_rate, open_connections
from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import ask, needs_engine
from tests.stack import REPO
from tests.support.wait import wait_until

LAB = "static"
PAGE = REPO / "labs" / LAB / "www" / "page.html"
NGINX = ["nginx-shipped", "nginx-article", "nginx-today"]
APACHE = ["apache-event", "apache-prefork", "apache-tuned"]


def test_the_ready_made_copy_is_the_file_compressed() -> None:
    assert gzip.decompress(PAGE.with_name("page.html.gz").read_bytes()) == PAGE.read_bytes()
    assert not PAGE.with_name("on-the-fly.html.gz").exists()


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
        # As shipped, each line is written immediately. A server that could not write its log would be faster.
        if service in ("nginx-shipped", "apache-event", "apache-prefork"):
            wait_until(
                lambda: f"?{service} " in lab.run(service, "sh", "-c", "cat /var/log/*/access.log"), within=60
            )

    def test_each_server_has_its_process_model(self, lab: LabStack) -> None:
        processes = lab.containers["nginx-article"].top(ps_args="-eo pid,args")["Processes"]
        assert len([args for _, args in processes if "worker process" in args]) == 4
        for service, model in {"apache-event": "event", "apache-prefork": "prefork"}.items():
            said = lab.run(service, "sh", "-c", ". /etc/apache2/envvars && apache2 -V")
            assert said.split("Server MPM:")[1].split()[0] == model

    def test_compressed_responses_are_ready_made_or_made_on_the_fly(self, lab: LabStack) -> None:
        """The same lengths for the cells of the lab, which name the two files."""
        paths = {
            cell.key["encoding"]: cell.settings["path"]
            for cell in load(REPO / "labs" / LAB, "full").cells
            if cell.driver == "wrk"
        }
        ready, made = (
            ask(lab, "nginx-article", paths[encoding], Accept_Encoding="gzip")
            for encoding in ("ready-made", "on the fly")
        )
        assert ready.length == PAGE.with_name("page.html.gz").stat().st_size
        assert ready.headers["content-encoding"] == made.headers["content-encoding"] == "gzip"
        assert made.length < 5000
        assert "content-length" not in made.headers, "its length is not known before it is compressed"
        assert ask(lab, "nginx-article", paths["not compressed"]).length == 5000

    @pytest.mark.parametrize(
        ("service", "connections"),
        [*((name, 200) for name in (*NGINX, "apache-tuned")), ("apache-event", 5), ("apache-prefork", 5)],
    )
    def test_connections_are_held_and_answered(self, lab: LabStack, service: str, connections: int) -> None:
        # Apache closes after five idle seconds; the engine needs a second for a sample of the memory.
        wanted = {"connections": connections, "every": 0.5, "rounds": 6, "pause": 0.2, "response_timeout": 60}
        found = open_connections.measure(lab, {**settings(service), **wanted})
        assert found["requests_per_second"] == pytest.approx(connections * 2, rel=0.3)
        assert found["memory_bytes"] > 1_000_000
        assert found["tasks"] > 1
        assert abs(found["process_bytes_per_connection"]) < found["memory_bytes"]

    @pytest.mark.parametrize("service", NGINX + APACHE)
    def test_a_slow_sweep_is_answered(
        self, lab: LabStack, service: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fixed_rate, "LATE", float("inf"))  # however busy this machine is
        found = fixed_rate.measure(
            lab, {**settings(service), "rate": 10, "seconds": 1, "timeout": 60, "generators": 2}
        )
        assert found["errors"] == 0
        assert 0 < found["milliseconds"] < 60_000
        assert found["memory_bytes"] > 1_000_000
