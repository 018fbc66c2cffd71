"""No port is drawn twice, nor one that is in use."""

import ast
import socket
import subprocess
import sys
from collections import Counter
from functools import partial

from stack import REPO
from support.ports import free_ports

# A process ends, and so returns its ports, only when it may read: by then all processes have theirs.
DRAWS = """
import sys
from support.ports import free_ports
print([port for _ in range(250) for port in free_ports(8)], flush=True)
sys.stdin.read()
"""


def test_four_processes_share_no_port() -> None:
    command = [sys.executable, "-c", DRAWS]
    start = partial(subprocess.Popen[str], cwd=REPO / "tests", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    processes = [start(command, text=True) for _ in range(4)]
    drawn = Counter[int]()
    try:
        for process in processes:
            assert process.stdout
            drawn.update(ast.literal_eval(process.stdout.readline()))
    finally:
        for process in processes:
            process.communicate()
    assert drawn.total() == len(drawn) == 8_000


def test_a_port_in_use_is_passed_over() -> None:
    [before] = free_ports(1)
    with socket.create_server(("", before + 1)):
        assert before + 1 not in free_ports(3)
