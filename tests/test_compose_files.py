"""compose.yaml and extras/: hardening, images, ports and settings, read without starting anything."""

import os
import re
from typing import Any

import pytest

import web_password
from proscenium.settings import COMPARISON, FOR_USERS, SETTINGS
from tests.stack import REPO
from tests.support.checks import check, tracked
from tests.support.compose import EXTRAS, MACHINES, merged, theatre_files

Json = dict[str, Any]


@pytest.fixture(scope="module")
def compose() -> None:
    """Skip a test that needs Compose, which comes with the engine."""
    if os.environ.get("ENGINE") == "no":
        pytest.skip("no container engine can run here")


@pytest.fixture(scope="module")
def composed(compose: None) -> Json:
    names = {
        "COMPOSE_PROJECT_NAME": "x",
        "BACKEND_IMAGE": "",
        "POLICYD_IMAGE": "",
        "THEATRES": "second third",
    }
    return merged({**os.environ, **names}, "compose.yaml", *EXTRAS, *theatre_files())


OBSERVE = "extras/observe/compose.yaml"
RING = "extras/ring/compose.yaml extras/observe/compose.yaml extras/observe/ring.yaml"
OTLP = "extras/observe/compose.yaml extras/observe/otlp.yaml"
EDGE = "extras/edge/compose.yaml extras/edge/other.yaml"


@pytest.mark.parametrize("extra", ["", *EXTRAS, "theatres", EDGE, RING, OTLP])
def test_compose_accepts_each_extra_without_a_warning(compose: None, extra: str) -> None:
    chosen = theatre_files() if extra == "theatres" else extra.split()
    files = [f"--file={file}" for file in ("compose.yaml", *chosen)]
    assert check("docker", "compose", *files, "config", "-q", env=os.environ | MACHINES) == ""


def test_nginx_and_locust_learn_whether_other_machines_reach_them(compose: None) -> None:
    """If they do, the comparison names do not answer, and Locust's page requires a password, which a new
    container finds where the last one has left it (loadtest/tests)."""
    services = merged(os.environ | {"BIND_ADDR": "[::]"}, "compose.yaml")["services"]
    for name in ("nginx", "locust"):
        assert services[name]["environment"]["BIND_ADDR"] == "[::]"
    kept = {mount["target"]: mount["type"] for mount in services["locust"]["volumes"]}
    assert kept[str(web_password.KEPT_IN.parent)] == "volume"


def test_every_service_is_hardened(composed: Json) -> None:
    for name, service in composed["services"].items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not re.match(r"(0|root)\b", service["user"]), name
        assert 0 < service["pids_limit"] <= 512, name
        assert 0 < int(service["mem_limit"]) <= 1 << 30, name
        assert service["init"], name
        assert service["restart"] == "unless-stopped", name
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}, name
        assert service["healthcheck"]["test"], name
        assert service["healthcheck"]["start_period"], name
        assert service["environment"]["no_proxy"] == service["environment"]["NO_PROXY"] == "*", name
        assert not service.get("privileged"), name
        assert "cap_add" not in service, name
        for port in service.get("ports", []):
            assert port["host_ip"] == "127.0.0.1", name
    assert composed["networks"]["back"]["internal"]


def test_both_files_with_the_offline_names_agree(compose: None) -> None:
    """One file is for the scripts, one for plain Compose commands; with either, no official image is left."""
    ours = {name: value for name, value in os.environ.items() if not name.endswith("_IMAGE")}
    offline = dict(re.findall(r"^(\w+)=(.*)$", (REPO / "offline" / "images.env").read_text(), re.M))

    def services(environment: dict[str, str], *files: str) -> dict[str, Any]:
        return merged(environment, "compose.yaml", *files)["services"]  # type: ignore[no-any-return]

    assert services(ours | offline) == services(ours, "offline/compose.yaml")
    official = services(ours, *EXTRAS, *theatre_files())
    for name, service in services(ours | offline, *EXTRAS, *theatre_files()).items():
        assert "build" in service or service["image"] != official[name]["image"], name
        assert "build" not in service or service["build"]["args"] != official[name]["build"]["args"], name


def test_the_table_of_settings_has_every_published_port() -> None:
    """From this table `make up` knows each port, and the file that publishes it."""
    found = {
        name: (default, file)
        for file in tracked("compose.yaml", "extras/*/*.yaml")
        for name, default in re.findall(r"127[.]0[.]0[.]1}?:\$\{(\w+):-([\d-]+)\}", (REPO / file).read_text())
    }
    published = {
        each.name: (each.default, "compose.yaml" if each.published is True else each.published)
        for each in SETTINGS
        if each.published
    }
    assert found == published


def test_each_copy_of_the_stack_has_images_of_its_own(composed: Json) -> None:
    built = {name: service["image"] for name, service in composed["services"].items() if "build" in service}
    backends = dict.fromkeys(("backend", "camera", "exporter", "mirror", "second", "third"), "x-backend")
    assert built == {**backends, "policyd": "x-policyd"}


def test_nginx_is_stopped_by_sigterm(composed: Json) -> None:
    """SIGQUIT, which is in the official image, waits for every open WebSocket and stage socket."""
    services = composed["services"]
    image = services["nginx"]["image"]
    signals = {name: each.get("stop_signal") for name, each in services.items() if each.get("image") == image}
    assert signals == dict.fromkeys(("nginx", "webcam", "app-relay", "relay"), "SIGTERM")


def test_only_tmp_is_a_tmpfs_and_it_has_no_owner(composed: Json) -> None:
    """Podman rejects an owner (`unknown mount option "uid=101"`). runc before 1.1.8 gives a mount the mode of
    the folder below it when a container is started again (runc#3911); every image has /tmp open to all."""
    for name, service in composed["services"].items():
        for mount in service.get("tmpfs", []):
            assert re.match(r"/tmp:", mount), name
            assert not re.search(r"[ug]id=", mount), name


def test_no_argument_of_a_health_check_has_white_space(composed: Json) -> None:
    """Podman splits a check's arguments at white space (podman#26519)."""
    for name, service in composed["services"].items():
        kind, *arguments = service["healthcheck"]["test"]
        assert kind == "CMD", name
        assert not [argument for argument in arguments if re.search(r"\s", argument)], name


def test_a_container_keeps_the_health_check_that_it_was_made_with(composed: Json) -> None:
    """Between `git pull` and `make up`, a mounted file stays as it was; one in a mounted folder does not."""
    for name, service in composed["services"].items():
        mounts = {mount["target"]: mount for mount in service["volumes"]}
        for script in (part for part in service["healthcheck"]["test"] if part.endswith(".sh")):
            assert (REPO / mounts[script]["source"]).is_file(), (name, script)


def test_theatres_have_data_of_their_own_and_the_proxies_know_them(composed: Json) -> None:
    services = composed["services"]

    def mounted(service: str) -> dict[str, str]:
        return {mount["target"]: mount["source"] for mount in services[service]["volumes"]}

    for name in ("second", "third"):
        assert mounted(name)["/var/lib/upstage"] == f"{name}-data"
        assert mounted(name)["/srv/media"] == mounted("nginx")[f"/srv/theatres/{name}"] == f"{name}-media"
        sockets = mounted("nginx")[f"/run/proscenium/{name}"]
        assert mounted(name)["/run/upstage"] == sockets == f"{name}-sockets"
        assert f"{name}.localhost" in services["nginx"]["networks"]["load"]["aliases"]
    for service, prefix in (("nginx", ""), ("varnish", ""), ("backend", "UPSTAGE_"), ("locust", "LOADTEST_")):
        assert services[service]["environment"][f"{prefix}THEATRES"] == "second third"
    published = {port["published"]: port["target"] for port in services["nginx"]["ports"]}
    assert {"7231": 7231, "7232": 7232}.items() <= published.items()


def test_only_the_exporter_sees_the_host_and_that_is_the_kernels_counters(composed: Json) -> None:
    """Every other mount is a volume, or a folder of this checkout."""
    host = {
        (name, mount["source"], mount.get("read_only"))
        for name, service in composed["services"].items()
        for mount in service.get("volumes", [])
        if mount["type"] == "bind" and not mount["source"].startswith(str(REPO))
    }
    assert host == {("exporter", "/sys/fs/cgroup", True)}


def test_the_page_with_the_metrics_is_for_this_machine(compose: None) -> None:
    """Prometheus has no password: whatever BIND_ADDR is, other machines do not reach it."""
    services = merged(os.environ | {"BIND_ADDR": "0.0.0.0"}, "compose.yaml", OBSERVE)["services"]
    published = {port["target"]: port["host_ip"] for port in services["nginx"]["ports"]}
    assert published.pop(9090) == "127.0.0.1"
    assert set(published.values()) == {"0.0.0.0"}
    assert not any("ports" in services[name] for name in ("exporter", "prometheus", "varnishstat"))


def test_the_exporter_knows_the_control_group_of_each_service(compose: None) -> None:
    names = {**os.environ, "COMPOSE_PROJECT_NAME": "x"}
    services = merged(names, "compose.yaml", *RING.split())["services"]
    assert {name: service["cgroup_parent"] for name, service in services.items()} == {
        name: f"x-{name}.slice" for name in services["exporter"]["environment"]["SERVICES"].split()
    }


def test_only_who_listens_may_write_where_sockets_are(composed: Json) -> None:
    """So no service can replace the socket of another."""
    writers: dict[str, set[str]] = {}
    for name, service in composed["services"].items():
        for mount in service.get("volumes", []):
            if mount["source"].endswith("sockets") and not mount.get("read_only"):
                writers.setdefault(mount["source"], set()).add(name)
    alone = ("second", "third", "varnish", "varnish-2", "varnish-3", "policyd", "app-relay", "exporter")
    assert writers == {"sockets": {"backend", "mirror"}, **{f"{name}-sockets": {name} for name in alone}}


def test_only_upstage_and_locust_have_the_account_for_load_tests(composed: Json) -> None:
    """(backend/tests/test_accounts.py and, by the player's rows, test_load.py show that it works.)"""
    services = composed["services"].items()
    have = {name for name, each in services for mount in each["volumes"] if mount["source"] == "player"}
    assert have == {"backend", "camera", "mirror", "second", "third", "locust", "locust-worker"}


def test_no_theatre_can_take_the_name_of_a_service_or_a_site(composed: Json) -> None:
    script = (REPO / "nginx" / "scripts" / "theatres.sh").read_text()
    [reserved] = re.findall(r'case "( upstage .*?)" in', script, re.S)
    sites = "".join(path.read_text() for path in (REPO / "nginx" / "sites").iterdir())
    sites += (REPO / "nginx" / "scripts" / "render.sh").read_text()
    taken = {*composed["services"], *re.findall(r"([a-z]+)\.localhost", sites)} - {"second", "third"}
    assert len(taken) > 8
    assert taken <= {*re.findall(r"[\w-]+", reserved), *COMPARISON}


def test_every_image_and_host_port_is_a_setting_and_documented() -> None:
    source = "".join((REPO / name).read_text() for name in ("compose.yaml", "hardened.yaml", *EXTRAS))
    for line in source.splitlines():
        if re.match(r"\s+image:", line):
            assert "_IMAGE:-" in line, line
        if re.match(r'\s+- ".*:\d+"$', line):
            assert re.search(r'"(\$\{BIND_ADDR:-127\.0\.0\.1}|127\.0\.0\.1):\$\{\w+_PORT:-\d+}:\d+', line), (
                line
            )
    defaults = {each.name: each.default if each.example is None else each.example for each in FOR_USERS}
    for name, default in re.findall(r"\$\{(\w+):-([^}]*)}", source):
        default = re.sub(r"/dev/null|\$.*", "", default)  # no file, and what Compose computes
        if name.endswith("_IMAGE"):
            default = ""  # only compose.yaml names the version
        if (name, default) == ("LOADTEST_WORKERS", "1"):
            continue  # `replicas` must be a number; empty means one
        assert (name, default) in defaults.items()


@pytest.mark.parametrize("service", ["nginx", "varnish"])
def test_a_service_gets_every_setting_that_it_reads(composed: Json, service: str) -> None:
    read = {setting.name for setting in FOR_USERS if setting.read_by(service)}
    assert read <= composed["services"][service]["environment"].keys()


def test_the_version_of_an_image_is_written_once() -> None:
    """The starter, which people copy without the rest, repeats it."""
    copied = (REPO / "starter" / "compose.yaml").read_text()
    texts = {name: (REPO / name).read_text(errors="replace") for name in tracked(":!*.md", ":!starter")}
    image = r"\$\{\w+_IMAGE:-([^$}]+)}"
    core = re.findall(image, texts["hardened.yaml"] + texts["compose.yaml"])
    assert set(core) == set(re.findall(image, copied))
    for file, images in {"hardened.yaml": 3, "compose.yaml": 1, "extras/observe/compose.yaml": 1}.items():
        pinned = re.findall(image, texts[file])
        assert len(pinned) == images
        for one in pinned:
            assert [name for name, text in texts.items() for _ in range(text.count(one))] == [file]


def test_locust_reaches_each_site_by_its_name(composed: Json) -> None:
    names = {f"{name}.localhost" for name in ("upstage", *COMPARISON, "direct")}
    assert names <= {*composed["services"]["nginx"]["networks"]["load"]["aliases"]}


def test_native_mode_sets_every_address() -> None:
    """Otherwise a default for containers would remain, which tests that do not use it would not notice."""

    def names(pattern: str, *files: str) -> set[str]:
        return {name for file in files for name in re.findall(pattern, (REPO / file).read_text(), re.M)}

    settings = {setting.name for setting in SETTINGS if setting not in FOR_USERS}
    # These are for containers, for several caches, or for more clients than the memory limits allow.
    others = {"NAME_SERVERS", "OBSERVE_LOG", "CONNECT_TIMEOUT", "VARNISH_NAME", "CDN", "MACHINES"}
    others |= {"BACKEND_CONNECTIONS"}
    native = names(r"^([A-Z_]+)=", "native/addresses.env", *tracked("extras/*/native.env"))
    assert settings - others == native & settings
