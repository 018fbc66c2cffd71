"""Restricts Locust's web UI to requests from its own pages, for the target that it was started with.

By itself, Locust accepts requests from any page in the operator's browser, and starts a load on any host.

`SERVER_NAMES`: more names of the web UI, as in nginx.
"""

import os
from fnmatch import fnmatchcase
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Response, jsonify, make_response, request
from locust.env import Environment
from locust.web import WebUI
from werkzeug.routing import RequestRedirect

# Other pages may link to these endpoints, which change nothing.
LINKABLE = ("locust.index", "locust.login")
FOREIGN_TARGET = "The target is fixed: it is this stack."
SHAPE_RUNS = "A load shape is running. Stop it, then start another run."


def install(environment: Environment, web_ui: WebUI) -> None:
    """Check every request before Locust handles it."""
    assert web_ui.app
    names = os.environ.get("SERVER_NAMES", "").lower().split()
    target = (environment.host or "").rstrip("/")

    @web_ui.app.before_request
    def check() -> Response | None:
        if not is_ours(request.host, names):
            return make_response("Unknown host name. SERVER_NAMES in .env adds names.\n", 421)
        linkable = request.endpoint in LINKABLE or isinstance(request.routing_exception, RequestRedirect)
        if from_another_page() and not (request.method == "GET" and linkable):
            return make_response("Requests from other pages are rejected.\n", 403)
        if any(host.rstrip("/") != target for host in targets()):
            return reject(FOREIGN_TARGET)
        # Editing a run sends the form without a shape, and Locust would end the shape that is running.
        if request.endpoint == "locust.swarm" and environment.runner and environment.runner.shape_greenlet:
            return reject(SHAPE_RUNS)
        return None

    @web_ui.app.after_request
    def stay_out_of_frames(response: Response) -> Response:
        # Another page could show the web UI in a frame and steal clicks.
        response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
        return response

    def stay_unread(response: Response) -> Response:
        """Remove Locust's permission for pages of any origin to read its responses."""
        for name in [name for name, _ in response.headers if name.startswith("Access-Control-")]:
            del response.headers[name]
        return response

    # Flask calls the list's first function last: after that of flask_cors, which Locust has added.
    web_ui.app.after_request_funcs.setdefault(None, []).insert(0, stay_unread)


def is_ours(host: str, names: list[str]) -> bool:
    """Return whether a Host header names this web UI; another name that resolves to it is DNS rebinding.

    Addresses cannot be rebound. Names in `names` may begin with `*.`.
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
    """Return whether a page of another origin sent this request, by headers that browsers add."""
    if site := request.headers.get("Sec-Fetch-Site"):
        return site not in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc != request.host


def from_a_browser() -> bool:
    """Return whether a page sent this request, not a script."""
    return bool({"Origin", "Sec-Fetch-Site"} & {name.title() for name, _ in request.headers})


def targets() -> list[str]:
    """Return the targets that a request names: in the form, or for one class of users."""
    if request.endpoint == "locust.swarm":
        return request.form.getlist("host")
    if request.endpoint == "locust.update_user":
        settings = request.get_json(force=True, silent=True)
        host = settings.get("host") if isinstance(settings, dict) else None
        return [str(host)] if host else []
    return []


def reject(why: str) -> Response:
    """Return the response that makes Locust's page show the reason."""
    return jsonify({"success": False, "message": why})
