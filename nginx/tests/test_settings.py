"""The environment: settings, defaults and mistakes; values that start.sh determines itself."""

import re

import pytest

from nginx_server import NGINX, NginxServer
from support.program import PATH

STAGE = "stage.example"
WRONG = {
    "CLIENT_CONNECTIONS": ("0", "many", "65536"),
    "CLIENT_REQUESTS": ("-1", "1.5"),
    "LOGIN_REQUESTS": ("1000000", "5; error_log /x"),
    "CLIENT_STAGE_CONNECTIONS": (" 5", "70000"),
    "BACKEND_CONNECTIONS": ("0", "65536"),
    "HTTP_PORT": ("80/x",),
    "HTTPS_PORT": ("443/x",),
    "HTTPS_REDIRECT": ("yes",),
    "CDN": ("12h",),
    "COMPARISON_NAMES": ("yes",),
    "SERVER_NAMES": (
        *("a.example; return 200", "a.example\nb.example"),
        *(f"{STAGE} {name}" for name in ("*", "a*b", "*a.example", "*.a.*", "a..b")),
        *(f"{name} {STAGE}" for name in ("[oops", "[oops]", "::1", "a.example:80")),
    ),
    "LISTEN_HTTP": ("all",),
    "LISTEN_STAGE": ("localhost:7230",),
    "LISTEN_DIRECT": ("8081,8181", "8081 8181; proxy_pass x"),
    "VARNISH_ADDRESS": ("/run/varnish.sock", "a:1  b", "a unix:/b"),
    "CONNECT_TIMEOUT": ("soon",),
    "BACKEND_ADDRESS": ("backend", "127.0.0.1:1 127.0.0.1:2"),
    "BACKEND_STAGE_ADDRESS": ("unix:/run/x;error_log",),
    "POLICYD_ADDRESS": ("http://policyd:3000",),
    "THEATRES_ADDRESS": ("unix:/run/second.sock", "*:*"),
    "THEATRES_STAGE_ADDRESS": ("unix:/run/*/*.sock",),
    "THEATRES_MEDIA_FOLDER": ("/srv/*; error_log",),
    "LISTEN_THEATRES_STAGE": ("7231-7232",),
    "OBSERVE_ADDRESS": ("prometheus",),
    "OBSERVE_LOG": ("/run/nginx.sock", "unix:/run/nginx.sock,facility=x", "prometheus:514"),
    "LISTEN_OBSERVE": ("localhost:9090",),
    "LISTEN_OBSERVE_LOG": ("9092",),
    "MEDIA_FOLDER": ("media",),
    "CERTIFICATE_FOLDER": ('/x"; error_log "/y',),
    "SITE": ("https://127.0.0.1", "http://127.0.0.1:5000/path"),
    "SITES": (
        *("blog", "blog=", "Blog=http://a", "blog=http://a/b", "a..b=http://a", "blog=https://10.0.0.1"),
        *("a=http://a,b=http://b", "blog=http://a; return 200"),
    ),
    "SITE_ADDRESS": ("127.0.0.1:80",),
    "SITE_NAMES": ("a;b",),
    "SITE_TIMEOUT": ("60",),
    "SITE_MAX_UPLOAD": ("lots",),
    "SITE_DEFAULT": ("yes",),
}


@pytest.mark.parametrize(
    ("setting", "value"), [(setting, value) for setting, values in WRONG.items() for value in values]
)
def test_a_wrong_setting_is_one_line(fresh: NginxServer, setting: str, value: str) -> None:
    for script in ("start.sh", "reload.sh"):
        ended = fresh.run_script(script, **{setting: value})
        assert ended.returncode == 1
        assert ended.stdout.startswith(f"{setting} must be ")
        assert ended.stdout.endswith(f", not '{value}'\n")
        assert len(ended.stdout.splitlines()) == 1 + value.count("\n")
    assert list(fresh.generated.iterdir()) == []


def test_nginx_accepts_the_highest_limits(fresh: NginxServer) -> None:
    highest = {"CLIENT_CONNECTIONS": "65535", "CLIENT_STAGE_CONNECTIONS": "65535"}
    fresh.settings |= highest | {"CLIENT_REQUESTS": "999999", "LOGIN_REQUESTS": "999999"}
    fresh.start()
    assert fresh.request("/").status == 200


def test_the_readme_has_every_setting_with_its_default() -> None:
    table = (NGINX / "README.md").read_text().split("## Settings")[1].split("###")[0]
    documented = re.findall(r"^\| `(\w+)` \| (?:`(\S+)`)? *\|", table, re.M)
    settings = (NGINX / "scripts" / "settings.sh").read_text()
    assert documented == [*re.findall(r"^(\w+)=\$\{\1:-(.*)}$", settings, re.M), ("NAME_SERVERS", "")]


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
