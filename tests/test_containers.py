"""What is only true of containers: how they are locked up, and who can reach whom."""

import json
import socket
import subprocess
import time
import uuid
from functools import partial

import pytest

from house import REPO, House, eventually
from stage_client import RawStage, WebStage, enter

pytestmark = pytest.mark.parametrize("house", ["containers"], indirect=True, scope="session")
SERVICES = ("nginx", "varnish", "backend", "policyd", "locust")


def inspect(house: House, service: str) -> dict:  # type: ignore[type-arg]
    container = house.compose("ps", "-q", service).strip()
    return json.loads(subprocess.check_output(["docker", "inspect", container], text=True))[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("service", SERVICES)
def test_hardened(house: House, service: str) -> None:
    """The running container, not the file: an engine may ignore what it does not know."""
    found = inspect(house, service)
    host = found["HostConfig"]
    assert found["State"]["Health"]["Status"] == "healthy"
    assert host["ReadonlyRootfs"]
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert not host["Privileged"]
    assert any(option.startswith("no-new-privileges") for option in host["SecurityOpt"])
    assert 0 < host["PidsLimit"] <= 512
    assert 0 < host["Memory"] <= 1 << 30
    assert host["Init"]
    assert host["LogConfig"]["Config"]["max-size"]
    uids = house.compose("exec", "-T", service, "sh", "-c", "cat /proc/[0-9]*/status | grep ^Uid:").split(
        "\n"
    )
    assert all(line.split()[1] != "0" for line in uids if line), uids
    with pytest.raises(AssertionError, match=r"(?i)read-only"):
        house.compose("exec", "-T", service, "sh", "-c", "touch /proof")


def test_plain_compose_commands_work(house: House) -> None:
    """They do not have the variables of `make up`; without a registry an override tells them the images."""
    variables = {name: value for name, value in house.environment.items() if not name.endswith("_IMAGE")}

    def compose(*arguments: str) -> str:
        return subprocess.check_output(["docker", "compose", *arguments], cwd=REPO, env=variables, text=True)

    before = compose("ps", "-q")
    compose("up", "-d")
    assert compose("ps", "-q") == before
    assert "locust" in compose(
        "run", "--rm", "-T", "--no-deps", "--entrypoint", "locust", "locust", "--version"
    )


def test_only_the_loopback_is_published(house: House) -> None:
    for service in SERVICES:
        for bindings in inspect(house, service)["NetworkSettings"]["Ports"].values():
            for binding in bindings or []:
                assert binding["HostIp"] == "127.0.0.1", service
                assert int(binding["HostPort"]) in house.ports.values(), service


REACHES = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=2).close()
except OSError:
    sys.exit("exit: nobody there")
"""


@pytest.mark.parametrize(
    ("source", "host", "port", "reached"),
    [
        ("locust", "nginx", 8000, True),
        ("locust", "backend", 8081, False),
        ("locust", "varnish", 8080, False),
        ("locust", "policyd", 3000, False),
        ("backend", "policyd", 3000, True),
        ("backend", "locust", 8089, False),
    ],
)
def test_networks(house: House, source: str, host: str, port: int, reached: bool) -> None:
    def connect() -> None:
        # A name that is not on the network is looked for outside, where nobody answers.
        soon = "RES_OPTIONS=timeout:1 attempts:1"
        house.compose("exec", "-T", "-e", soon, source, "python", "-c", REACHES, host, str(port))

    if reached:
        connect()
    else:
        with pytest.raises(AssertionError, match="exit"):
            connect()


@pytest.mark.parametrize("source", ["backend", "locust"])
def test_there_is_no_way_out(house: House, source: str) -> None:
    """Not by name, as above, and not by address either: nginx's, on the network that is published."""
    networks = inspect(house, "nginx")["NetworkSettings"]["Networks"]
    edge = networks[f"{house.project}_edge"]["IPAddress"]
    with pytest.raises(AssertionError, match="exit"):
        house.compose("exec", "-T", source, "python", "-c", REACHES, edge, "8080")


@pytest.mark.parametrize("frozen", ["varnish", "backend"])
def test_a_frozen_tier_is_no_reason_to_wait(house: House, frozen: str) -> None:
    """A stopped process still takes connections. What was asked for before keeps coming, the rest is 503."""
    known = "/media/bench/tiny.html"
    for _ in range(3):  # into Varnish, then into nginx
        whole = house.get(known)
    house.compose("pause", frozen)
    try:
        for path, status in ((known, 200), (f"/stages/{uuid.uuid4().hex}", 503)):
            started = time.monotonic()
            answer = house.get(path)
            assert (answer.status_code, time.monotonic() - started < 6) == (status, True), path
            if status == 200:
                assert answer.content == whole.content
            else:
                assert answer.headers["Retry-After"] == "5"
    finally:
        house.compose("unpause", frozen)
        eventually(lambda: house.get("/admin/id").status_code == 200, within=60)
        # Until then the engine starts nothing that depends on it: it could not look after it meanwhile.
        eventually(lambda: inspect(house, frozen)["State"]["Health"]["Status"] == "healthy", within=60)


def test_a_dead_varnish_is_answered_by_our_own_page(house: House) -> None:
    house.compose("stop", "varnish")
    try:
        answer = house.get(f"/stages/{uuid.uuid4().hex}")
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "5"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "nginx" not in answer.text
    finally:
        house.compose("start", "varnish")
        eventually(lambda: house.get("/").status_code == 200)


def test_nginx_stops_while_the_stage_is_in_use(house: House) -> None:
    """The image's own signal would wait for the stage socket, until the engine kills nginx after 10 s."""
    container = inspect(house, "nginx")
    image = subprocess.check_output(["docker", "image", "inspect", container["Image"]], text=True)
    assert json.loads(image)[0]["Config"]["StopSignal"] == "SIGQUIT"
    stage = RawStage(house.ports["SWF_PORT"])
    enter(stage)
    house.compose("stop", "nginx")
    try:
        stopped = subprocess.check_output(["docker", "inspect", container["Id"]], text=True)
        assert json.loads(stopped)[0]["State"]["ExitCode"] == 0  # killed: 137
    finally:
        stage.close()
        house.compose("up", "-d", "--no-deps", "--wait", "nginx")


def every_door_is_open(house: House) -> bool:
    """Every topology answers, fetching anew; so do the stage by both its doors, and the policy."""
    for host in ("localhost", "classic.localhost", "nginx.localhost", "static.localhost"):
        assert house.get(f"/admin/id?{uuid.uuid4().hex}", host).status_code == 200, host
    for stage in (RawStage(house.ports["SWF_PORT"]), WebStage(house.ports["HTTP_PORT"])):
        enter(stage)
        stage.close()
    with socket.create_connection(("127.0.0.1", house.ports["POLICY_FILE_PORT"]), timeout=5) as policy:
        policy.sendall(b"<policy-file-request/>\0")
        assert b"cross-domain-policy" in policy.recv(4096)
    return True


def squat(network: str, address: str, image: str) -> list[str]:
    """Start containers on a network until one of them has that address; all of them."""
    squatters = []
    for _ in range(16):
        run = ["docker", "run", "-d", "--rm", "--network", network, "--entrypoint", "sleep", image, "60"]
        squatters.append(subprocess.check_output(run, text=True).strip())
        where = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        if address in subprocess.check_output(["docker", "inspect", "-f", where, squatters[-1]], text=True):
            return squatters
    raise AssertionError(f"{address} cannot be had on {network}")


@pytest.mark.parametrize("service", ["nginx", "varnish", "backend", "policyd"])
def test_a_recreated_container_is_found_under_its_new_address(house: House, service: str) -> None:
    others = {name: inspect(house, name)["State"]["StartedAt"] for name in SERVICES if name != service}
    before = inspect(house, service)["NetworkSettings"]["Networks"]
    image = inspect(house, "backend")["Image"]
    squatters: list[str] = []
    house.compose("rm", "--stop", "--force", service)
    try:
        for network, found in before.items():
            squatters += squat(network, found["IPAddress"], image)
        house.compose("up", "-d", "--no-deps", "--wait", service)
        after = inspect(house, service)["NetworkSettings"]["Networks"]
        for network, found in before.items():
            assert after[network]["IPAddress"] != found["IPAddress"]
        eventually(lambda: every_door_is_open(house), within=15)
    finally:
        subprocess.run(["docker", "kill", *squatters], stdout=subprocess.DEVNULL)
    assert {name: inspect(house, name)["State"]["StartedAt"] for name in others} == others


def who_answers(house: House, host: str = "localhost") -> str:
    """The service whose log has a request that we make."""
    marker = f"/nowhere-{uuid.uuid4().hex}"
    assert house.get(marker, host).status_code == 404
    for _ in range(20):
        for service in ("backend", "mirror", "second"):
            if marker in house.compose("--profile", "*", "logs", "--tail", "50", service):
                return service
        time.sleep(0.1)
    raise AssertionError("nobody has it in the log")


WITH_MIRROR = ("localhost", "nginx.localhost", "static.localhost")


def answers(service: str, house: House, host: str) -> bool:
    return who_answers(house, host) == service


def test_the_mirror_takes_over_and_gives_back(house: House) -> None:
    """As at the festival: the show moves to the mirror, with what was said, and returns."""
    profiles = house.knobs["COMPOSE_PROFILES"]
    house.knobs["COMPOSE_PROFILES"] = profiles + ",mirror"
    try:
        house.make("up")
        assert who_answers(house) == "backend"
        line = f"said before the failure {uuid.uuid4().hex}"
        stage = RawStage(house.ports["SWF_PORT"])
        enter(stage)
        stage.send("TEXT", msg=line)
        stage.until("ANONTEXT")
        stage.close()
        house.compose("stop", "backend")
        for host in WITH_MIRROR:
            eventually(partial(answers, "mirror", house, host), within=15)

        def remembers() -> bool:
            moved = RawStage(house.ports["SWF_PORT"])
            try:
                return any(line in frame.get("chat", "") for frame in enter(moved))
            finally:
                moved.close()

        eventually(remembers, within=15)
        web = WebStage(house.ports["HTTP_PORT"])
        enter(web)
        web.close()

        house.compose("start", "backend")
        for host in WITH_MIRROR:
            eventually(partial(answers, "backend", house, host), within=30)
    finally:
        house.knobs["COMPOSE_PROFILES"] = profiles
        house.compose("start", "backend")
        house.make("up")
        eventually(lambda: every_door_is_open(house), within=30)


def test_up_with_fewer_profiles_takes_them_back(house: House) -> None:
    """Also when the server was killed and has left its sockets."""
    profiles = house.knobs["COMPOSE_PROFILES"]
    house.knobs["COMPOSE_PROFILES"] = profiles + ",mirror"
    try:
        house.make("up")
        assert "mirror" in house.compose("exec", "-T", "varnish", "cat", "/tmp/varnish/profiles.vcl")
        house.compose("kill", "mirror")
    finally:
        house.knobs["COMPOSE_PROFILES"] = profiles
        house.make("up")
    assert house.compose("--profile", "*", "ps", "-aq", "mirror") == ""
    assert "mirror" not in house.compose("exec", "-T", "varnish", "cat", "/tmp/varnish/profiles.vcl")
    assert "mirror" not in house.compose("exec", "-T", "varnish", "ls", "/run/proscenium")
    assert {"second", "webcam", "inspect"} <= set(house.compose("ps", "--services").split())


def test_the_second_theatre_is_another_one(house: House) -> None:
    house.compose("exec", "-T", "second", "upstage", "stage", "add", "elsinore", "--name", "Elsinore")
    eventually(lambda: house.get("/stages/elsinore", "second.localhost").status_code == 200, within=5)
    assert house.get("/stages/elsinore").status_code == 404
    assert who_answers(house, "second.localhost") == "second"
    assert who_answers(house) == "backend"
    assert house.get("/media/bench/tiny.html", "second.localhost").status_code == 200
    # Only there is this stage, so whoever takes a seat on it has come through the right door.
    for line in (
        WebStage(house.ports["HTTP_PORT"], "second.localhost"),
        RawStage(house.ports["SECOND_SWF_PORT"]),
    ):
        enter(line, stage="elsinore")
        line.close()


def test_the_log_of_the_inspector_names_the_real_client(house: House) -> None:
    marker = f"/nowhere-{uuid.uuid4().hex}"
    house.get(marker, headers={"X-Forwarded-For": "192.0.2.66"})

    def lines(service: str) -> list[str]:
        log = house.compose("logs", "--tail", "50", service).splitlines()
        return [line for line in log if marker in line]

    # Neither writes a line at once.
    eventually(lambda: lines("inspect"))
    eventually(lambda: lines("nginx"))
    [inspected] = lines("inspect")
    client = lines("nginx")[0].split("|")[1].split()[0]
    assert client in inspected
    assert "192.0.2.66" not in inspected
