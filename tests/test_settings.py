"""The settings: `make up` refuses a wrong value before it touches anything, in one line that names it."""

import re
import sys
from pathlib import Path

import pytest

from bare import bare_checkout, engine, run
from stack import REPO


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout, Python, and an engine that would log each command."""
    checkout = bare_checkout(tmp_path_factory.mktemp("settings"))
    (checkout.parent / "bin" / "python3").symlink_to(sys.executable)
    engine(checkout)
    return checkout


# A wrong value of each setting that has some. (Any text is a name, an image or a password.)
WRONG = [
    *((port, "abc") for port in ("HTTP_PORT", "HTTPS_PORT", "SWF_PORT", "POLICY_FILE_PORT", "LOCUST_PORT")),
    *((port, "99999") for port in ("WEB_PORT", "THEATRES_SWF_PORT", "FTP_PORT", "FTP_PASSIVE_PORTS")),
    ("BIND_ADDR", "1.2.3.4"),
    ("FTP_ADDRESS", "me"),
    ("SERVER_NAMES", "a;b"),
    ("TLS_FOLDER", "/nonexistent"),
    ("TLS_CERTIFICATE", "nonexistent.pem"),
    ("TLS_CERTIFICATE_KEY", "nonexistent.pem"),
    ("HTTPS_REDIRECT", "yes"),
    ("THEATRES", "upstage"),
    ("EXTRAS", "monitoring"),
    ("UPSTAGE_ADMIN_PASSWORD", " spaces "),
    ("UPSTAGE_SIGNUP", "maybe"),
    ("UPSTAGE_FESTIVAL", "maybe"),
    ("VARNISH_STORAGE", "disk"),
    ("VARNISH_STORAGE", "malloc,1g"),
    ("VARNISH_MEMORY", "much"),
    ("HEALTH_INTERVAL", "3"),
    ("CLIENT_CONNECTIONS", "0"),
    ("CLIENT_REQUESTS", "abc"),
    ("LOGIN_REQUESTS", "-1"),
    ("CLIENT_STAGE_CONNECTIONS", "70000"),
    ("UPSTAGE_CONNECTIONS_PER_ADDRESS", "0"),
    ("UPSTAGE_MAX_UNREAD", "64k"),
    ("LOADTEST_PROCESSES", "many"),
    ("LOADTEST_WORKERS", "0"),
]


@pytest.mark.parametrize(("setting", "value"), WRONG)
def test_a_wrong_setting_is_named_before_anything_is_touched(bare: Path, setting: str, value: str) -> None:
    log = bare.parent / "docker.log"
    found = {"TLS_FOLDER": str(bare), "TLS_CERTIFICATE": "LICENSE"} if setting.startswith("TLS_") else {}
    done = run(bare, "up", user=None, **found | {setting: value})
    assert done.returncode == 1
    [line] = (done.stdout + done.stderr).splitlines()
    assert setting in line
    assert value in line or value == " spaces "
    assert not log.exists()
    assert not (bare / ".run").exists()


def test_every_setting_has_a_wrong_value_or_takes_any() -> None:
    any_text = {"LOCUST_WEB_USERNAME", "LOCUST_WEB_PASSWORD", "LOADTEST_PLAYER", "LOADTEST_PASSWORD"}
    any_text |= {"BACKEND_IMAGE", "POLICYD_IMAGE"}
    elsewhere = {
        "CLASS_PORTS",
        "CLASS_SUBNETS",
        "CLASS_CPUS",
        "LAB_BASE_IMAGE",
        "LAB_MTU",
    }  # not of `make up`
    settings = set(re.findall(r"^([A-Z_]+)=", (REPO / ".env.example").read_text(), re.M))
    assert settings == {setting for setting, _ in WRONG} | any_text | elsewhere


def test_a_misspelt_setting_is_named_and_an_env_file_from_windows_is_read(bare: Path) -> None:
    env = bare / ".env"
    env.write_bytes(b"HTP_PORT=9\r\nUPSTAGE_SIGNUP=open\r\nCLIENT_REQUESTS=abc\r\n")
    done = run(bare, "up")
    env.unlink()
    assert done.stdout.splitlines()[0].startswith("Nothing reads these settings in .env: HTP_PORT.")
    assert done.stderr == "CLIENT_REQUESTS must be a whole number from 1 to 999999, not 'abc'\n"
