"""Checks the form of Locust's web UI before Locust reads it: an empty number means its default.

Without this, Locust answers an empty or mistyped number with an error page, and if the run time is empty
it uses that of the last run.
"""

from argparse import ArgumentTypeError, Namespace
from typing import Any

from flask import Response, request
from locust.argument_parser import get_parser, ui_extra_args_dict
from locust.env import Environment
from locust.web import WebUI
from werkzeug.datastructures import MultiDict

from shapes import Shape
from users import taking_part
from web_ui.guard import reject


def install(environment: Environment, web_ui: WebUI) -> None:
    """Check and complete every form that starts a run; a mistake is shown in the form."""
    assert web_ui.app

    @web_ui.app.before_request
    def check() -> Response | None:
        if request.endpoint != "locust.swarm":
            return None
        form = MultiDict(request.form)
        try:
            complete(form)
        except ValueError as error:
            return reject(str(error))
        assert environment.parsed_options
        if "shape_class" in form:
            known = environment.available_user_classes or {}
            chosen: list[Any] = [
                known[name] for name in form.getlist("user_classes") or known if name in known
            ]
            options = Namespace(**{**vars(environment.parsed_options), **form.to_dict()})
            if chosen and (why := taking_part.refusal(chosen, options)):
                return reject(why)
        request.form = form  # type: ignore[assignment]  # Locust only reads it
        # The form that edits a run has neither field.
        if "shape_class" in form and not form.get("run_time"):
            environment.parsed_options.run_time = None
        return None


def complete(form: MultiDict[str, str]) -> None:
    """Fill in the empty fields that have a type. Raise ValueError for a field that does not fit it."""
    for field, offered in (("user_count", Shape.users), ("spawn_rate", Shape.rate)):
        form[field] = form.get(field) or str(offered)
    actions = get_parser().args_included_in_web_ui
    for field, extra in ui_extra_args_dict().items():
        convert, choices = actions[field].type, actions[field].choices
        if field not in form:
            continue
        if convert and not form[field].strip():
            form[field] = str(extra["default_value"])
        try:
            if callable(convert):
                convert(form[field])
        except (ValueError, ArgumentTypeError) as error:
            raise ValueError(f"{field.replace('_', ' ')}: {error}") from error
        if choices and form[field] not in choices:
            raise ValueError(f"{field.replace('_', ' ')}: {form[field]!r} is not one of {', '.join(choices)}")
