"""reload.sh on a busy Varnish: no request notices, and a broken file changes nothing."""

import os
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from varnish.tests.python.varnish_server import VarnishServer

VERSION = re.compile(r"^(?!discarded).*\b((?:classic|app|default)_\d\S*)", flags=re.M)


@pytest.fixture
def server() -> Iterator[VarnishServer]:
    """Yield a running Varnish with a copy of the VCL, which the test may change."""
    with VarnishServer() as server:
        server.copy_scripts()
        server.start()
        yield server


def versions(server: VarnishServer) -> set[str]:
    """Return the names of the loaded VCLs."""
    return set(VERSION.findall(server.cli("vcl.list")))


def append(server: VarnishServer, file: str, text: str) -> int:
    """Add lines to a file; return the number of the first."""
    vcl = server.scripts / file
    before = vcl.read_text()
    vcl.write_text(before + text)
    return before.count("\n") + 1


@contextmanager
def crowd(server: VarnishServer) -> Iterator[None]:
    """Run four clients that keep sending requests, more than 20 each; require that none fails."""
    over = threading.Event()

    def visit(number: int) -> None:
        address = None if number % 2 else server.socket
        host = "classic.localhost" if number == 3 else "upstage.localhost"
        asked = 0
        while asked <= 20 or not over.is_set():
            response = server.request(f"/media/{asked % 50}.svg", host, address=address)
            assert response.status == 200, response
            asked += 1
            time.sleep(0.01)  # each request over TCP costs a port for a minute

    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(visit, number) for number in range(4)]
        try:
            yield
        finally:
            over.set()
        for client in clients:
            client.result()


def test_a_new_version_is_loaded_under_load_and_the_cache_stays_full(server: VarnishServer) -> None:
    before = versions(server)
    server.request("/media/kept.svg")
    with crowd(server):
        for edition in "234":
            for file in ("default.vcl", "classic.vcl"):
                append(server, file, f'sub vcl_deliver {{ set resp.http.X-Edition = "{edition}"; }}\n')
            done = server.run_script("reload.sh")
            assert done.returncode == 0, done.stdout
            for host in ("upstage.localhost", "classic.localhost"):
                assert server.request("/", host).headers["x-edition"] == edition
    assert server.request("/media/kept.svg").headers["cache-status"].startswith("varnish; hit")
    assert len(versions(server)) == 2  # the old ones are discarded
    assert not before & versions(server)


def test_a_broken_file_is_rejected_with_its_name_and_line(server: VarnishServer) -> None:
    """The mistake is in the VCL that is compiled first, in the second one, or in a file of both."""
    before = versions(server)
    with crowd(server):
        for file in ("classic.vcl", "default.vcl", "media.vcl"):
            text = (server.scripts / file).read_text()
            line = append(server, file, "sub vcl_recv { set req.http.Oops = ; }\n")
            done = server.run_script("reload.sh")
            assert done.returncode == 1
            assert re.search(rf"{file}'? Line {line} ", done.stdout)
            (server.scripts / file).write_text(text)
    assert versions(server) == before


def test_a_full_disk_is_named(server: VarnishServer) -> None:
    """varnishd's compiler says only that it has failed."""
    df = server.folder / "bin" / "df"
    df.parent.mkdir()
    df.write_text("#!/bin/sh\necho Filesystem\necho tmpfs 131072 131068 4 100% /var/lib/varnish\n")
    df.chmod(0o755)
    append(server, "default.vcl", "sub vcl_recv { set req.http.Oops = ; }\n")
    done = server.run_script("reload.sh", PATH=f"{df.parent}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert f"There are only 4 kB left in {server.workdir}." in done.stdout
