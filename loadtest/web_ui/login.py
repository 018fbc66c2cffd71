"""A login for Locust's web UI if other machines can reach it; `web_password` gives the account.

Locust provides the page; this module checks name and password.
https://docs.locust.io/en/stable/extending-locust.html
"""

import hmac
import secrets

from flask import Blueprint, Response, redirect, request, session, url_for
from flask_login import LoginManager, UserMixin, login_user  # type: ignore[import-untyped]
from gevent import sleep
from gevent.event import Event
from locust.env import Environment
from locust.web import WebUI

import web_password

PAUSE = 1.0  # seconds after a wrong password in which none is checked, against guessing


class NewestFirst:
    """A lock that goes to the newest request: a client with many passwords cannot keep the operator out."""

    def __init__(self) -> None:
        self._taken = False
        self._waiting: list[Event] = []

    def __enter__(self) -> None:
        if self._taken:
            self._waiting.append(turn := Event())
            turn.wait()
        self._taken = True

    def __exit__(self, *_: object) -> None:
        if self._waiting:
            self._waiting.pop().set()  # the lock stays taken, by this request
        else:
            self._taken = False


class Operator(UserMixin):  # type: ignore[misc]
    """The only account."""

    id = "operator"


def install(environment: Environment, web_ui: WebUI) -> None:
    """Require the login on every page except the login page, if the web UI needs a login."""
    options = environment.parsed_options
    assert options
    if not options.web_login and not web_password.is_required(options.web_host):
        return
    assert web_ui.app
    account = web_password.account()
    base = options.web_base_path
    # Locust does this for --web-login, but has already read that option at this point.
    web_ui.web_login = True
    web_ui.login_manager = LoginManager(web_ui.app)
    web_ui.login_manager.login_view = "locust.login"
    # A new key at each start invalidates the sessions of the last start.
    web_ui.app.secret_key = secrets.token_bytes(32)
    web_ui.app.config["SESSION_COOKIE_SAMESITE"] = "Strict"
    web_ui.login_manager.user_loader(lambda name: Operator() if name == Operator.id else None)
    web_ui.auth_args = {"username_password_callback": f"{base}/login"}
    blueprint = Blueprint("login", __name__, url_prefix=base)
    one_at_a_time = NewestFirst()

    @blueprint.route("/login", methods=["POST"])
    def log_in() -> Response:
        given = [request.form.get(field, "").encode() for field in ("username", "password")]
        with one_at_a_time:
            # Compare both in constant time, so that the time reveals nothing about either.
            right = [
                hmac.compare_digest(one, other.encode()) for one, other in zip(given, account, strict=True)
            ]
            if all(right):
                login_user(Operator())
                return redirect(url_for("locust.index"))  # type: ignore[return-value]
            sleep(PAUSE)
        session["auth_error"] = "Wrong name or password"
        return redirect(url_for("locust.login"))  # type: ignore[return-value]

    web_ui.app.register_blueprint(blueprint)
