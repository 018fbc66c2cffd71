"""Which requests Locust's page obeys: those of its own pages, for the target it was started for.

Locust alone takes orders from every page that the operator's browser has open, and starts a load on any host.

`SERVER_NAMES`: more names under which the page is reached, as for nginx.
`LOADTEST_FOREIGN_HOSTS=on`: the form may name any target.
"""

import os
from fnmatch import fnmatchcase
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Response, jsonify, make_response, request
from locust import events
from locust.env import Environment

# A link on another page may lead here: these pages change nothing.
LINKABLE = ("locust.index", "locust.login")
FOREIGN_TARGET = "The target is fixed. LOADTEST_FOREIGN_HOSTS=on lets this form choose another one."
SCENARIO_RUNS = "A scenario is running. Stop it, then start another run."


def install(environment: Environment, **_: object) -> None:
    """Look at every request before Locust does, where there is a web UI."""
    web_ui = environment.web_ui
    if not web_ui:
        return
    assert web_ui.app
    names = os.environ.get("SERVER_NAMES", "").lower().split()
    anywhere = os.environ.get("LOADTEST_FOREIGN_HOSTS", "off") == "on"
    target = (environment.host or "").rstrip("/")

    @web_ui.app.before_request
    def check() -> Response | None:
        if not is_ours(request.host, names):
            return make_response("This page is not known by that name. SERVER_NAMES in .env adds it.\n", 421)
        if from_another_page() and not (request.method == "GET" and request.endpoint in LINKABLE):
            return make_response("Another page has asked for this.\n", 403)
        if not anywhere and any(host.rstrip("/") != target for host in targets()):
            return refuse(FOREIGN_TARGET)
        # To edit a run means the plain form to Locust: that would end a scenario.
        if request.endpoint == "locust.swarm" and environment.runner and environment.runner.shape_greenlet:
            return refuse(SCENARIO_RUNS)
        return None

    @web_ui.app.after_request
    def stay_out_of_frames(response: Response) -> Response:
        # In a frame, a click could be stolen for an order that comes from our own page.
        response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
        return response


def is_ours(host: str, names: list[str]) -> bool:
    """Whether a Host header may be this page's: a stranger's name that leads here is DNS rebinding.

    An address cannot be rebound; `names` may begin with `*.`.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        if name == "localhost" or any(fnmatchcase(name, known) for known in ("*.localhost", *names)):
            return True
        ip_address(name)
    except ValueError:
        return False
    return True


def from_another_page() -> bool:
    """Whether a page of another origin has made this request, as the browser tells; programs tell nothing."""
    if site := request.headers.get("Sec-Fetch-Site"):
        return site not in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc != request.host


def targets() -> list[str]:
    """The targets that an order names: in the form, or for one class of users."""
    if request.endpoint == "locust.swarm":
        return request.form.getlist("host")
    if request.endpoint == "locust.update_user":
        order = request.get_json(force=True, silent=True)
        host = order.get("host") if isinstance(order, dict) else None
        return [str(host)] if host else []
    return []


def refuse(why: str) -> Response:
    """As Locust's page expects it."""
    return jsonify({"success": False, "message": why})


events.init.add_listener(install)  # type: ignore[no-untyped-call]
