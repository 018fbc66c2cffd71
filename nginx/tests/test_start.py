"""start.sh: one nginx at a time; command.sh: `nginx -t` and `nginx -s reload` as tutorials call them."""

import os
import signal
from pathlib import Path

from nginx.tests.nginx_server import NginxServer, command_line
from tests.support.program import PATH
from tests.support.wait import wait_until


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_second_start_ends_and_changes_nothing(fresh: NginxServer) -> None:
    fresh.start()
    before = contents(fresh.generated), contents(fresh.certificates)
    second = fresh.run_script("start.sh", CLIENT_REQUESTS="7", SERVER_NAMES="second.example.org")
    assert (second.returncode, second.stdout.count("\n")) == (1, 1)
    assert second.stdout.startswith("Another nginx of this stack is running")
    assert (contents(fresh.generated), contents(fresh.certificates)) == before


def test_a_start_after_a_kill_succeeds(fresh: NginxServer) -> None:
    fresh.start()
    assert fresh.program
    workers = fresh.workers(b"nginx: ")
    fresh.program.kill()
    for worker in workers:  # as when a container ends
        os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not any(command_line(str(worker)) for worker in workers))
    fresh.start()
    assert fresh.request("/").status == 200


def test_the_limit_of_open_files_is_raised(fresh: NginxServer, tmp_path: Path) -> None:
    program = tmp_path / "nginx"
    program.write_text("#!/bin/sh\nulimit -Sn\n")
    program.chmod(0o755)
    limits = 'ulimit -Sn 1024; ulimit -Hn 2000; exec sh "$0"'
    start = fresh.run("sh", "-c", limits, fresh.scripts / "start.sh", PATH=f"{tmp_path}:{PATH}")
    assert start.stdout.splitlines()[-1] == "2000"


def test_nginx_t_and_s_reload_are_about_the_edited_files(fresh: NginxServer) -> None:
    fresh.copy_scripts()
    fresh.edit("command.sh", "/etc/nginx/proscenium", str(fresh.scripts))
    fresh.start()

    def nginx(*words: str) -> tuple[int, str]:
        done = fresh.run("sh", fresh.scripts / "command.sh", *words)
        return done.returncode, done.stdout

    status, text = nginx("-t")
    assert (status, f"{fresh.generated}/nginx.conf test is successful" in text) == (0, True)
    assert "server_tokens off;" in nginx("-T")[1]
    assert "nginx version" in nginx("-v")[1]

    fresh.edit("sites/common.conf", "return 204;", "return 200 new; }")
    for words in (("-t",), ("-s", "reload")):
        status, text = nginx(*words)
        assert (status, f"{fresh.generated}/sites/common.conf:" in text) == (1, True)
    assert fresh.request("/.nginx/health").status == 204

    fresh.edit("sites/common.conf", "return 200 new; }", "return 200 new;")
    assert nginx("-t")[0] == 0
    assert fresh.request("/.nginx/health").status == 204
    assert nginx("-s", "reload") == (0, "")
    assert fresh.request("/.nginx/health").text == "new"
    assert nginx("-s", "stop")[0] == 0
    assert fresh.program
    assert fresh.program.process.wait(60) == 0
