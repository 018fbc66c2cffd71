"""extras/kubernetes: the API's schemas; images, settings and files are the stack's. Needs no cluster.

test_kubernetes_run.py runs it.
"""

import os
import re
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from nginx.tests.nginx_server import NginxServer
from proscenium.settings import SETTINGS
from tests.stack import REPO
from tests.support.checks import check, ran, tracked
from tests.support.origin import response

Json = dict[str, Any]

FOLDER = REPO / "extras" / "kubernetes"
BASE = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
FILES = (*BASE["resources"], "load-balancer.yaml")
OBJECTS = [each for name in FILES for each in yaml.safe_load_all((FOLDER / name).read_text())]
PODS = {  # of each service
    each["metadata"]["name"]: each["spec"]["template"]["spec"]
    for each in OBJECTS
    if "template" in each.get("spec", {})
}
IMAGES = {
    "BACKEND_IMAGE": "registry.example.org:5000/backend:1",
    "POLICYD_IMAGE": "registry.example.org/policyd@sha256:0",
}
# Files that no pod reads: they are for one machine, or for `make`.
UNREAD = r".*/tests/.*|.*/README\.md|nginx/(site|theatres|observe|edge)/.*|nginx/(loaded|command|reload)\.sh"


def kustomization(**environment: str) -> str:
    """What kustomization.sh prints."""
    named = {"PATH": os.environ["PATH"], **IMAGES, **environment}
    return check("sh", FOLDER / "kustomization.sh", env=named)


def validate(each: Json) -> None:
    kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)


def container(service: str) -> Json:
    [only] = PODS[service]["containers"]
    return only  # type: ignore[no-any-return]


@pytest.mark.parametrize("each", OBJECTS, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_the_api_knows_each_object(each: Json) -> None:
    validate(each)


def known(service: str) -> set[str]:
    backend = re.findall(r'"(UPSTAGE_[A-Z_]+)"', (REPO / "backend/src/upstage/settings.py").read_text())
    return {*backend} if service == "backend" else {each.name for each in SETTINGS if each.words(service)}


def test_every_setting_exists() -> None:
    for service in ("nginx", "varnish", "backend"):
        assert {each["name"] for each in container(service)["env"]} <= known(service)
    maps = yaml.safe_load(kustomization())["configMapGenerator"]
    [settings] = [each["literals"] for each in maps if each["name"] == "settings"]
    assert {line.partition("=")[0] for line in settings} <= known("nginx")


@pytest.mark.parametrize(
    ("service", "script"), [("nginx", "./scripts/settings.sh"), ("varnish", "./settings.sh")]
)
def test_the_service_accepts_its_settings(service: str, script: str) -> None:
    values = {each["name"]: each.get("value", "varnish-0") for each in container(service)["env"]}
    values["PATH"] = os.environ["PATH"]
    done = ran("sh", "-euc", f". {script}", cwd=REPO / service, env=values)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_address_is_a_service_with_that_port() -> None:
    ports = {
        each["metadata"]["name"]: {port["port"] for port in each["spec"]["ports"]}
        for each in OBJECTS
        if each["kind"] == "Service"
    }
    seen = set()
    for service in PODS:
        for each in container(service).get("env", []):
            host, _, port = each.get("value", "").rpartition(":")
            if port.isdigit() and host and not host.startswith("haproxy"):
                name = host.split()[-1].removesuffix(f".{BASE['namespace']}.svc.cluster.local").split(".")[-1]
                assert int(port) in ports[name], each["name"]
                seen.add(each["name"])
    assert len(seen) > 6


@pytest.mark.parametrize(
    ("service", "home", "files"),
    [
        ("nginx", "/etc/nginx/proscenium", "nginx/*"),
        ("varnish", "/etc/varnish", "varnish/*"),
        ("policyd", "/etc/policyd", "policyd/[fh]*"),
    ],
)
def test_each_pod_has_the_files_that_it_reads(service: str, home: str, files: str) -> None:
    made = yaml.safe_load(kustomization())["configMapGenerator"]
    maps = {each["name"]: [Path(file) for file in each.get("files", [])] for each in made}
    volumes = {each["name"]: each.get("configMap", {}).get("name") for each in PODS[service]["volumes"]}
    mounted = {}  # path in the container, and in the repository
    for mount in container(service)["volumeMounts"]:
        for file in maps.get(volumes[mount["name"]], []):
            if "subPath" not in mount:
                mounted[f"{mount['mountPath']}/{file.name}"] = str(file)
            elif mount["subPath"] == file.name:
                mounted[mount["mountPath"]] = str(file)
    read = {
        file: Path(file).relative_to(service) for file in tracked(files) if not re.fullmatch(UNREAD, file)
    }
    if service == "varnish":
        read["starter/varnish/analytics.vcl"] = Path("analytics.vcl")
    assert mounted == {f"{home}/{path}": file for file, path in read.items()}


def test_the_images_are_those_of_compose_and_have_no_other_place() -> None:
    made = {each["name"]: each["newName"] for each in yaml.safe_load(kustomization())["images"]}
    pinned = dict(re.findall(r"\$\{(\w+_IMAGE):-([^$}]+)}", (REPO / "hardened.yaml").read_text()))
    assert made == {name: pinned[name] for name in ("NGINX_IMAGE", "VARNISH_IMAGE")} | IMAGES
    assert {container(service)["image"] for service in PODS} == made.keys()


def test_a_missing_image_is_one_line() -> None:
    said = ran("sh", FOLDER / "kustomization.sh", env={"PATH": os.environ["PATH"]})
    assert (said.returncode != 0, said.stdout, said.stderr.count("\n")) == (True, "", 1)


def test_the_stack_fits_a_node_of_two_cores_beside_its_system() -> None:
    asked = Counter[str]()
    for each in OBJECTS:
        if "template" in each["spec"]:
            name = each["metadata"]["name"]
            millicores = container(name)["resources"]["requests"]["cpu"].removesuffix("m")
            asked[name] = int(millicores) * each["spec"].get("replicas", 1)  # a DaemonSet: on this node
    assert asked.keys() == PODS.keys()
    assert sum(asked.values()) <= 1000


def test_dns_is_allowed_as_each_kind_of_cluster_has_it() -> None:
    [back] = [each for each in OBJECTS if each["metadata"]["name"] == "back"]
    _, dns = back["spec"]["egress"]
    pods, node = dns["to"]
    assert pods["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "kube-system"}
    assert node == {"ipBlock": {"cidr": "169.254.20.10/32"}}  # NodeLocal DNSCache


def test_the_load_balancer_leads_to_the_node_s_own_ports() -> None:
    [balancer] = [each for each in OBJECTS if each["spec"].get("type") == "LoadBalancer"]
    asked = {port["name"]: port["port"] for port in balancer["spec"]["ports"]}
    assert asked == {port["name"]: port["hostPort"] for port in container("nginx")["ports"]}
    made = yaml.safe_load(kustomization(RESOURCES="extras/kubernetes/load-balancer.yaml"))
    assert made["resources"] == ["extras/kubernetes", "extras/kubernetes/load-balancer.yaml"]
    assert yaml.safe_load(kustomization())["resources"] == ["extras/kubernetes"]


def test_a_node_is_ready_only_while_a_varnish_has_a_page_for_it() -> None:
    """nginx's own copy of this page says nothing about the others. (Varnish: stale_24h_while_sick.vtc.)"""
    asked = container("nginx")["readinessProbe"]["httpGet"]
    headers = "".join(f"{each['name']}: {each['value']}\r\n" for each in asked["httpHeaders"])
    probe = f"GET {asked['path']} HTTP/1.1\r\n{headers}\r\n".encode()
    with NginxServer() as nginx:
        nginx.varnish.answer = lambda _: response("a page", x_accel_expires=f"@{int(time.time()) + 60}")
        nginx.start()
        for expected in (200, 503):
            assert nginx.request(asked["path"], port=nginx.load).status == 200
            assert nginx.exchange(probe, nginx.load).status == expected
            nginx.varnish.close()


def kustomize(folder: Path) -> list[Json]:
    """The objects that kustomize makes of that folder."""
    command = ["kustomize", "build"] if shutil.which("kustomize") else ["kubectl", "kustomize"]
    if not shutil.which(command[0]):
        pytest.skip("there is neither kustomize nor kubectl")
    return list(yaml.safe_load_all(check(*command, folder)))


def test_kustomize_makes_hardened_pods_with_versioned_files(tmp_path: Path) -> None:
    for name in tracked("nginx", "varnish", "starter/varnish", "policyd", "extras/kubernetes"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPO / name, tmp_path / name)
    (tmp_path / "kustomization.yaml").write_text(kustomization(SERVER_NAMES="a.example b.example"))
    made = kustomize(tmp_path)
    for each in made:
        validate(each)
        assert each["metadata"]["namespace"] == BASE["namespace"]
    maps = {each["metadata"]["name"]: each["data"] for each in made if each["kind"] == "ConfigMap"}
    [settings] = [data for name, data in maps.items() if name.startswith("settings-")]
    assert settings["SERVER_NAMES"] == "a.example b.example"
    specs = [each["spec"]["template"]["spec"] for each in made if "template" in each.get("spec", {})]
    assert len(specs) == len(PODS)
    for spec in specs:
        named = [volume["configMap"]["name"] for volume in spec["volumes"] if "configMap" in volume]
        assert set(named) <= maps.keys()
        assert not spec["automountServiceAccountToken"]
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        [only] = spec["containers"]
        assert only["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert only["resources"]["limits"]["memory"]
        assert {"readinessProbe", "livenessProbe"} <= only.keys()
        assert "_IMAGE" not in only["image"]
