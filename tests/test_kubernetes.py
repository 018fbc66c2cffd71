"""docs/kubernetes: kustomize renders both trees, the schemas accept them, and they agree with compose.yaml.

Nothing here talks to a cluster.
"""

import base64
import functools
import io
import re
import shutil
import sys
import tarfile
import textwrap
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from stack import REPO
from support.checks import check, tracked

Part = dict[str, Any]

FOLDER = Path("docs/kubernetes")
VERSIONS = ("1.25", "1.37")  # the oldest and the newest that README.md names
WORKLOADS = ("DaemonSet", "StatefulSet", "Deployment")
DOMAIN = ".proscenium.svc.cluster.local"
ANNOTATION = 256 << 10  # bytes: `kubectl apply` keeps the whole object in one
OF_COMPOSE = {
    "locust-worker": "locust"
}  # workload: the service that it is like, unless both have the same name
LOCUSTS = {"locust", "locust-worker"}
LOAD_PORTS = {17230, 13000, 8081}  # besides LOCUST_HOST's (loadtest/options.py)

# Each validation would read the megabyte of definitions again.
kubernetes_validate.utils.schema_contents = functools.cache(kubernetes_validate.utils.schema_contents)


class Tree:
    """What kustomize makes of one folder."""

    def __init__(self, rendered: str) -> None:
        self.objects: list[Part] = [part for part in yaml.safe_load_all(rendered) if part]
        self.workloads = {name: part for kind in WORKLOADS for name, part in self.named(kind).items()}
        self.pods = {name: part["spec"]["template"]["spec"] for name, part in self.workloads.items()}
        self.container = {name: pod["containers"][0] for name, pod in self.pods.items()}

    def named(self, kind: str) -> dict[str, Part]:
        """The objects of one kind, by name."""
        return {part["metadata"]["name"]: part for part in self.objects if part["kind"] == kind}

    def settings(self, workload: str) -> dict[str, str]:
        """The environment of its container, without secrets; a field of the pod is its path."""
        found: dict[str, str] = {}
        for source in self.container[workload].get("envFrom", []):
            if "configMapRef" in source:
                found |= self.named("ConfigMap")[source["configMapRef"]["name"]]["data"]
        for variable in self.container[workload].get("env", []):
            source = variable.get("valueFrom", {})
            found[variable["name"]] = variable.get("value") or source.get("fieldRef", {}).get("fieldPath", "")
        return found

    def ports(self, workload: str) -> set[int]:
        """Those that its container listens on."""
        return {port["containerPort"] for port in self.container[workload].get("ports", [])}

    def selected(self, selector: Part) -> set[str]:
        """The workloads whose pods it selects."""
        wanted = {key: {value} for key, value in selector.get("matchLabels", {}).items()}
        for expression in selector.get("matchExpressions", []):
            assert expression["operator"] == "In"
            wanted[expression["key"]] = set(expression["values"])
        labels = {
            name: part["spec"]["template"]["metadata"]["labels"] for name, part in self.workloads.items()
        }
        return {
            name for name in labels if all(labels[name].get(key) in values for key, values in wanted.items())
        }

    def behind(self, service: str) -> str:
        """The workload behind a service; a StatefulSet gives each pod a label with the pod's name."""
        selector = self.named("Service")[service]["spec"]["selector"]
        if pod := selector.get("statefulset.kubernetes.io/pod-name"):
            assert pod == service
            name, _, number = pod.rpartition("-")
            assert int(number) < self.workloads[name]["spec"]["replicas"]
            return str(name)
        [found] = self.selected({"matchLabels": selector})
        return found


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that matter, and what the commands of README.md make of them."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in tracked("nginx", "varnish", "policyd", "loadtest", "lessons", str(FOLDER)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPO / name, folder / name)
    [commands] = re.findall(
        r"^ *```sh\n(.*?)^ *```$", (folder / FOLDER / "README.md").read_text(), re.M | re.S
    )
    check("bash", "-euc", f"cd {folder}\n{textwrap.dedent(commands)}")
    return folder


@pytest.fixture(scope="module", params=["base", "overlays/three-nodes"])
def tree(checkout: Path, request: pytest.FixtureRequest) -> Tree:
    return Tree(
        check(Path(sys.executable).parent / "kubectl", "kustomize", checkout / FOLDER / request.param)
    )


@pytest.fixture(scope="module")
def compose() -> Part:
    return yaml.safe_load((REPO / "compose.yaml").read_text())  # type: ignore[no-any-return]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas_accept_every_object(tree: Tree, version: str) -> None:
    assert len(tree.objects) > 30
    for part in tree.objects:
        kubernetes_validate.validate(part, version, strict=True)
        assert part["kind"] == "Namespace" or part["metadata"]["namespace"] == "proscenium"
    assert "Kubernetes {} to {}".format(*VERSIONS) in (REPO / FOLDER / "README.md").read_text()


def test_the_schemas_reject_an_unknown_field(tree: Tree) -> None:
    tree.container["nginx"]["readOnly"] = True
    try:
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(tree.workloads["nginx"], VERSIONS[-1], strict=True)
    finally:
        del tree.container["nginx"]["readOnly"]


def test_every_container_is_hardened(tree: Tree) -> None:
    assert tree.pods.keys() == {"nginx", "varnish", "backend", "policyd", *LOCUSTS}
    for name, pod in tree.pods.items():
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert pod["shareProcessNamespace"], name
        assert pod["automountServiceAccountToken"] is pod["enableServiceLinks"] is False, name
        assert len(pod["containers"]) == len(pod["initContainers"]) == 1, name
        for container in pod["initContainers"] + pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": True,
            }, name
            assert container["resources"]["limits"]["memory"], name
            assert re.search(r":[\w.-]+$", container["image"]), name  # a version, not "latest"
        for volume in pod["volumes"]:
            assert volume.keys() <= {"name", "configMap", "emptyDir", "secret"}, name
            if volume.get("emptyDir", {}).get("medium") == "Memory":
                assert volume["emptyDir"]["sizeLimit"], name


def test_each_pod_is_the_service_of_compose(tree: Tree, compose: Part) -> None:
    for name, container in tree.container.items():
        service = compose["services"][OF_COMPOSE.get(name, name)]
        image = re.sub(r"\$\{\w+:-(.*)}", r"\1", service["image"])
        image = image.replace("$COMPOSE_PROJECT_NAME", compose["name"])
        if "build" in service:
            assert container["image"].split("/")[-1].partition(":")[0] == image
        else:
            assert container["image"] == image
        assert f"{service['mem_limit']}i".upper() == container["resources"]["limits"]["memory"].upper(), name

        context = tree.pods[name]["securityContext"]
        assert service["user"] == f"{context['runAsUser']}:{context['runAsGroup']}", name

        sizes = {
            volume["name"]: volume.get("emptyDir", {}).get("sizeLimit")
            for volume in tree.pods[name]["volumes"]
        }
        for size in re.findall(r"size=(\d+)m", str(service["tmpfs"])):
            assert sizes["tmp"] == f"{size}Mi"

        _, *test = service["healthcheck"]["test"]
        for kind in ("readinessProbe", "livenessProbe"):
            probe = container[kind]
            if test[0] == "curl":
                url = urlsplit(test[-1])
                [port] = [port for port in container["ports"] if port["name"] == probe["httpGet"]["port"]]
                assert (probe["httpGet"]["path"], port["containerPort"]) == (url.path, url.port)
            else:
                *command, file = probe["exec"]["command"]
                assert command == test[:-1], name
                assert file in (test[-1], f"{service.get('working_dir')}/{test[-1]}"), name


def test_the_public_ports_are_those_of_compose(tree: Tree, compose: Part) -> None:
    published = {int(port.rpartition(":")[2]) for port in compose["services"]["nginx"]["ports"]}
    of_nodes = {
        port["containerPort"]: port["hostPort"]
        for container in tree.container.values()
        for port in container.get("ports", [])
        if "hostPort" in port
    }
    balanced = {
        port["port"]
        for service in tree.named("Service").values()
        for port in service["spec"]["ports"]
        if service["spec"].get("type", "ClusterIP") != "ClusterIP"
    }
    assert published in (of_nodes.keys(), balanced)
    assert not of_nodes or not balanced
    open_to_all = {
        (name, port["port"])
        for policy in tree.named("NetworkPolicy").values()
        for rule in policy["spec"].get("ingress", [])
        for name in tree.selected(policy["spec"]["podSelector"])
        for port in rule["ports"]
        if "from" not in rule
    }
    assert open_to_all == {("nginx", port) for port in published}


def test_the_ring_has_the_names_of_the_replicas(tree: Tree) -> None:
    replicas = tree.workloads["varnish"]["spec"]["replicas"]
    ring = tree.settings("nginx")["VARNISH_ADDRESS"].split()
    assert ring == [f"varnish-{number}:8083" for number in range(replicas)]
    assert replicas > 1  # to nginx a single name is not a list
    assert tree.settings("varnish")["VARNISH_LISTEN_NGINX"] == ":8083"
    assert tree.settings("varnish")["NODE"] == "metadata.name"


def test_nginx_and_varnish_accept_their_settings(tree: Tree) -> None:
    for name, script in (("nginx", "scripts/settings.sh"), ("varnish", "settings.sh")):
        settings = tree.settings(name)
        known = set(re.findall(r"\$\{([A-Z_]+):-", (REPO / name / script).read_text()))
        assert settings.keys() <= known
        assert settings["NODE"]  # a field of the pod; the names of nodes and pods have no other characters
        check("sh", "-euc", f"cd {name} && . ./{script}", env={"PATH": "/usr/bin:/bin", **settings})


def test_each_connection_is_open_at_both_ends_and_no_other(tree: Tree) -> None:
    """Addresses in the settings are services, with a port that a container there listens on."""
    wanted = {(locust, "nginx", port) for locust in LOCUSTS for port in LOAD_PORTS}
    for name in tree.pods:
        for setting, value in tree.settings(name).items():
            if setting == "LOADTEST_MASTER":
                value += ":5557"
            if not re.search("_ADDRESS$|_PURGE$|_HOST$|_MASTER$", setting):
                continue
            for host, port in re.findall(r"([a-z][\w.-]*):(\d+)", value):
                # nginx completes no name that it looks up while it runs.
                assert host.endswith(DOMAIN) == (name == "nginx" and setting != "VARNISH_ADDRESS"), setting
                service = tree.named("Service")[host.removesuffix(DOMAIN)]
                assert int(port) in {each["port"] for each in service["spec"]["ports"]}, setting
                wanted.add((name, tree.behind(host.removesuffix(DOMAIN)), int(port)))
    assert len(wanted) > 15
    for _, name, port in wanted:
        assert int(port) in tree.ports(name)

    out: set[tuple[str, str, int]] = set()
    into: set[tuple[str, str, int]] = set()
    for policy in tree.named("NetworkPolicy").values():
        ours = tree.selected(policy["spec"]["podSelector"])
        for direction, peers, found in (("egress", "to", out), ("ingress", "from", into)):
            for rule in policy["spec"].get(direction, []):
                assert rule["ports"]
                for peer in rule.get(peers, []):
                    if "namespaceSelector" in peer:
                        assert {each["port"] for each in rule["ports"]} == {53}
                        continue
                    for one in ours:
                        for other in tree.selected(peer["podSelector"]):
                            ends = (one, other) if direction == "egress" else (other, one)
                            found |= {(*ends, each["port"]) for each in rule["ports"]}
    assert out & into == wanted
    assert {start for start, end, port in into if (end, port) == ("backend", 8081)} == {"nginx", "varnish"}
    assert {start for start, end, port in into if (end, port) == ("varnish", 8082)} == {"backend"}
    default = tree.named("NetworkPolicy")["default"]["spec"]
    assert default["podSelector"] == {}
    assert default["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in default


def test_each_archive_has_the_files_of_its_pod(tree: Tree) -> None:
    for name, pod in tree.pods.items():
        [archive] = [volume["configMap"]["name"] for volume in pod["volumes"] if volume["name"] == "archive"]
        [content] = tree.named("ConfigMap")[archive]["binaryData"].values()
        assert len(content) < 0.9 * ANNOTATION, archive
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(content))) as opened:
            files = opened.getnames()
        container = tree.container[name]
        [mount] = [mount for mount in container["volumeMounts"] if mount["name"] == "files"]
        assert mount["readOnly"]
        assert any(file.startswith(f"{mount['subPath']}/") for file in files)
        words = container.get("command", []) + container["readinessProbe"].get("exec", {}).get("command", [])
        for word in words:
            if word.startswith(mount["mountPath"]):
                assert mount["subPath"] + word.removeprefix(mount["mountPath"]) in files


def test_names_inside_an_object_agree(tree: Tree) -> None:
    """What the API server rejects and no schema knows."""
    for name, workload in tree.workloads.items():
        assert tree.selected(workload["spec"]["selector"]) == {name}
        claims = [claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])]
        volumes = {volume["name"] for volume in tree.pods[name]["volumes"]} | set(claims)
        mounts = [
            mount["name"]
            for container in tree.pods[name]["initContainers"] + tree.pods[name]["containers"]
            for mount in container["volumeMounts"]
        ]
        assert set(mounts) == volumes, name
        for volume in tree.pods[name]["volumes"]:
            if "secret" in volume:
                assert volume["secret"]["secretName"] in tree.named("Secret")
        for source in tree.container[name].get("envFrom", []):
            if "secretRef" in source:
                assert source["secretRef"]["name"] in tree.named("Secret")
    for kind in ("DaemonSet", "StatefulSet", "Deployment"):
        for part in tree.named(kind).values():
            if "serviceName" in part["spec"]:
                assert part["spec"]["serviceName"] in tree.named("Service")
    for name, service in tree.named("Service").items():
        assert {port["port"] for port in service["spec"]["ports"]} <= tree.ports(tree.behind(name)), name
