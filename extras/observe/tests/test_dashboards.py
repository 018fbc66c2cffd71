"""The dashboards: they use only what the page can draw, and contain all that a reader needs."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[1] / "page"
LESSONS = Path(__file__).parents[3] / "lessons"
Json = dict[str, Any]
DASHBOARDS: dict[str, Json] = {
    path.stem: json.loads(path.read_text()) for path in sorted((PAGE / "dashboards").glob("*.json"))
}
PANELS = [
    pytest.param(panel, id=f"{name}: {panel['title']}")
    for name, dashboard in DASHBOARDS.items()
    for panel in dashboard["panels"]
]
every_panel = pytest.mark.parametrize("panel", PANELS)

# Everything that the page can draw. A dictionary means an object with these keys alone ("?": optional); a
# list stands for several objects of one kind.
DASHBOARD: Json = {
    **dict.fromkeys(("uid", "title", "tags", "schemaVersion", "editable", "refresh"), ...),
    "time": {"from": ..., "to": ...},
    "panels": ...,
}
COMMON: Json = {
    **dict.fromkeys(("id", "type", "source", "title", "description"), ...),
    "links?": [{"title": ..., "url": ...}],
    "gridPos": {"x": ..., "y": ..., "w": ..., "h": ...},
}
STEPS: Json = {"mode": "absolute", "steps": [{"color": ..., "value": ...}]}
TYPES: dict[str, Json] = {
    "stat": {
        **COMMON,
        "targets": [{"refId": ..., "instant": True, "expr": ...}],
        "fieldConfig": {
            "defaults": {"noValue?": ..., "unit": ..., "min": ..., "max?": ..., "thresholds": STEPS},
            "overrides": [],
        },
        "options": {"colorMode": "background"},
    },
    "timeseries": {
        **COMMON,
        "targets": [{"refId": ..., "exemplar?": True, "legendFormat": ..., "expr": ...}],
        "fieldConfig": {
            "defaults": {
                "unit": ...,
                "min": ...,
                "max?": ...,
                "custom?": {"stacking": {"mode": "normal"}, "fillOpacity": ...},
            },
            "overrides": [],
        },
    },
}
WITHOUT_LESSON = {
    "Memory": "no lesson is about memory",
    "Free memory": "no lesson is about memory",
    "Over a client's limit": "no lesson is about limits",
}


def differences(value: object, shape: object, where: str = "") -> list[str]:
    """Return the parts of `value` that do not fit `shape`, as text."""
    if shape is ...:
        return []
    if isinstance(shape, dict) and isinstance(value, dict):
        allowed = {key.removesuffix("?"): part for key, part in shape.items()}
        required = {key for key in shape if not key.endswith("?")}
        found = [f"{where} has a key that the page does not know: {key}" for key in value.keys() - allowed]
        found += [f"{where} has no {key}" for key in required - value.keys()]
        for key in value.keys() & allowed:
            found += differences(value[key], allowed[key], f"{where}.{key}")
        return found
    if isinstance(shape, list) and shape and isinstance(value, list):
        return [line for one in value for line in differences(one, shape[0], f"{where}[]")]
    return [] if value == shape else [f"{where} is {value!r}, not {shape!r}"]


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_has_only_keys_that_are_used_and_panels_in_reading_order(name: str) -> None:
    assert differences(DASHBOARDS[name], DASHBOARD) == []
    assert DASHBOARDS[name]["uid"] == name
    panels = DASHBOARDS[name]["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    places = [panel["gridPos"] for panel in panels]
    assert [(at["y"], at["x"]) for at in places] == sorted((at["y"], at["x"]) for at in places)
    cells = Counter(
        (x, y)
        for at in places
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    )
    assert max(cells.values()) == 1, "two panels overlap"
    assert max(x for x, _ in cells) == 23, "Grafana's grid has 24 columns"


@every_panel
def test_the_page_can_draw_a_panel(panel: Json) -> None:
    assert panel["type"] in TYPES
    assert differences(panel, TYPES[panel["type"]]) == []
    script = "".join((PAGE / f"{name}.js").read_text() for name in ("words", "prometheus", "panels"))
    [units] = re.findall(r"const UNITS = \{(.*?)\n\};", script, re.S)
    assert panel["fieldConfig"]["defaults"]["unit"] in re.findall(r"^  (\w+):", units, re.M)
    [sources] = re.findall(r"const SOURCES = \{(.*?)\n\};", script, re.S)
    assert panel["source"] in re.findall(r"(\w+): \[", sources)
    [states] = re.findall(r"const STATES = \{(.*?)\}", script)
    if panel["type"] == "stat":
        assert len(panel["targets"]) == 1
        steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        assert {step["color"] for step in steps} <= set(re.findall(r"(\w+):", states))
        first, *others = (step["value"] for step in steps)
        assert first is None
        assert others == sorted(others)


@every_panel
def test_a_panel_says_what_it_is_what_is_good_and_which_lesson_it_belongs_to(panel: Json) -> None:
    assert panel["title"]
    assert re.search(r"Good: |No number is good or bad here", panel["description"])
    if "links" not in panel:
        assert panel["title"] in WITHOUT_LESSON, "no lesson, and no reason in WITHOUT_LESSON"
    for link in panel.get("links", []):
        [number] = re.fullmatch(r"Lesson (\d+)", link["title"]).groups()  # type: ignore[union-attr]
        assert link["url"].startswith(f"/lessons/{int(number):02}-")
        assert (LESSONS / link["url"].removeprefix("/lessons/") / "README.md").is_file()
