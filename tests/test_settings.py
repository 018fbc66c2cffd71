"""The settings: `make up` refuses a wrong value before it touches anything, in one line that names it."""

import os
import re
import shutil
import socket
import subprocess
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from threading import Thread

import pytest

from proscenium.settings import ANALYTICS, FOR_USERS, IN_EXAMPLE, KINDS, SETTINGS, files
from proscenium.storage import MB, mistake
from tests.bare import engine, functions, run
from tests.stack import REPO
from tests.support.checks import tracked

# The engine's commands that change nothing.
QUESTIONS = {"info", "compose version --short"}
CHECK = "check_settings; check_container_settings"  # the first functions of `make up`


@pytest.fixture
def bare(bare: Path) -> Path:
    """Return a checkout, with an engine that would log each command."""
    engine(bare)
    return bare


# Values that each kind accepts, and values that it refuses.
SAMPLES = {
    "address": ("unix:/run/x.sock|varnish:8080", 'backend|http://a:1|a:1 b:1|/x"; }|unix:/x;error_log'),
    "addresses": ("sockets|tcp", "unix|tcp "),
    "hosts": ("*|*.example.org|db-*", "example.org|*.*|*:80|* x"),
    "net": ("127.42.0", "127.42|127.42.0.1|a.b.c"),
    "patterns": ("ref promo_* x[1]", 'a"b|b;c'),
    "header_names": ("X-Theme X-Shop", "X_Theme|X-A: 1"),
    "headers": ("authorization=Bearer a=b,x-team=1", "authorization: x|=a|a=1,b"),
    "health_path": ("/health?x=1", "health|/a b"),
    "ip": ("127.0.0.1|::1|[::1]", "127.x|localhost"),
    "ipv4": ("192.0.2.7", "me|192.0.2"),
    "ipv4s": ("192.0.2.7|192.0.2.7 192.0.2.8", "192.0.2.7,192.0.2.8|first"),
    "proxies": (" 192.0.2.7 10.0.0.0/8|2001:db8::/32", "proxy.example.org|10.0.0.0/8,192.0.2.7|1.2.3.4; x"),
    "hundreds": ("1000|20000|64900", "20050|900|65000|abc"),
    "log": ("unix:/run/nginx.sock", "/run/nginx.sock|unix:/run/nginx.sock,facility=x|prometheus:514"),
    "media": ("/srv/media|off", 'media|/srv"; error_log "/y'),
    "name": ("varnish|varnish-2", "edge-2|varnish-"),
    "names": (".a.b www.a.*|*.a 192.0.2.7 [::1] ", "a; b|a\nb|a *|a*b|*a.b|*.a.*|a..b|[a|[a] b|::1 a|a:80"),
    "number": ("1|999999999", "0|64k|-1|none"),
    "otlp": (
        "http://192.0.2.7:4318|https://collect.example/otlp",
        "192.0.2.7:4318|grpc://a|http://a b|http://a;",
    ),
    "password": ("x|correct horse|pässword", " spaces |a\tb|a\nb"),
    "path": ("/var/my folder", '/x"; error_log "/y|tmp'),
    "path_of_each": ("/srv/the theatres/*/media", "/srv/*; error_log|/srv/x|/*/*"),
    "path_without_spaces": ("/run/varnish.sock", "varnish.sock|/a b|/a,b"),
    "ports": ("2121|2122-2131", "abc|99999|2121-99999|2121-"),
    "processes": ("-1|8|12", "many|0|-2|13"),
    "project": ("proscenium-2", "Proscenium|-x"),
    "purge_listener": ("/run/purge.sock|127.0.0.1:6081", "6081|/a,b"),
    "share": ("0.01|1|2.5|100", "0|0.00|101|1%|.5|1.234"),
    "signup": ("open|closed", "maybe"),
    "application": (
        "shop:8000|http://127.0.0.1:5000|https://shop/",
        "https://127.0.0.1|http://a:1/path|ftp://a|a",
    ),
    "size": ("512|100m|1G", "lots|0m|1.5g"),
    "cpus": ("0.5|2|64|1.5", "0|0.05|nan|half|100"),
    "duration": ("1s|0.5s|1m30s", "60|soon"),
    "storage": ("malloc,128m|file,/tmp/cache.bin,1g", "disk|malloc|file,cache.bin,1g"),
    "subnets": ("10.213.0.0/18|10.99.64.0/18", "10.213.0.0|10.0.0.1/18|10.213"),
    "switch": ("on|off", "yes|ON"),
    "text": ("a b|;", "a\nb"),
    "theatres": (" second  third-hall", "second;third|Second|*"),
    "time": ("300ms|60s|5m", "60|0s|soon"),
    "to_50": ("0|9|10|50", "51|-1|00|some"),
    "to_65535": ("1|65535", "0|65536|99999|080|8080-8081|many| 5|80/x"),
    "to_9999": ("1|9999", "0|10000|many"),
    "to_999999": ("1|999999", "-1|0|1.5|1000000|5; error_log /x"),
}
# The commands that check the settings of each reader; "": the settings that neither of them reads.
CHECKS = {
    "": ("bash", ". nginx/scripts/check.sh && . bin/lib/table.sh && check_others"),
    "nginx": ("sh", ". nginx/scripts/check.sh && . nginx/scripts/table.sh"),
    "varnish": ("sh", ". varnish/check.sh && . varnish/table.sh"),
}
USED = {  # a setting of each reader and kind
    (reader, each.kind): each.name for reader in CHECKS for each in SETTINGS if each.read_by(reader)
}

# Wrong values that `make up` itself refuses; the first stands for every value that its kind refuses.
WRONG = [
    ("HTTP_PORT", "abc"),
    ("SWF_PORT", "abc"),
    ("FTP_PASSIVE_PORTS", "2131-2122"),
    ("BIND_ADDR", "1.2.3.4"),
    ("TLS_FOLDER", "/nonexistent"),
    ("TLS_FOLDER", "nginx/tls"),
    ("TLS_CERTIFICATE", "nonexistent.pem"),
    ("TLS_CERTIFICATE_KEY", "nonexistent.pem"),
    ("THEATRES", "upstage"),
    ("EXTRAS", "monitoring"),
    ("VARNISH_STORAGE", "malloc"),
    ("APP_RECIPE", "shopware"),
    ("WITH", "varnish"),
]


MACHINES = {
    "EXTRAS": "edge",
    "FIRST_MACHINE": "127.0.0.1",
    "OTHER_MACHINES": "127.0.0.2 192.0.2.9",
    "MACHINE": "127.0.0.1",
}


def test_what_is_made_from_the_table_is_up_to_date() -> None:
    outdated = [path for path, text in files().items() if (REPO / path).read_text() != text]
    assert outdated == [], "Type: make settings"


def test_the_lists_of_analytics_are_looked_up_once_a_year() -> None:
    """When this fails, look them up, write the day into proscenium/analytics.toml, type make settings."""
    assert (date.today() - ANALYTICS["day"]).days < 366


def test_the_example_is_short_and_a_page_explains_what_it_leaves_out() -> None:
    assert len(IN_EXAMPLE) <= 60
    pages = "".join((REPO / name).read_text() for name in tracked("*.md", ":!CHANGELOG.md"))
    assert [each.name for each in FOR_USERS if each not in IN_EXAMPLE and f"`{each.name}" not in pages] == []


def test_every_kind_is_used_and_has_samples() -> None:
    assert {kind for _, kind in USED} == KINDS.keys() == SAMPLES.keys()


@pytest.mark.parametrize(("reader", "kind"), USED)
def test_every_reader_accepts_the_same_values_of_a_kind(reader: str, kind: str) -> None:
    shell, check = CHECKS[reader]
    name = USED[reader, kind]
    for values, refused in zip(SAMPLES[kind], (False, True), strict=True):
        for value in values.split("|"):
            done = subprocess.run(
                [shell, "-c", f'die() {{ echo "$*"; exit 1; }}; {check}'],
                cwd=REPO,
                env={"PATH": os.environ["PATH"], name: value},
                capture_output=True,
                text=True,
            )
            first, newline, _ = value.partition("\n")
            shown = "…" if name.endswith("_PASSWORD") else first + "…" * bool(newline)
            said = f"{name} must be {KINDS[kind].must_be}, not '{shown}'\n" * refused
            assert (done.returncode, done.stdout, done.stderr) == (refused, said, "")


@pytest.mark.parametrize(("setting", "value"), WRONG)
def test_a_wrong_setting_is_named_before_anything_is_touched(bare: Path, setting: str, value: str) -> None:
    log = bare.parent / "docker.log"
    found = {"TLS_FOLDER": str(bare), "TLS_CERTIFICATE": "LICENSE"} if setting.startswith("TLS_") else {}
    if setting.startswith("APP_") or setting == "WITH":
        found = {"EXTRAS": "app", "APP": "http://127.0.0.1:5000"}
    done = run(bare, "up", user=None, **found | {setting: value})
    assert done.returncode == 1
    [line] = (done.stdout + done.stderr).splitlines()
    assert setting in line
    assert value in line
    assert not log.exists() or set(log.read_text().splitlines()) <= QUESTIONS
    assert not (bare / ".run").exists()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"HTTPS_PORT": "8080"}, "HTTP_PORT and HTTPS_PORT both have port 8080: each needs one of its own"),
        ({"EXTRAS": "webcam", "FTP_PASSIVE_PORTS": "3000-3009"}, "POLICY_FILE_PORT and FTP_PASSIVE_PORTS"),
        ({"THEATRES": "second third", "SWF_PORT": "7232"}, "SWF_PORT and THEATRES_SWF_PORT"),
        ({"EXTRAS": "site"}, "EXTRAS=site is gone: it is called EXTRAS=app now"),
        ({"EXTRAS": "app"}, "EXTRAS=app needs the address of your application"),
        ({"APP": "http://shop:8000"}, "Type: make up EXTRAS=app"),
        ({"EXTRAS": "edge"}, "EXTRAS=edge needs FIRST_MACHINE"),
        (MACHINES | {"MACHINE": "127.0.0.3"}, "MACHINE must be one of"),
        (MACHINES | {"MACHINE": "192.0.2.9"}, "MACHINE must be an IP address of this machine"),
        (MACHINES | {"THEATRES": "second"}, "THEATRES are for one machine"),
        ({"THEATRES": "second@192.0.2.9"}, "a theatre on another machine is a stack of its own there"),
        (MACHINES | {"EXTRAS": "observe,edge"}, "The extra observe is for one machine"),
        ({"EXTRAS": "direct", "OTLP": "http://a:4318"}, "Type: make up EXTRAS=direct,observe"),
        ({"EXTRAS": "observe", "LOCUST_PORT": "9090"}, "LOCUST_PORT and OBSERVE_PORT both have port 9090"),
        (
            {"EXTRAS": "observe,app", "APP": "http://127.0.0.1:5000"},
            "EXTRAS=observe shows a stack with UpStage",
        ),
        (MACHINES | {"EXTRAS": "ring,edge"}, "The extra ring is for one machine"),
        (
            MACHINES
            | {"EXTRAS": "edge,inspect", "FIRST_MACHINE": "192.0.2.1", "OTHER_MACHINES": "127.0.0.1"},
            "for the first machine",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    bare: Path, settings: dict[str, str], complaint: str
) -> None:
    done = functions(bare, CHECK, **settings)
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert complaint in line


@pytest.mark.parametrize(
    ("site", "host"),
    [
        ("http://127.0.0.1:5000", True),
        ("http://localhost", True),
        ("https://shop.example.org", True),
        ("http://blog:8000", False),
    ],
)
def test_the_relay_is_in_this_machines_network_if_the_site_is_no_service(
    bare: Path, site: str, host: bool
) -> None:
    done = functions(bare, CHECK + '; echo "$COMPOSE_FILE"', EXTRAS="app", APP=site)
    assert ("extras/app/host.yaml" in done.stdout) is host, done.stderr


def test_machines_that_do_not_answer_or_know_others_are_named(bare: Path) -> None:
    """The order of the list has no meaning, except for the first machine."""
    known = {"127.0.0.2": "127.0.0.1 127.0.0.4 127.0.0.2 127.0.0.3", "127.0.0.3": "127.0.0.1 127.0.0.3"}
    others = {"OTHER_MACHINES": "127.0.0.2 127.0.0.3 127.0.0.4"}
    with ExitStack() as open_ports:
        for address, known_there in known.items():
            listener = open_ports.enter_context(socket.create_server((address, 18083)))
            Thread(
                target=lambda at, text: at.accept()[0].sendall(text),
                args=(listener, f"{known_there}\n".encode()),
            ).start()
        said = functions(bare, "name_machines", **MACHINES | others).stdout.splitlines()
    assert [line.split()[0] for line in said] == ["machines", "127.0.0.3", "127.0.0.4"]
    assert "127.0.0.3 knows other machines: 127.0.0.1 127.0.0.3." in said[1]
    assert said[2].endswith("127.0.0.4 does not answer yet. Type there: make up")


@pytest.mark.skipif(not shutil.which("docker"), reason="Compose reads the files")
@pytest.mark.parametrize(("storage", "code"), [("file,/tmp/cache.bin,1g", 1), ("file,/tmp/cache.bin,9m", 0)])
def test_varnishs_storage_is_checked_where_python_is(storage: str, code: int) -> None:
    settings = {"VARNISH_STORAGE": storage, "COMPOSE_FILE": "compose.yaml"}
    command = ["bash", "-c", f". bin/lib/common.sh; . bin/lib/settings.sh; {CHECK}"]
    done = subprocess.run(command, cwd=REPO, env=os.environ | settings, capture_output=True, text=True)
    assert done.returncode == code, done.stderr


def test_the_storage_that_the_example_names_fits() -> None:
    [named] = re.findall(r"(file,/\S+,\w+)\.", (REPO / ".env.example").read_text())
    assert not mistake({"environment": {"VARNISH_STORAGE": named}, "mem_limit": str(512 * MB)})


def test_make_up_prints_the_comparison_names_only_where_they_answer(bare: Path) -> None:
    def answer(**settings: str) -> bool:
        done = functions(bare, "comparison_names_answer", **settings)
        assert (done.stdout, done.stderr) == ("", "")
        return done.returncode == 0

    assert answer()
    assert not answer(BIND_ADDR="0.0.0.0")
    assert answer(BIND_ADDR="0.0.0.0", COMPARISON_NAMES="on")
    assert not answer(COMPARISON_NAMES="off")


def test_a_certificate_that_nginxs_container_cannot_read_is_refused(bare: Path, tmp_path: Path) -> None:
    """Certbot's are such: names in live/ are links to files in archive/, and the keys are root's."""
    folder = tmp_path / "letsencrypt"
    for name in ("live", "archive"):
        (folder / name).mkdir(parents=True)
    for name in ("fullchain", "privkey"):
        (folder / f"archive/{name}1.pem").touch(0o644)
        (folder / f"live/{name}.pem").symlink_to(f"../archive/{name}1.pem")

    def complaint(folder: Path, inner: str = "") -> str:
        settings = {"TLS_CERTIFICATE": f"{inner}fullchain.pem", "TLS_CERTIFICATE_KEY": f"{inner}privkey.pem"}
        return functions(bare, "check_container_settings", TLS_FOLDER=str(folder), **settings).stderr

    assert f"leads to '{folder}/archive/fullchain1.pem'" in complaint(folder / "live")
    assert complaint(folder, "live/") == ""
    (folder / "archive/privkey1.pem").chmod(0o600)
    assert f"cannot read '{folder}/archive/privkey1.pem'. Type: chmod a+r" in complaint(folder, "live/")


def test_a_shell_may_have_a_machine_of_its_own(bare: Path) -> None:
    assert functions(bare, CHECK, MACHINE="my laptop").returncode == 0


def test_a_misspelt_setting_is_named_and_an_env_file_from_windows_is_read(bare: Path) -> None:
    (bare / ".env").write_bytes(b"HTP_PORT=9\r\nUPSTAGE_SIGNUP=open\r\nCLIENT_REQUESTS=abc\r\n")
    done = run(bare, "up")
    assert done.stdout.splitlines()[0].startswith("Nothing reads these settings in .env: HTP_PORT.")
    assert done.stderr == "CLIENT_REQUESTS must be a whole number from 1 to 999999, not 'abc'\n"
    (bare / ".env").write_text("SITE_NAMES=shop.example.org\n")
    assert run(bare, "up").stderr.startswith("SITE_NAMES is gone: it is called APP_NAMES now")


def test_every_setting_that_something_reads_is_known(bare: Path) -> None:
    """Settings of the table, of the labs, of a user's file, and of the programs that are called."""
    names = [f"{each.name}={each.example or each.default}" for each in FOR_USERS]
    names += ["OPENDATA_RECORDS=1", "MY_OWN=1", "MODE=containers", "DOCKER_BUILDKIT=0", "COMPOSE_PROFILES="]
    names = [name for name in names if not name.startswith("COMPOSE_FILE=")]
    engine(bare, "'compose config --variables') echo 'MY_OWN   false'")
    (bare / "compose.override.yaml").write_text("services: {nginx: {environment: {MY_OWN: $MY_OWN}}}\n")
    (bare / ".env").write_text("\n".join(names))
    done = functions(bare, "check_settings")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
