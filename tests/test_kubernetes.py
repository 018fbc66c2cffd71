"""extras/kubernetes: the API's schemas, and that settings and files are the stack's. Needs no cluster.

extras/kubernetes/proof tests it on a cluster.
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
FILES = (*BASE["resources"], "load-balancer/service.yaml", "ingress/ingress.yaml")
OBJECTS = [each for name in FILES for each in yaml.safe_load_all((FOLDER / name).read_text())]
PODS = {  # the pod's specification for each service
    each["metadata"]["name"]: each["spec"]["template"]["spec"]
    for each in OBJECTS
    if "template" in each.get("spec", {})
}
INGRESS = "extras/kubernetes/ingress"
# Files that no pod reads: they are for one machine, or for `make`.
UNREAD = r".*/tests/.*|.*\.md|nginx/(app|theatres|observe|edge)/.*|nginx/(loaded|command|reload)\.sh"
WHOLE = yaml.safe_load((REPO / "kustomization.yaml").read_text())
MAPS = WHOLE["configMapGenerator"]


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
    if service == "backend":
        return {*backend}
    return {each.name for each in SETTINGS if each.read_by(service)} | {"VARNISH_ADDRESS"}  # nginx's presets


def test_the_images_are_those_of_compose() -> None:
    services = yaml.safe_load((REPO / "hardened.yaml").read_text())["services"]
    for name, tag in ((each["name"], each["newTag"]) for each in WHOLE["images"][:2]):
        assert services[name]["image"] == f"${{{name.upper()}_IMAGE:-{name}:{tag}}}"


def test_every_setting_exists() -> None:
    for service in ("nginx", "varnish", "backend"):
        assert {each["name"] for each in container(service)["env"]} <= known(service)
    [settings] = [each["literals"] for each in MAPS if each["name"] == "settings"]
    assert {line.partition("=")[0] for line in settings} <= known("nginx")


SCRIPTS = {"nginx": "./scripts/settings.sh", "varnish": "./settings.sh"}


def addresses(service: str, script: str) -> dict[str, str]:
    """Return the addresses of nginx or Varnish, and of their upstreams, as their scripts make them."""
    values = {each["name"]: each.get("value", "varnish-0") for each in container(service)["env"]}
    values["PATH"] = os.environ["PATH"]
    done = ran("sh", "-euc", f". {script}; set", cwd=REPO / service, env=values)
    assert (done.returncode, done.stderr) == (0, "")
    return dict(re.findall(r"^([A-Z_]+_ADDRESS)='(.+)'$", done.stdout, re.M))


def test_every_address_is_a_service_with_that_port() -> None:
    ports = {
        each["metadata"]["name"]: {port["port"] for port in each["spec"]["ports"]}
        for each in OBJECTS
        if each["kind"] == "Service"
    }
    seen = set()
    purges = {each["name"]: each.get("value", "") for each in container("backend")["env"]}["UPSTAGE_PURGE"]
    for found in ({"UPSTAGE_PURGE": purges}, *(addresses(*each) for each in SCRIPTS.items())):
        for name, value in found.items():
            host, _, port = value.rpartition(":")
            service_name = (
                host.split()[-1].removesuffix(f".{BASE['namespace']}.svc.cluster.local").split(".")[-1]
            )
            if service_name in PODS:
                assert int(port) in ports[service_name], name
                seen.add(name)
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
    maps = {each["name"]: [Path(file) for file in each.get("files", [])] for each in MAPS}
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
    wanted = {f"{home}/{path}": file for file, path in read.items()}
    shared = {"nginx": "/etc/nginx", "varnish": "/etc"}
    if service in shared:
        wanted |= {f"{shared[service]}/{file}": file for file in tracked(f"starter/{service}/*.*")}
    assert mounted == wanted


def test_the_stack_fits_a_node_of_two_cores_beside_its_system() -> None:
    asked = Counter[str]()
    for each in OBJECTS:
        if "template" in each["spec"]:
            name = each["metadata"]["name"]
            millicores = container(name)["resources"]["requests"]["cpu"].removesuffix("m")
            asked[name] = int(millicores) * each["spec"].get("replicas", 1)  # a DaemonSet has one on a node
    assert asked.keys() == PODS.keys()
    assert sum(asked.values()) <= 1000


def test_a_node_is_ready_only_while_varnish_or_upstage_has_a_page_for_it() -> None:
    """nginx's own copy of the page does not count. (Varnish's copies: stale_24h_while_sick.vtc.)"""
    asked = container("nginx")["readinessProbe"]["httpGet"]
    headers = "".join(f"{each['name']}: {each['value']}\r\n" for each in asked["httpHeaders"])
    probe = f"GET {asked['path']} HTTP/1.1\r\n{headers}\r\n".encode()
    with NginxServer() as nginx:
        nginx.varnish.respond = lambda _: response("a page", x_accel_expires=f"@{int(time.time()) + 60}")
        nginx.start()
        assert nginx.request(asked["path"], port=nginx.load).status == 200
        for lost, expected in ((None, 200), (nginx.varnish, 200), (nginx.backend, 503)):
            if lost:
                lost.close()
            assert nginx.exchange(probe, nginx.load).status == expected


def test_an_overlay_chooses_images_settings_and_the_way_in(tmp_path: Path) -> None:
    """The overlay is the README's. Every pod is hardened."""
    command = ["kustomize", "build"] if shutil.which("kustomize") else ["kubectl", "kustomize"]
    if not shutil.which(command[0]):
        pytest.skip("there is neither kustomize nor kubectl")
    [overlay] = re.findall(r"<<'END'\n(.*?)^END", (FOLDER / "README.md").read_text(), re.M | re.S)
    base = os.path.relpath(REPO, tmp_path)
    overlay = overlay.replace("../proscenium", base).replace(
        "components: []", f"components: [{base}/{INGRESS}]"
    )
    (tmp_path / "kustomization.yaml").write_text(overlay)
    made = list(yaml.safe_load_all(check(*command, tmp_path)))
    for each in made:
        validate(each)
    [settings] = [each for each in made if each["metadata"]["name"].startswith("settings-")]
    assert settings["data"]["SERVER_NAMES"] == "stage.example.org"
    assert settings["data"]["TRUSTED_PROXIES"].startswith("10.0.0.0/8 ")
    pods = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in made
        if "template" in each.get("spec", {})
    }
    assert pods.keys() == PODS.keys()
    assert pods["backend"]["containers"][0]["image"] == "registry.example.org/backend:1"
    assert not [port for port in pods["nginx"]["containers"][0]["ports"] if "hostPort" in port]
    for spec in pods.values():
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
