"""Checks the form of Locust's web UI before Locust reads it: an empty number means the field's default.

Without this module, Locust answers an empty or mistyped number with an error page; if the run time is empty,
it uses that of the last run; and it accepts numbers, classes and shapes with which no user can start.
"""

from argparse import ArgumentTypeError, Namespace
from typing import Any

from flask import Response, request
from locust.argument_parser import get_parser, ui_extra_args_dict
from locust.env import Environment
from locust.runners import STATE_RUNNING, STATE_SPAWNING, MasterRunner
from locust.web import WebUI
from werkzeug.datastructures import MultiDict

import walk
from shapes import Shape
from users import taking_part
from web_ui.guard import from_a_browser, reject


def install(environment: Environment, web_ui: WebUI) -> None:
    """Check and complete every form that starts or edits a run; show a mistake in the form."""
    assert web_ui.app

    @web_ui.app.before_request
    def check() -> Response | None:
        if request.endpoint != "locust.swarm":
            return None
        form = MultiDict(request.form)
        try:
            complete(form)
            require_users(environment, form)
        except ValueError as error:
            return reject(str(error))
        request.form = form  # type: ignore[assignment]  # Locust only reads it
        # The form that edits a run has neither of the two fields.
        if "shape_class" in form and not form["run_time"]:
            assert environment.parsed_options
            environment.parsed_options.run_time = None
        return None


def complete(form: MultiDict[str, str]) -> None:
    """Fill in the empty fields that have a type. Raise ValueError if a field does not fit its type."""
    defaults = {field: extra["default_value"] for field, extra in ui_extra_args_dict().items()}
    # With a shape other than Default, Locust's page may disable user_count and spawn_rate, and send 0.
    empty = ("", "0") if form.get("shape_class", "Default") != "Default" else ("",)
    for field, offered in (("user_count", Shape.users), ("spawn_rate", Shape.rate)):
        if form.get(field, "").strip() in empty:
            form[field] = str(offered)
    form.setdefault("run_time", "")
    actions = get_parser().args_included_in_web_ui
    actions["user_count"] = actions["num_users"]
    for field in ("user_count", "spawn_rate", "run_time", *defaults):
        convert, choices = actions[field].type, actions[field].choices
        if field not in form:
            continue
        if convert and field in defaults and not form[field].strip():
            form[field] = str(defaults[field])
        try:
            if field == "paths" and form[field] not in ("", defaults[field]):
                form[field] = walk.file_of_page(form[field])
            if callable(convert) and form[field]:
                convert(form[field])
        except (ValueError, ArgumentTypeError) as error:
            raise ValueError(f"{field.replace('_', ' ')}: {error}") from error
        if choices and form[field] not in choices:
            raise ValueError(f"{field.replace('_', ' ')}: {form[field]!r} is not one of {', '.join(choices)}")


def require_users(environment: Environment, form: MultiDict[str, str]) -> None:
    """Raise ValueError if the form starts a run that can have no user."""
    runner, options = environment.runner, environment.parsed_options
    assert runner
    assert options
    classes: dict[str, Any] = environment.available_user_classes or {}
    chosen = [name for name in form.getlist("user_classes") if name]
    shapes = ["Default", *(environment.available_shape_classes or {})]
    if unknown := [name for name in chosen if name not in classes]:
        raise ValueError(f"There is no class {unknown[0]!r}; the classes are {', '.join(classes)}.")
    if form.get("shape_class", shapes[0]) not in shapes:
        raise ValueError(f"There is no shape {form['shape_class']!r}; the shapes are {', '.join(shapes)}.")
    if runner.state in (STATE_SPAWNING, STATE_RUNNING):
        return  # the form edits a run
    # In a script's request no class means all; in one of Locust's page it means that none is chosen.
    if not chosen and ("user_classes" in form or from_a_browser()):
        raise ValueError("Choose at least one class of users.")
    if isinstance(runner, MasterRunner) and not runner.worker_count:
        raise ValueError("This Locust is a master, and no worker has come yet.")
    given = Namespace(**{**vars(options), **form.to_dict()})
    given.arrivals, given.crawl = float(given.arrivals), float(given.crawl)  # in the form they are text
    if why := taking_part.refusal([classes[name] for name in chosen or classes], given):
        raise ValueError(why)
