"""A login page for Locust's web UI, for where other machines can reach it; `web_password` has the account.

Locust has the page, and leaves to the locustfile who may pass.
"""

import hmac
import secrets
from typing import Any

from flask import Blueprint, Response, redirect, request, session, url_for
from flask_login import LoginManager, UserMixin, login_user  # type: ignore[import-untyped]
from gevent import sleep
from locust import events
from locust.env import Environment

import web_password

PAUSE = 1.0  # seconds after a wrong password, so that nobody can try thousands


class Operator(UserMixin):  # type: ignore[misc]
    """The one account there is."""

    id = "operator"


def install(environment: Environment, **_: Any) -> None:
    """Ask for name and password, where that is wanted, on every page but the login page."""
    web_ui = environment.web_ui
    options = environment.parsed_options
    if not web_ui or not options or not (options.web_login or web_password.is_asked(options.web_host)):
        return
    assert web_ui.app
    name, password = web_password.account()
    base = options.web_base_path
    # What Locust does with --web-login; it is too late for that here, where we know.
    web_ui.web_login = True
    web_ui.login_manager = LoginManager(web_ui.app)
    web_ui.login_manager.login_view = "locust.login"
    # Whoever is logged in has to do it again when Locust is started again.
    web_ui.app.secret_key = secrets.token_bytes(32)
    web_ui.app.config["SESSION_COOKIE_SAMESITE"] = "Strict"
    web_ui.login_manager.user_loader(lambda known: Operator() if known == Operator.id else None)
    web_ui.auth_args = {"username_password_callback": f"{base}/login"}
    blueprint = Blueprint("login", __name__, url_prefix=base)

    @blueprint.route("/login", methods=["POST"])
    def log_in() -> Response:
        given = [request.form.get(field, "").encode() for field in ("username", "password")]
        # Both are compared, and in a time that tells nothing.
        right = [
            hmac.compare_digest(*pair) for pair in zip(given, (name.encode(), password.encode()), strict=True)
        ]
        if all(right):
            login_user(Operator())
            return redirect(url_for("locust.index"))  # type: ignore[return-value]
        sleep(PAUSE)
        session["auth_error"] = "Wrong name or password"
        return redirect(url_for("locust.login"))  # type: ignore[return-value]

    web_ui.app.register_blueprint(blueprint)


events.init.add_listener(install)  # type: ignore[no-untyped-call]
