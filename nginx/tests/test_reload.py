"""reload.sh: new files and settings without a lost request, and a mistake that changes nothing."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from nginx.tests.nginx_server import NginxServer
from tests.support.wait import wait_until


def test_a_reload_under_load_brings_the_new_files_and_loses_no_request(fresh: NginxServer) -> None:
    fresh.start()
    done = threading.Event()

    def visit() -> int:
        """Send requests until the reloads are done; return their number."""
        asked = 0
        while not done.is_set():
            response = fresh.request("/", port=fresh.load)
            assert response.status == 200, response
            asked += 1
            time.sleep(0.01)  # each request costs a port for a minute
        return asked

    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(visit) for _ in range(4)]
        try:
            for old, new in (("204", "200 first"), ("200 first", "200 second"), ("200 second", "200 third")):
                fresh.edit("sites/common.conf", f"return {old};", f"return {new};")
                reloaded = fresh.run_script("reload.sh")
                assert (reloaded.returncode, reloaded.stdout) == (0, "")
                responses = {fresh.request("/.nginx/health").text for _ in range(50)}  # from every worker
                assert responses == {new.removeprefix("200 ")}
        finally:
            done.set()
    assert min(client.result() for client in clients) > 10


def test_a_reload_without_a_change_replaces_no_worker(fresh: NginxServer) -> None:
    fresh.start()
    wait_until(lambda: len(fresh.workers()) == 4)
    before = fresh.workers()
    assert fresh.run_script("reload.sh").returncode == 0
    time.sleep(0.5)
    assert fresh.workers() == before


def test_four_generations_of_old_workers_keep_their_stage_sockets(fresh: NginxServer) -> None:
    """A fifth, older generation ends."""
    fresh.start()
    players: list[socket.socket] = []
    for number in range(6):
        for _ in range(8):  # so that most workers have one
            players.append(fresh.connect(fresh.stage))
            assert players[-1].recv(100)
        before = fresh.workers()
        fresh.edit("nginx.conf", "http {", f"http {{ # edit {number}")
        assert fresh.run_script("reload.sh").returncode == 0

        def replaced(before: set[int] = before) -> bool:
            serving = fresh.workers() - fresh.workers(b"shutting down")
            return len(serving) == 4 and not serving & before

        wait_until(replaced)
        wait_until(lambda: len(fresh.workers()) <= 20)
    connected = [still_connected(player) for player in players]
    assert all(connected[16:])
    assert not all(connected[:16])
    for player in players:
        player.close()


def still_connected(player: socket.socket) -> bool:
    """Return whether the stage still echoes."""
    player.settimeout(1)
    try:
        player.sendall(b"still here\0")
        return bool(player.recv(100))
    except OSError:
        return False


def test_a_broken_file_is_rejected_with_its_line(fresh: NginxServer) -> None:
    fresh.start()
    wait_until(lambda: len(fresh.workers()) == 4)
    before = fresh.workers()
    line = len((fresh.scripts / "sites/nginx.localhost.conf").read_text().splitlines()) + 1
    fresh.edit("sites/nginx.localhost.conf", "}\n}\n", "}\n}\nserver { listen 99999; }\n")
    rejected = fresh.run_script("reload.sh")
    assert rejected.returncode == 1
    assert f"{fresh.generated}/sites/nginx.localhost.conf:{line}" in rejected.stdout
    assert fresh.request("/").status == 200
    assert fresh.workers() == before
    fresh.edit("sites/nginx.localhost.conf", "server { listen 99999; }\n", "")
    assert fresh.run_script("reload.sh").returncode == 0


def test_a_reload_without_a_running_nginx_fails(fresh: NginxServer) -> None:
    ended = fresh.run_script("reload.sh")
    assert ended.returncode == 1
    assert ended.stdout.startswith("nginx is not running")
