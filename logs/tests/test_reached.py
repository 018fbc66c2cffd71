"""The output about a comparison of your own application, and the rows that it leaves out."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from logs import reached
from proscenium.running import Running

HINT = ": is the first of APP_NAMES the name that the application knows, and are these its paths?"
PASSED = """\
*   << Request  >> {0}
-   Begin          req 1 rxreq
-   Timestamp      Start: {1}.5 0.0 0.0
-   ReqURL         {2}
-   VCL_call       PASS
-   VCL_Log        rule: a cookie
-   Link           bereq {0}1 pass
**  << BeReq    >> {0}1
--  Begin          bereq {0} pass
"""
MARKED = PASSED.replace(
    "VCL_Log        rule: a cookie", "HitPass        101 59.0"
)  # because of the response to the first


def measured(topology: str, **statuses: int) -> dict[str, Any]:
    """Return a measurement of 100 requests in 10 seconds, with the counts of two paths."""
    counts = statuses or {"s200": 100}
    return {
        "topology": topology,
        "began": 1000.0,
        "seconds": 10.0,
        "hit_ratio": 0.667,
        "rows": [{"num_requests": 100}],
        "caches": [
            {"row": path, "tier": "status", "outcome": name[1:], "answers": part}
            for name, number in counts.items()
            for path, part in (("/a", number // 2), ("/b", number - number // 2))
        ],
    }


@pytest.mark.parametrize(
    ("statuses", "words"),
    [
        ({"s200": 90, "s404": 10}, ""),
        ({"s200": 53, "s301": 42, "s404": 5}, f"47 % of the requests ended with 301, 404{HINT}"),
        ({"s200": 80}, "20 % of the requests ended with no answer"),
    ],
)
def test_a_row_says_nothing_if_more_than_a_tenth_was_no_success(statuses: dict[str, int], words: str) -> None:
    assert reached.wrong(measured("nginx.app", **statuses)) == words


@pytest.mark.parametrize(("moved", "code"), [("nginx.app", 0), ("app", 1)])
def test_the_reasons_are_those_of_the_run_and_without_its_row_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], moved: str, code: int
) -> None:
    stack = create_autospec(Running)
    stack.varnish.return_value = PASSED.format(10, 900, "/a") + "".join(
        text.format(number, second, path)
        for text, number, second, path in (
            (MARKED, 20, 1001, "/a"),
            (PASSED, 30, 1002, "/a"),
            (PASSED, 40, 1003, "/b"),
        )
    )
    monkeypatch.setattr(reached, "running", lambda: stack)
    rows = [
        measured(name, **({"s301": 100} if name == moved else {}))
        for name in ("alone.app", "nginx.app", "app")
    ]
    (tmp_path / "report.json").write_text(json.dumps({"measurements": rows}))
    assert reached.main(tmp_path / "report.json") == code
    printed = capsys.readouterr().out
    assert f"INVALID: {moved}: 100 % of the requests ended with 301{HINT}\n" in printed
    if not code:
        assert "Of 100 requests a cache answers 66.7.\n" in printed
        assert "Why 3 requests," in printed
        assert "  100 %  a cookie: /a, /b\n" in printed
