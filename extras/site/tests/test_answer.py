"""What a comparison of your own site says, and which of its rows it leaves out."""

import json
from pathlib import Path
from typing import Any

import pytest

from extras.site import answer

HINT = ": is the first of SITE_NAMES the name that the application knows, and are these its paths?"


def measured(topology: str, cpu: float, hits: float = 0.0, **statuses: int) -> dict[str, Any]:
    """A measurement of 100 requests in 10 seconds, and what they cost the application, in ms each."""
    counts = {"s200": 100} | statuses
    status = [{"tier": "status", "outcome": name[1:], "answers": number} for name, number in counts.items()]
    return {
        "topology": topology,
        "began": 1000.0,
        "seconds": 10.0,
        "requests_per_second": 10.0,
        "hit_ratio": hits,
        "rows": [{"num_requests": 100}],
        "caches": [*status, {"tier": "backend", "outcome": "miss", "answers": 50}],
        "application_cpu_ms": cpu,
    }


def said(*rows: dict[str, Any]) -> str:
    """The sentences on measurements."""
    valid = {row["topology"]: row for row in rows if not answer.invalid(row)}
    return " ".join(answer.sentences(valid))


ALONE, NGINX = measured("alone.site", 10), measured("nginx.site", 9)


@pytest.mark.parametrize(
    ("statuses", "why"),
    [
        ({"s200": 90, "s404": 10}, ""),
        ({"s200": 53, "s301": 42, "s404": 5}, f"47 % of the requests ended with 301, 404{HINT}"),
        ({"s200": 80}, "20 % of the requests ended with no answer"),
    ],
)
def test_a_row_is_invalid_if_more_than_a_tenth_was_no_success(statuses: dict[str, int], why: str) -> None:
    assert answer.invalid(measured("nginx.site", 9, **statuses)) == why


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((ALONE, NGINX, measured("site", 9)), "The cache answered none of the requests."),
        (
            (ALONE, NGINX, measured("site", 1.8, 0.667)),
            "Of 100 requests a cache answers 66.7. A request costs the application 80 % less CPU time"
            " behind nginx and Varnish than behind nginx.",
        ),
        (
            (ALONE, NGINX, measured("site", 8.2, 0.5)),
            "Of 100 requests a cache answers 50. Too little to tell about CPU time: a request costs the"
            " application 8.20 ms behind nginx and Varnish, 9.00 behind nginx, 10.00 alone.",
        ),
        (
            (ALONE, measured("nginx.site", 9, s200=80, s301=20), measured("site", 1.8, 0.5)),
            "Of 100 requests a cache answers 50.",
        ),
        ((ALONE, NGINX, measured("site", 1.8, 0.5, s200=80, s301=20)), ""),
    ],
    ids=["no hit", "less", "within the spread", "nginx is invalid", "Varnish is invalid"],
)
def test_only_what_was_measured_is_said(rows: tuple[dict[str, Any], ...], expected: str) -> None:
    assert said(*rows) == expected


@pytest.mark.parametrize(("moved", "code"), [("nginx.site", 0), ("site", 1)])
def test_it_fails_if_the_row_of_the_cache_is_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], moved: str, code: int
) -> None:
    monkeypatch.setattr(answer, "site_requests", lambda *_: [])
    statuses = {moved: {"s200": 0, "s301": 100}}
    rows = [measured(name, 9, 0.5, **statuses.get(name, {})) for name in answer.PATHS]
    (tmp_path / "report.json").write_text(json.dumps({"answered": True, "measurements": rows}))
    assert answer.main(tmp_path, "site") == code
    printed = capsys.readouterr().out
    assert f"INVALID: {answer.PATHS[moved]}: 100 % of the requests ended with 301{HINT}\n" in printed
    assert printed.strip() == (tmp_path / "site.md").read_text().strip()
