"""labs/tls: the stack's TLS settings on every port but one, and what the article's cipher list lets in."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from labs.bench.drivers import cold_visit, handshakes
from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack, Problem
from labs.tests.running_lab import measure_briefly, needs_engine
from tests.stack import REPO
from tests.support.wait import wait_until

LAB = "tls"
CELLS = load(REPO / "labs" / LAB, "full").cells
NGINX = REPO / "labs" / LAB / "nginx" / "nginx.conf"


def ssl_directives(text: str) -> set[str]:
    """Everything about TLS but the certificates."""
    return {
        " ".join(line.split())
        for line in re.findall(r"^\s*(ssl_[^#;]*);", text, re.M)
        if not line.startswith("ssl_certificate")
    }


def test_the_settings_are_those_of_the_stack() -> None:
    ours = ssl_directives(NGINX.read_text().split("# Today:")[0])
    assert ours == ssl_directives((REPO / "nginx" / "tls" / "tls.conf.template").read_text())
    assert len(ours) > 4


def negotiated(lab: LabStack, port: int, *options: str) -> str:
    """The cipher suite; raise Problem if the handshake fails."""
    command = ["openssl", "s_client", "-connect", f"tls-nginx:{port}", *options]
    printed = lab.run("generator", "sh", "-c", '"$@" </dev/null 2>&1', "sh", *command)
    return re.findall(r"Cipher is (\S+)", printed)[0]  # type: ignore[no-any-return]


@needs_engine
@pytest.mark.slow
class TestListeners:
    def test_every_driver_measures_the_server(self, lab: LabStack) -> None:
        found = measure_briefly(lab, LAB)
        assert found["curl"]["requests"] == 100

    @pytest.mark.parametrize(("transport", "round_trips"), [("HTTP/1.1", 3), ("HTTP/3", 2)])
    def test_a_first_visit_takes_the_round_trips_of_its_handshakes_and_one_more(
        self, lab: LabStack, transport: str, round_trips: int
    ) -> None:
        [settings] = [
            cell.settings for cell in CELLS if cell.key == {"round_trip": 20, "transport": transport}
        ]
        assert cold_visit.measure(lab, {**settings, "visits": 1})["round_trips"] >= round_trips

    @pytest.mark.parametrize("protocol", ["TLS 1.3", "TLS 1.2"])
    def test_a_session_is_resumed(self, lab: LabStack, protocol: str) -> None:
        [settings] = [
            cell.settings
            for cell in CELLS
            if cell.key == {"certificate": "ecdsa", "protocol": protocol, "session": "resumed"}
        ]
        assert handshakes.measure(lab, {**settings, "seconds": 1})["requests"] > 0

    def test_the_articles_list_lets_a_client_have_no_forward_secrecy(self, lab: LabStack) -> None:
        old = ("-tls1_2", "-cipher", "AES128-SHA")  # the key is encrypted for the certificate, not exchanged
        assert negotiated(lab, 8445, *old) == "AES128-SHA"
        with pytest.raises(Problem):
            negotiated(lab, 8444, *old)

    def test_openssl_no_longer_has_rc4(self, lab: LabStack) -> None:
        ciphers = lab.run("generator", "openssl", "ciphers", "RC4:HIGH:!aNULL:!MD5:!kEDH")
        assert "RC4" not in ciphers
        assert "AES128-SHA" in ciphers
        with pytest.raises(Problem, match="no cipher match"):
            lab.run("generator", "openssl", "ciphers", "-tls1_2", "-s", "RC4")

    @pytest.mark.parametrize(
        ("configuration", "group"),
        [("/etc/ssl/openssl.cnf", "X25519MLKEM768"), ("/labs/tls/x25519.cnf", "X25519")],
    )
    def test_the_clients_configuration_decides_about_the_key_exchange(
        self, lab: LabStack, configuration: str, group: str
    ) -> None:
        """If nginx's OpenSSL is too old for the post-quantum one, both are X25519."""
        command = f"OPENSSL_CONF={configuration} openssl s_client -connect tls-nginx:8443 </dev/null 2>&1"
        printed = lab.run("generator", "sh", "-c", command)
        found = re.findall(r"(?:Negotiated TLS1.3 group|Peer Temp Key): (\w+)", printed)[0]
        assert found == group or (found, lab.run("tls-nginx", "openssl", "version")[:11]) < (
            group,
            "OpenSSL 3.5",
        )

    @pytest.mark.parametrize("version", ["2", "3"])
    def test_a_reload_cuts_responses_over_http3_alone(self, lab: LabStack, version: str) -> None:
        """Why the stack has no HTTP/3. If this fails, nginx has learned it: see README.md."""
        option = {"2": "--http2", "3": "--http3-only"}[version]
        file = f"/tmp/reloaded-{version}"
        command = ["curl", "-sk", option, "--limit-rate", "100k", "--max-time", "30", "-o", file]
        command += ["-w", "%{http_version} %{size_download}", "https://tls-nginx:8443/media/bench/big.swf"]
        with ThreadPoolExecutor(1) as pool:
            loading = pool.submit(lab.run, "generator", "sh", "-c", '"$@" || true', "sh", *command)
            wait_until(lambda: int(lab.run("generator", "sh", "-c", f"stat -c %s {file} || echo 0")) > 0)
            lab.run("tls-nginx", "nginx", "-e", "stderr", "-c", "/lab/nginx/nginx.conf", "-s", "reload")
            found, size = loading.result().split()
        assert found == version
        assert (int(size) == 1_300_000) == (version == "2")
