"""The tab "Baseline" of Locust's web UI: the run so far beside a kept one, row by row."""

from typing import Any

from locust.env import Environment
from locust.web import WebUI

from verdict import baseline
from web_ui import tabs

KEYS = ("verdict", "row", "measure", "baseline", "now")
COLUMNS = [{"key": key, "title": key.capitalize()} for key in KEYS]
ORDER = ("worse", "better", "")


def install(environment: Environment, web_ui: WebUI) -> None:

    def rows() -> list[dict[str, Any]]:
        assert environment.parsed_options
        assert environment.runner
        name = environment.parsed_options.baseline
        entries = environment.runner.stats.entries.values()
        so_far = baseline.figures({"rows": [entry.to_dict() for entry in entries]})
        try:
            if not name:
                raise baseline.RunError("No baseline is chosen. make load SAVE=NAME keeps a run.")
            differences = baseline.compared(baseline.read(baseline.folder_of(name))[1], [so_far])
        except baseline.RunError as error:
            return [dict.fromkeys(KEYS, "") | {"row": str(error)}]
        differences.sort(key=lambda one: ORDER.index(one.verdict))
        cells = (
            (one.verdict or "within the spread", one.row, one.measure, *one.ranges) for one in differences
        )
        return [dict(zip(KEYS, each, strict=True)) for each in cells]

    tabs.add(web_ui, "Baseline", COLUMNS, rows)
