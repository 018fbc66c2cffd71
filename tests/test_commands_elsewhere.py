"""The commands where the stack runs on Kubernetes; the test's own `docker` and `kubectl` play the engines."""

import re
from pathlib import Path

import pytest

from tests.bare import engine, functions, program


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("stack status", "get pods"),
        ("backup", "exec backend-0 -- upstage backup >backup.tar.gz"),
        ("stack load", "this command is for one machine. Type: kubectl -n proscenium get pods"),
        ("watch", "logs -f --prefix -l app=nginx"),
    ],
)
def test_a_stack_on_kubernetes_is_asked_for_last(bare: Path, command: str, line: str) -> None:
    engine(bare, "*working_dir*|'ps '*)")
    kubectl = bare.parent / "bin" / "kubectl"
    program(kubectl, f"echo \"$*\" >>'{bare.parent}/kubectl.log'\n[ \"$3 $5\" = 'backend proscenium' ]")
    done = functions(bare, f"bin/{command}")
    assert (done.returncode, done.stdout) == (1, "")
    [said] = done.stderr.splitlines()
    assert "runs on Kubernetes, in the namespace proscenium" in said
    assert line in said
    assert len((bare.parent / "kubectl.log").read_text().splitlines()) == 1
    program(kubectl, "exit 1")
    assert "is not running. Type: make up" in functions(bare, f"bin/{command}").stderr


def test_a_running_stack_does_not_ask_kubernetes(bare: Path) -> None:
    log = engine(bare)
    program(bare.parent / "bin" / "kubectl", f"echo kubectl >>'{log}'")
    assert functions(bare, "bin/stack status").returncode == 0
    assert not re.search("kubectl", log.read_text(), re.M)
