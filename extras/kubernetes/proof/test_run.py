"""extras/kubernetes on a cluster: a node of this project's own (node.sh), or kind (KUBERNETES_ADDRESS)."""

import ctypes
import json
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.stack import REPO
from tests.support.checkout import copy_checkout
from tests.support.checks import check, ran
from tests.support.http import Response, request
from tests.support.stage_client import StageClient
from tests.support.wait import wait_until

NODE = Path(__file__).parent / "node.sh"
README = (REPO / "extras" / "kubernetes" / "README.md").read_text()
NAME = "stage.example.org"
FILES = [f"/media/fox.svg?{number}" for number in range(60)]
Outcomes = dict[str, tuple[str, str]]  # file -> the Varnish that answered, and `hit` or `fwd=…`


@contextmanager
def network() -> Iterator[str]:
    """Yield the node's address; connections of this process begin in the node's network."""
    if outside := os.environ.get("KUBERNETES_ADDRESS"):
        yield outside
        return
    enter, kind = ctypes.CDLL(None).setns, 0x40000000  # CLONE_NEWNET; Python 3.12 has os.setns
    with open("/proc/thread-self/ns/net") as ours, open("/run/netns/proscenium-kubernetes") as its:
        assert enter(its.fileno(), kind) == 0
        try:
            yield "10.79.0.1"
        finally:
            assert enter(ours.fileno(), kind) == 0


class Cluster:
    """The stack on a cluster, started with the README's commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder  # a checkout
        self.follows = True  # whether its nginx follows changes of names, as 1.27.3 and newer do
        self.printed = ""  # the output of the commands

    def type(self, commands: str) -> str:
        """Run commands of the README; return their output."""
        kubectl = f'kubectl() {{ {NODE} kubectl "$@"; }}'
        return check("bash", "-euo", "pipefail", "-c", f"{kubectl}\n{commands}", cwd=self.folder, timeout=300)

    def kubectl(self, arguments: str) -> str:
        return self.type(f"kubectl -n proscenium {arguments}")

    def start(self) -> None:
        [commands] = re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)
        chosen = (REPO / ".run" / "kubernetes" / "images.env").read_text()
        for service, image, tag in re.findall(r"(\w+)_IMAGE=(\S+):(\S+)", chosen):
            other = f"  - {{ name: {service.lower()}, newName: {image}, newTag: {tag} }}"
            commands = commands.replace("images:\n", f"images:\n{other}\n")
        self.printed = self.type(commands)
        self.kubectl("rollout status statefulset/varnish --timeout=280s")
        wait_until(lambda: "nginx/" in self.kubectl("exec daemonset/nginx -- nginx -v"), within=120, every=1)
        [version] = re.findall(r"nginx/([\d.]+)", self.kubectl("exec daemonset/nginx -- nginx -v"))
        self.follows = tuple(map(int, version.split("."))) >= (1, 27, 3)
        self.follow()
        wait_until(self.is_ready, within=120, every=1, report=lambda: self.kubectl("get pods,events"))

    def follow(self) -> None:
        """Restart an nginx that does not notice new Varnishes by itself."""
        if not self.follows:
            self.kubectl("rollout restart daemonset/nginx")
            self.kubectl("rollout status daemonset/nginx --timeout=120s")

    def scale(self, name: str, pods: int) -> None:
        self.kubectl(f"scale statefulset {name} --replicas={pods}")
        self.kubectl(f"rollout status statefulset/{name} --timeout=120s")

    def ready(self, app: str) -> list[bool]:
        """Return, for each pod of a service, whether it is Ready."""
        pods = json.loads(self.kubectl(f"get pods -l app={app} -o json"))["items"]
        conditions = [pod["status"].get("conditions", []) for pod in pods]
        return [any((c["type"], c["status"]) == ("Ready", "True") for c in each) for each in conditions]

    def is_ready(self) -> bool:
        wanted = {"nginx": 1, "varnish": 3, "backend": 1, "policyd": 2}
        return all(self.ready(app) == [True] * number for app, number in wanted.items())

    def get(self, path: str, port: int = 8080) -> Response:
        with network() as address:
            return request((address, port), path, NAME)

    def outcomes(self) -> Outcomes:
        found = {}
        for file in FILES:
            response = self.get(file)
            assert response.status == 200
            name, outcome = re.findall(r"^(\S+); ([\w=-]+)", response.headers["cache-status"])[0]
            found[file] = (name, outcome)
        time.sleep(1.1)  # until nginx's one-second copies have expired
        return found


def names_in(found: Outcomes) -> set[str]:
    return {name for name, _ in found.values()}


def outcomes_in(found: Outcomes) -> set[str]:
    return {outcome for _, outcome in found.values()}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("kubernetes") / "proscenium"
    copy_checkout(folder)
    started = ran(NODE, "up", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if started.returncode == 77:
        pytest.skip(started.stdout.strip())
    assert started.returncode == 0, started.stdout
    try:
        cluster = Cluster(folder)
        cluster.start()
        yield cluster
    finally:
        ran(NODE, "down")


def test_every_object_is_accepted_and_every_pod_is_ready(cluster: Cluster) -> None:
    objects = cluster.type("kubectl kustomize ../overlay").count("\nkind: ")
    applied = [line for line in cluster.printed.splitlines() if "/" in line and line.endswith(" created")]
    assert len(applied) == objects + 2  # plus the namespace and the secret
    assert cluster.is_ready()


def test_a_page_answers_and_each_file_is_fetched_once(cluster: Cluster) -> None:
    assert cluster.get("/stages/demo").status == 200
    first, second = cluster.outcomes(), cluster.outcomes()
    assert (outcomes_in(first), outcomes_in(second)) == ({"fwd=uri-miss"}, {"hit"})
    varnishes = Counter(name for name, _ in first.values())
    assert varnishes.keys() == {"varnish-0", "varnish-1", "varnish-2"}
    assert min(varnishes.values()) >= 0.2 * len(FILES)
    assert all(first[file][0] == second[file][0] for file in FILES)


def test_a_purge_by_tag_reaches_every_varnish(cluster: Cluster) -> None:
    cluster.outcomes()
    assert outcomes_in(cluster.outcomes()) == {"hit"}
    cluster.kubectl("exec backend-0 -- upstage purge --tag media /")
    time.sleep(1.1)
    assert outcomes_in(cluster.outcomes()) == {"fwd=uri-miss"}


def test_chat_goes_through_the_stage_socket(cluster: Cluster) -> None:
    with network() as address:
        clients = [StageClient((address, 7230)) for _ in range(2)]
    for client in clients:
        client.join()
    clients[0].send("TEXT", msg="bravo!")
    for client in clients:
        assert client.until("ANONTEXT")[-1]["text"] == "bravo!"
        client.close()


def test_the_data_can_be_backed_up(cluster: Cluster) -> None:
    listed = cluster.type("kubectl exec -n proscenium backend-0 -- upstage backup >b; tar -tzf b")
    assert "media" in listed


def test_a_load_balancer_leads_in(cluster: Cluster) -> None:
    cluster.kubectl("apply -f extras/kubernetes/load-balancer/service.yaml")
    port = int(cluster.kubectl("get service nginx -o jsonpath='{.spec.ports[0].nodePort}'"))
    wait_until(lambda: cluster.get("/stages/demo", port).status == 200)


def test_a_fourth_varnish_takes_only_its_own_share(cluster: Cluster) -> None:
    cluster.outcomes()
    before = cluster.outcomes()
    cluster.scale("varnish", 4)
    cluster.follow()
    wait_until(lambda: "varnish-3" in names_in(cluster.outcomes()), within=60)
    after = cluster.outcomes()
    moved = [file for file in FILES if after[file][0] != before[file][0]]
    assert names_in({file: after[file] for file in moved}) == {"varnish-3"}
    assert len(moved) < 0.5 * len(FILES)
    assert all(after[file] == before[file] for file in FILES if file not in moved)  # all hits
    cluster.scale("varnish", 3)
    cluster.follow()


def test_nginx_is_ready_while_the_backend_restarts(cluster: Cluster) -> None:
    wait_until(cluster.is_ready, within=60, every=1)
    cluster.get("/")
    time.sleep(6)  # until nginx's probe has sent its request, too: Varnish has both responses
    cluster.kubectl("delete pod backend-0 --wait=false")
    wait_until(lambda: cluster.ready("backend") != [True], within=30)
    while cluster.ready("backend") != [True]:
        assert cluster.ready("nginx") == [True]
        assert cluster.get("/").status == 200
    assert cluster.ready("nginx") == [True]


def test_nginx_is_ready_as_long_as_varnish_or_upstage_answers(cluster: Cluster) -> None:
    cluster.scale("varnish", 0)
    wait_until(lambda: cluster.get("/").status == 200, within=60, every=1)
    assert cluster.ready("nginx") == [True]
    cluster.scale("backend", 0)
    wait_until(lambda: cluster.ready("nginx") == [False], within=60, every=1)
    assert cluster.get("/").status == 503
    cluster.scale("backend", 1)
    cluster.scale("varnish", 3)
    cluster.follow()
    wait_until(cluster.is_ready, within=60, every=1)
