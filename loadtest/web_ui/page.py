"""Adds to Locust's page, by a script (page.js), the parts for which Locust has no extension point.

The script describes classes and shapes in the form, by their docstrings, and draws the tab Compare's picture.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask import Response, request
from locust.env import Environment
from locust.web import WebUI

from web_ui import tabs

SCRIPT = Path(__file__).with_suffix(".js")
# The page's own address is its base, whatever --web-base-path is.
TAG = '<script type="module" src="./page.js"></script>'


def install(environment: Environment, web_ui: WebUI) -> None:
    """Serve the script, and add its tag to the page."""
    assert web_ui.app
    # Keep the form's fields in the order of options.py.
    web_ui.app.jinja_env.policies["json.dumps_kwargs"] = {"sort_keys": False}
    web_ui.template_args["descriptions"] = {
        "classes": descriptions(environment.available_user_classes or {}),
        "shapes": {
            "Default": "The number of users below, until the run is stopped or its time is up.",
            **descriptions(environment.available_shape_classes or {}),
        },
    }

    def script() -> Response:
        return Response(SCRIPT.read_text("utf-8"), content_type="text/javascript; charset=utf-8")

    tabs.add_route(environment, web_ui, "page.js", script)

    @web_ui.app.after_request
    def add(response: Response) -> Response:
        if request.endpoint == "locust.index" and response.status_code == 200:
            response.set_data(response.get_data(as_text=True).replace("</body>", f"{TAG}</body>"))
        return response


def descriptions(described: Mapping[str, Any]) -> dict[str, str]:
    """Return name -> the docstring's first paragraph, in one line, as plain text."""
    return {
        name: " ".join((what.__doc__ or "").partition("\n\n")[0].replace("`", "").split())
        for name, what in described.items()
    }
