"""The form of the web UI: descriptions, empty fields and mistakes."""

import pytest

from caches import backend
from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import CLASSES, WebUI, parse, until
from locustfile import SHAPES


def test_the_page_describes_every_class_and_shape_by_its_docstring(ui: WebUI) -> None:
    shown = ui.arguments()["descriptions"]
    assert shown["classes"].keys() == CLASSES.keys()
    assert shown["classes"]["SlowReader"] == (
        "A stalled client: joins, keeps requesting data and never reads the replies."
    )
    assert shown["shapes"].keys() == {"Default", *(shape.__name__ for shape in SHAPES)}
    assert all(text.endswith(".") for texts in shown.values() for text in texts.values())
    assert '<script type="module" src="./page.js"></script></body>' in ui.get("/").get_data(as_text=True)
    assert "descriptions" in ui.get("/page.js").get_data(as_text=True)


@pytest.mark.parametrize(
    "fields",
    [
        dict.fromkeys(("user_count", "spawn_rate", "run_time", "seconds", "topologies", "chat_rate"), ""),
        {"user_count": "0", "spawn_rate": "0", "stage": "", "max_errors": "", "arrivals": "0", "crawl": "0"},
    ],
)
@pytest.mark.parametrize("shape", ["CurtainUp", "Capacity"])
def test_a_shape_starts_at_the_first_click_whatever_the_fields_said(
    site: FakeSite, ui: WebUI, shape: str, fields: dict[str, str]
) -> None:
    assert ui.start(shape_class=shape, **{"user_count": "20", **fields})["success"] is True
    until(lambda: ui.runner.target_user_count == (1 if shape == "Capacity" else 20))  # a sixteenth of them
    until(lambda: site.asked[f"/stages/{ui.options.stage}"] > 0)
    assert (ui.options.seconds, ui.options.max_errors) == (30.0, 0.0)
    assert "<p>20 users (Reader) on " in ui.get("/stats/report").get_data(as_text=True)
    if "stage" in fields:
        assert ui.options.stage == parse().stage


def test_a_script_that_names_no_class_starts_all_and_the_page_none(ui: WebUI) -> None:
    """Scripts send the form as in https://docs.locust.io/en/stable/api.html."""
    form = {"user_count": "20", "spawn_rate": "20", "shape_class": "Default"}
    refused = ui.post("/swarm", form, origin="http://localhost")
    assert refused.get_json()["message"] == "Choose at least one class of users."
    assert ui.post("/swarm", form).get_json()["success"] is True
    assert {user.__name__ for user in ui.environment.user_classes} == set(CLASSES)


def test_an_empty_run_time_is_not_that_of_the_last_run(ui: WebUI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "SETTLE", 0)
    assert ui.start(shape_class="LongRun", run_time="1")["success"] is True
    until(ui.is_over)
    assert ui.start(shape_class="LongRun", run_time="")["success"] is True
    assert ui.options.run_time is None


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"arrivals": "nan"}, "arrivals: 'nan' is not a number of visits per second from 0 to 1000"),
        ({"seconds": "0"}, "seconds: '0' is not a number of seconds from 1 to 3600"),
        ({"max_errors": "2"}, "max errors: '2' is not a number from 0 to 1"),
        ({"user_count": "1.5"}, "user count: '1.5' is not a whole number from 1 to 99999"),
        ({"spawn_rate": "-4"}, "spawn rate: '-4' is not a number from 0.001 to 99999"),
        ({"run_time": "0s"}, "run time: '0s' is not a time such as 30s, 5m or 1h30m"),
        ({"robots": "perhaps"}, "robots: 'perhaps' is not one of ignore, obey"),
        ({"topologies": "default,nowhere"}, "topologies: unknown topology 'nowhere'"),
        ({"shape_class": "Hexagon"}, "There is no shape 'Hexagon'; the shapes are Default, "),
        ({"user_classes": "Walker"}, "There is no class 'Walker'; the classes are Audience, "),
        ({"user_classes": ""}, "Choose at least one class of users."),
        ({"user_classes": "Pages"}, "No user can take part in this run. Pages: there are no --paths."),
        *(
            ({"paths": name}, "paths: the name of a file in loadtest/mine, such as paths.txt")
            for name in ("/run/player/account", "../../../proc/self/environ", "../web_password.py")
        ),
        ({"paths": "."}, "paths: mine is not a file"),
        ({"user_classes": "Crawler", "crawl": "0"}, "Crawler: there is no --crawl."),
        ({"arrivals": "4"}, "Reader: with --arrivals only Arrivals take part."),
    ],
)
def test_a_mistake_is_shown_in_the_form_and_starts_nothing(
    ui: WebUI, form: dict[str, str], message: str
) -> None:
    for shape in ("Default", "Compare"):
        reply = ui.start(**{"shape_class": shape, **form})
        assert reply["success"] is False
        assert message in reply["message"]
    assert ui.runner.state == "ready"


def test_no_users_are_not_the_default_number_unless_a_shape_rules_them(ui: WebUI) -> None:
    for number, rate in (("0", "1"), ("1", "0")):
        reply = ui.start(shape_class="Default", user_count=number, spawn_rate=rate)
        assert reply["success"] is False
        assert ": '0' is not a" in reply["message"]


def test_a_program_may_leave_fields_out_but_not_start_a_run_without_users(ui: WebUI) -> None:
    reply = ui.post("/swarm", {"user_count": "0", "spawn_rate": "1"}).get_json()
    assert reply["message"] == "user count: '0' is not a whole number from 1 to 99999"
    assert ui.post("/swarm").get_json()["success"] is True
    until(lambda: ui.runner.target_user_count == 20)
