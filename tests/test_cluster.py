"""The stack on three nodes: one cache in three parts, purges, and what clients see when something happens."""

import itertools
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ring import Ring

from bench.experiment import load
from bench.tools import event, spread
from cluster import LAB, Cluster
from editor import MEDIA, PASSWORD, PICTURE, Editor
from stack import REPO
from support.wait import wait_until

pytestmark = pytest.mark.slow  # minutes; every part has tests of its own

NODES = (1, 2, 3)
EXPERIMENT = load(LAB, "quick")
BENCH = EXPERIMENT.cells[0].settings["path"]
FILES = 400
SPREAD = {
    (cell.key["way"], cell.key["nodes"], cell.key["files"]): cell.settings
    for cell in EXPERIMENT.cells
    if cell.tool == "spread"
}
EVENTS = {
    str(cell.key["event"]): cell.settings
    for cell in EXPERIMENT.cells
    if cell.tool == "event" and cell.key.get("protection") in (None, "nginx's last one")
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if subprocess.run(["docker", "info"], capture_output=True).returncode:
        pytest.skip("no container engine can run here (make test said why)")
    with Cluster() as cluster:
        cluster.run(EXPERIMENT.prepare_in, *EXPERIMENT.prepare)
        yield cluster


def node_of(answer: str, server: str) -> str:
    """The name of the node, or of the Varnish, in Cache-Status."""
    found = re.search(rf"{server};[^,]* node=([\w-]+)", answer)
    assert found, answer
    return found[1]


def test_every_node_serves_every_page_and_says_so(cluster: Cluster) -> None:
    for node in NODES:
        page = cluster.get("/stages/demo", node)
        assert page.status == 200
        assert node_of(page.headers["cache-status"], "nginx") == f"node-{node}"
        assert f"http://{cluster.address(node)}:8080/stages/demo" in cluster.printed
        assert cluster.get("/", node, "static.localhost").status == 421


def test_a_line_of_chat_reaches_the_clients_of_every_node(cluster: Cluster) -> None:
    clients = [open_(node) for open_ in (cluster.web_stage_client, cluster.stage_client) for node in NODES]
    for client in clients:
        client.join()
    clients[0].send("TEXT", msg="good evening")
    for client in clients:
        assert client.until("ANONTEXT")[-1]["text"] == "good evening"
        client.close()


def test_each_theatre_is_on_its_node_and_reached_through_every_node(cluster: Cluster) -> None:
    status = cluster.make("cluster-status")
    assert re.search(r"^node-2 .* second,", status, re.M)
    assert re.search(r"^node-3 .* third,", status, re.M)
    for node, host in itertools.product(NODES, ("second.localhost", "third.localhost")):
        page = cluster.get("/stages/demo", node, host)
        assert page.status == 200
        assert "node=varnish-" in page.headers["cache-status"]
    clients = [cluster.stage_client(node, 7231) for node in NODES]
    clients += [cluster.web_stage_client(node, "second.localhost") for node in NODES]
    others = [cluster.stage_client(2, 7232), cluster.stage_client(2)]
    for client in clients + others:
        client.join()
    clients[0].send("TEXT", msg="only here")
    for client in clients:
        assert client.until("ANONTEXT")[-1]["text"] == "only here"
    for client in others:
        client.send("TEXT", msg="elsewhere")
        assert client.until("ANONTEXT")[-1]["text"] == "elsewhere"
    for client in clients + others:
        client.close()


def test_each_file_is_in_one_varnish_whichever_node_is_asked(cluster: Cluster) -> None:
    ring = Ring(f"{slot}:8083" for slot in cluster.slots())
    word = time.monotonic_ns()
    before = cluster.varnish_counters("varnish", spread.MISS)[spread.MISS]
    for number, node in itertools.product(range(1, FILES + 1), NODES):
        path = BENCH % number
        answer = cluster.get(f"{path}?{word}", node, range="bytes=0-99").headers["cache-status"]
        assert f"{node_of(answer, 'varnish')}:8083" == ring.server(f"localhost{path}")
    assert cluster.varnish_counters("varnish", spread.MISS)[spread.MISS] - before == FILES


def test_the_status_names_the_shares_of_the_ring(cluster: Cluster) -> None:
    shares = re.findall(r"varnish-\d \((\d+)%\)", cluster.make("cluster-status"))
    assert len(shares) == len(NODES)
    assert 99 <= sum(map(int, shares)) <= 101


def test_a_trace_follows_a_request_over_the_nodes(cluster: Cluster) -> None:
    path = f"/media/fox.svg?{time.monotonic_ns()}"
    trace = cluster.make("cluster-trace", f"URL={path}", "NODE=node-2")
    assert re.findall(r"^(\w+) on node-\d$", trace, re.M) == ["nginx", "varnish", "backend"]
    assert "\nnginx on node-2\n" in trace
    assert "\nbackend on node-1\n" in trace


def test_started_again_it_stays_as_it_is(cluster: Cluster) -> None:
    services = ("nginx", "varnish", "backend", "files", "second")
    before = {str(container.id) for service in services for _, container in cluster.tasks(service)}
    assert "Proscenium is running on these nodes" in cluster.make("cluster-up")
    after = {str(container.id) for service in services for _, container in cluster.tasks(service)}
    assert after == before


def test_the_load_is_spread_over_the_nodes_and_its_users_outlive_their_workers(cluster: Cluster) -> None:
    page = cluster.load_page()
    assert cluster.nodes_of("locust-worker") == [1, 2, 3]
    page.post("/swarm", user_count="30", spawn_rate="30", user_classes="Reader")
    try:
        wait_until(lambda: page.users == [10, 10, 10], within=30)
        wait_until(lambda: page.figures["stats"][-1]["num_requests"] > 400, within=30)
        asked = [cluster.requests_of("locust-worker", node) for node in NODES]
        assert min(asked) > 0.25 * sum(asked), asked

        cluster.make("cluster-scale", "WORKERS=6")
        wait_until(lambda: page.users == [5] * 6, within=20)
        assert cluster.nodes_of("locust-worker") == [1, 1, 2, 2, 3, 3]
        cluster.make("cluster-scale", "WORKERS=3")
        wait_until(lambda: page.users == [10, 10, 10], within=20)
        wait_until(lambda: page.verdict["users away"] == "ok", within=10)
        assert page.figures["fail_ratio"] == 0  # what a user has under way when it moves is no failure

        [container, *_] = cluster.docker("ps", "-qf", "name=_locust-worker", node=2).split()
        cluster.docker("kill", container, node=2)
        wait_until(lambda: "workers lost" in page.verdict, within=20)
        wait_until(lambda: sum(page.users) == 30 and page.verdict["users away"] == "ok", within=20)
        assert re.fullmatch(
            r"NOT MEASURED \w+ at [\d:]{8}: 10 of 30 users were away for \d+ s; its last samples are missing",
            page.verdict["workers lost"],
        )
    finally:
        page.post("/stop")


def test_a_purge_reaches_every_varnish_also_one_that_was_away(cluster: Cluster) -> None:
    cluster.upstage("upstage", "player", "add", "yorick", "--rights", "act,admin", typed=f"{PASSWORD}\n")
    time.sleep(1.1)  # the running backend reads the database once a second
    editor = Editor(cluster, "yorick")
    # A reload of nginx closes idle connections; then a browser sends the form over a new one.
    editor.session.headers["Connection"] = "close"
    pages = []
    for number in range(30):
        picture = PICTURE.format("red").encode()
        answer = editor.post(MEDIA, MEDIA, picture, name=f"Square {number}", kind="prop")
        pages.append(answer.url.removeprefix(cluster.url("")).split("?")[0])
    assert len(set(pages)) == 30

    def colours() -> set[str]:
        found = [cluster.get(page.replace(MEDIA, "/media"), node).text for page in pages for node in NODES]
        assert len(found) == 90
        return {re.findall("red|blue|green|$", text)[0] for text in found}

    assert colours() == {"red"}
    for page in pages:
        editor.post(page, page, PICTURE.format("blue").encode())
    time.sleep(1)
    assert colours() == {"blue"}

    # One is away for a moment, and keeps its memory.
    node = a_varnish(cluster)
    cluster.engines("cut", str(node))
    try:
        for page in pages:
            editor.post(page, page, PICTURE.format("green").encode())
    finally:
        cluster.engines("plug", str(node))
    # Back means that its name has an address again, and that every node answers for every picture.
    wait_until(
        lambda: cluster.run("backend", "getent", "ahostsv4", "varnish").count("STREAM") == 3, within=30
    )
    time.sleep(1)
    assert "blue" not in colours()
    wait_until(lambda: colours() == {"green"}, within=20)


def a_varnish(cluster: Cluster) -> int:
    """A node with a Varnish and without the backend, which is on the first."""
    return max(node for node in cluster.slots().values() if node != 1)


def test_a_reload_loses_no_request_no_socket_and_no_copy(cluster: Cluster) -> None:
    """A changed file of Varnish and one of nginx."""
    changed = [REPO / "nginx/limits/timeouts.conf.template", REPO / "varnish/gzip.vcl"]
    texts = [file.read_text() for file in changed]
    client = cluster.stage_client(2)
    client.join()
    try:
        for file, text in zip(changed, texts, strict=True):
            file.write_text(f"{text}\n# changed\n")
        cluster.make("cluster-reload")
    finally:
        for file, text in zip(changed, texts, strict=True):
            file.write_text(text)
    for service, file in zip(("nginx", "varnish"), changed, strict=True):
        loaded = cluster.run(service, "cat", f"/etc/proscenium/current/{file.relative_to(REPO)}")
        assert loaded.endswith("# changed\n")
    client.send("TEXT", msg="still here")
    assert client.until("ANONTEXT")[-1]["text"] == "still here"
    client.close()


def test_files_that_do_not_load_are_used_nowhere(cluster: Cluster) -> None:
    file = REPO / "nginx/limits/timeouts.conf.template"
    text = file.read_text()
    try:
        file.write_text(f"{text}\nno_such_directive;\n")
        printed = cluster.make("cluster-reload", check=False)
    finally:
        file.write_text(text)
    assert 'unknown directive "no_such_directive"' in printed
    assert "every node has the old ones again" in printed
    for node in NODES:
        assert cluster.get("/stages/demo", node).status == 200


def test_the_capacity_of_two_nodes(cluster: Cluster) -> None:
    settings = ("NODES=2", "USERS=1", "SECONDS=1", "CLASSES=Reader")
    table = cluster.make("cluster-capacity", *settings)
    line = r"\| 2 \| 1 \| 1\.00 \| \d+ \| 1\.00 \| default carries at least 1 visitors\. \|"
    assert re.search(f"^{line}$", table, re.M), table
    assert cluster.nodes_of("nginx") == [1, 2, 3]  # every node serves again


def test_only_a_part_of_the_keys_moves() -> None:
    keys = [f"localhost{BENCH % number}" for number in range(1, FILES + 1)]
    two, three, four = (Ring(f"varnish-{slot}:8083" for slot in range(1, slots + 1)) for slots in (2, 3, 4))
    lost = [key for key in keys if three.server(key) == "varnish-3:8083"]
    assert 0.26 <= len(lost) / FILES <= 0.42
    assert lost == [key for key in keys if three.server(key) != two.server(key)]
    moved = [key for key in keys if three.server(key) != four.server(key)]
    assert {four.server(key) for key in moved} == {"varnish-4:8083"}
    assert 0.18 <= len(moved) / FILES <= 0.32


def test_three_nodes_are_worth_more_than_three_times_one(cluster: Cluster) -> None:
    """The ways side by side, in one run; see labs/cluster."""
    found = {}
    for cell in (
        *(("any", 3, 400), ("ring", 3, 400), ("ring", 3, 100)),
        *(("ring", 2, 100), ("ring", 1, 100), ("ring", 1, 400)),
    ):
        spread.prepare(cluster, SPREAD[cell])
        found[cell] = spread.measure(cluster, SPREAD[cell])
    rate = {cell: figures["requests_per_second"] for cell, figures in found.items()}
    assert rate["ring", 3, 400] / rate["ring", 1, 400] >= 4, rate
    assert rate["ring", 3, 400] / rate["any", 3, 400] >= 1.8, rate
    assert rate["ring", 2, 100] / rate["ring", 1, 100] >= 1.7, rate
    assert rate["ring", 3, 100] / rate["ring", 1, 100] >= 2.2, rate
    assert found["ring", 3, 400]["hit_ratio"] >= 0.97
    assert found["any", 3, 400]["hit_ratio"] <= 0.5


@pytest.mark.parametrize("name", EVENTS)
def test_what_clients_see_of_an_event(cluster: Cluster, name: str) -> None:
    seen = event.measure(cluster, EVENTS[name])
    told = {metric: value for metric, value in seen.items() if "@" not in metric}
    if name == "backend's node lost":  # nginx's last copies
        assert seen["failed_percent"] < 5, told
        return
    assert seen["failed"] == 0, told
    assert seen["healed_seconds"] <= 40, told
    assert seen["p99_milliseconds"] <= 1000, told


def test_nothing_is_left(cluster: Cluster) -> None:
    """The last test of this file: it stops the cluster."""
    bridge = subprocess.check_output(["ip", "address", "show", "docker0"], text=True)
    assert "The demo's engines and their data are removed." in cluster.make("cluster-down")
    name = f"{cluster.project}-cluster"
    assert name not in subprocess.check_output(["ip", "netns", "list"], text=True)
    assert f"h{cluster.net.replace('.', '')}" not in subprocess.check_output(["ip", "link"], text=True)
    assert f"/{name}" not in Path("/proc/mounts").read_text()
    assert subprocess.run(["pgrep", "-f", f"/run/{name}/"], capture_output=True).stdout == b""
    assert not Path(f"/run/{name}").exists()
    assert not Path(f"/var/lib/{name}").exists()
    assert subprocess.check_output(["ip", "address", "show", "docker0"], text=True) == bridge
