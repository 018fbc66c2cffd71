"""A login page for Locust's web UI, for where others can reach it.

`LOCUST_WEB_USERNAME` and `LOCUST_WEB_PASSWORD`: who may come in; `start.sh` then adds `--web-login`. Locust
has the page, and leaves to the locustfile who may pass.
"""

import hmac
import os
import secrets
from typing import Any

from flask import Blueprint, Response, redirect, request, session, url_for
from flask_login import UserMixin, login_user  # type: ignore[import-untyped]
from gevent import sleep
from locust import events
from locust.env import Environment

NAME = "LOCUST_WEB_USERNAME"
PASSWORD = "LOCUST_WEB_PASSWORD"
PAUSE = 1.0  # seconds after a wrong password, so that nobody can try thousands


class Operator(UserMixin):  # type: ignore[misc]
    """The one account there is."""

    id = "operator"


def install(environment: Environment, **_: Any) -> None:
    """With `--web-login`: let in who knows both, and nobody if they are not set."""
    web_ui = environment.web_ui
    if not web_ui or not web_ui.web_login:
        return
    assert web_ui.app
    name, password = os.environ.get(NAME, ""), os.environ.get(PASSWORD, "")
    if not name or not password:
        raise ValueError(f"--web-login needs {NAME} and {PASSWORD}")
    base = environment.parsed_options.web_base_path  # type: ignore[union-attr]
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
