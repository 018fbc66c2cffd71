"""The environment: settings, defaults and mistakes; values that start.sh determines itself."""

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.program import PATH

STAGE = "stage.example"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("CLIENT_REQUESTS", "5; error_log /x"),
        ("SERVER_NAMES", "a.example\nb.example"),
        ("ADDRESSES", "udp"),
        ("LISTEN_HTTP", "all"),
        ("VARNISH_ADDRESS", "varnish:8084; error_log /x"),
        ("THEATRES_ADDRESS", "unix:/x.sock"),
    ],
)
def test_a_wrong_setting_is_one_line(fresh: NginxServer, setting: str, value: str) -> None:
    for script in ("start.sh", "reload.sh"):
        ended = fresh.run_script(script, **{setting: value})
        assert ended.returncode == 1
        assert ended.stdout.startswith(f"{setting} must be ")
        shown = value.replace("\nb.example", "…")  # the first of several lines
        assert ended.stdout.endswith(f", not '{shown}'\n")
        assert len(ended.stdout.splitlines()) == 1
    assert list(fresh.generated.iterdir()) == []


def test_nginx_accepts_the_highest_limits(fresh: NginxServer) -> None:
    highest = {"CLIENT_CONNECTIONS": "65535", "CLIENT_STAGE_CONNECTIONS": "65535"}
    fresh.settings |= highest | {"CLIENT_REQUESTS": "999999", "LOGIN_REQUESTS": "999999"}
    fresh.start()
    assert fresh.request("/").status == 200


def test_an_empty_setting_is_its_default(fresh: NginxServer) -> None:
    numbers = ("CLIENT_CONNECTIONS", "CLIENT_REQUESTS", "LOGIN_REQUESTS", "CLIENT_STAGE_CONNECTIONS")
    assert fresh.render(**dict.fromkeys((*numbers, "HTTPS_PORT", "HTTPS_REDIRECT"), "")).returncode == 0
    limits = (fresh.generated / "limits/requests.conf").read_text()
    for number in ("connections 400;", "rate=300r/s;", "burst=3000 ", "rate=30r/m;", "burst=30 "):
        assert number in limits
    assert "limit_conn stage 1000;" in (fresh.generated / "streams/stage.conf").read_text()
    assert "limit_conn audience 1000;" in (fresh.generated / "proxying/websocket.conf").read_text()


@pytest.mark.parametrize(
    ("version", "written"),
    [
        ("1.22.1", "listen {}:{} ssl http2;\n\n"),
        ("1.25.0", "listen {}:{} ssl http2;\n\n"),
        ("1.25.1", "listen {}:{} ssl;\nhttp2 on;\n"),
        ("1.30.5", "listen {}:{} ssl;\nhttp2 on;\n"),
        ("1.9.5", "listen {}:{} ssl http2;\n\n"),
    ],
)
def test_http_2_has_the_syntax_of_this_version(fresh: NginxServer, version: str, written: str) -> None:
    programs = fresh.folder / "bin"
    programs.mkdir()
    (programs / "nginx").write_text(f"#!/bin/sh\necho 'nginx version: nginx/{version} (Debian)' >&2\n")
    (programs / "nginx").chmod(0o755)
    assert fresh.render(PATH=f"{programs}:{PATH}").returncode == 0
    assert written.format(fresh.address, fresh.https) in (fresh.generated / "listeners/http.conf").read_text()


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("nameserver 127.0.0.11\noptions ndots:0\n", "127.0.0.11"),
        ("search dns.podman\nnameserver 10.89.0.1\nnameserver 10.89.1.1 # two\n", "10.89.0.1 10.89.1.1"),
        ("nameserver fd00::1\nnameserver\tfe80::1%eth0\nnameserver fd00::2\n", "[fd00::1] [fd00::2]"),
        ("# nameserver 192.0.2.1\n", "127.0.0.1"),
        (None, "127.0.0.1"),
    ],
    ids=["docker", "podman", "ipv6", "none", "no-file"],
)
def test_the_name_servers_are_those_of_resolv_conf(
    fresh: NginxServer, given: str | None, written: str
) -> None:
    resolv_conf = fresh.folder / "resolv.conf"
    if given is not None:
        resolv_conf.write_text(given)
    fresh.settings["RESOLV_CONF"] = str(resolv_conf)
    fresh.start()  # nginx accepts it, in http and in stream
    for file in ("http.conf", "stream.conf"):
        text = (fresh.generated / "upstreams" / file).read_text()
        assert f"\nresolver {written} valid=2s ipv6=off;\n" in text


def test_nginx_starts_without_a_warning(fresh: NginxServer) -> None:
    fresh.start()
    fresh.request("/")
    assert not fresh.log_lines(r"\[(warn|error|crit|alert|emerg)\]"), fresh.log.read_text()
