"""The load test: nine classes of users with their weights, and seven load shapes.

The classes list a user's tasks; `users/` implements them. The web UI offers all classes and shapes.
"""

import random

from locust import User, between, events, task
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment

import figures
import options
import own_hosts
import shapes
from caches import tab as caches_tab
from comparison import gather
from comparison import shape as comparison_shape
from comparison.capacity import Capacity  # ever more users, until a threshold fails
from comparison.compare import Compare  # the same users on one topology after the other
from results import baseline_tab, compare_tab, report, verdict_tab
from results import page as report_page
from shapes import (
    CurtainUp,  # all users arrive within five seconds
    Interval,  # all users leave and return
    LongRun,  # all users stay until the run is stopped
    Slashdot,  # a tenth of the users, then suddenly all of them
    Step,  # a tenth more every half minute
)
from users import flash, stalled, taking_part
from users.arrivals import DIFFERENCE, Schedule
from users.browser import Browser
from users.crawler import Crawl
from users.pages import SiteVisitor
from users.player import SignedInVisitor
from users.visitor import StageVisitor, WebSocketVisitor
from verdict import thresholds
from web_ui import form, guard, login, metrics, page

SHAPES = (CurtainUp, Slashdot, Interval, LongRun, Step, Compare, Capacity)


class Audience(StageVisitor):
    """A browser: loads the stage and all files it names, joins over the stage socket, chats, then reloads."""

    weight = 10
    wait_time = between(2, 5)

    @task(3)
    def reload(self) -> None:
        """Load the stage again; the browser cache answers or revalidates what it has."""
        self.visit()

    @task(1)
    def arrive(self) -> None:
        """Load the stage as a new visitor, with an empty browser cache."""
        self.become_newcomer()
        self.visit()


class WebAudience(WebSocketVisitor, Audience):
    """The same over a WebSocket, as browsers connect today."""

    weight = 5


class FlashClient(User):
    """A Flash player without its page: fetches the socket policy, joins over the stage socket, chats."""

    weight = 2
    wait_time = between(1, 3)

    @task
    def visit(self) -> None:
        """Flash opens its socket only if the policy allows it."""
        flash.visit(self, seconds=20)


class Reader(Browser):
    """Fetches one file after another, without a browser cache: work for nginx and Varnish."""

    weight = 2
    wait_time = between(0.2, 1)

    @task
    def read(self) -> None:
        """Fetch any file that the stage page names; the page itself only once."""
        if self.assets or self.load_page():
            self.clear_browser_cache()
            self.fetch(random.choice(self.assets))


class SlowReader(User):
    """A stalled client: joins, keeps requesting data and never reads the replies."""

    weight = 1
    wait_time = between(1, 3)

    @task
    def stall(self) -> None:
        """The stage must disconnect this client: this is not a failure. Only the connection is reported."""
        stalled.visit(self)


class Player(SignedInVisitor):
    """Signs in, takes an avatar, walks, speaks and draws. Left out of the run without an account."""

    fixed_count = 1  # an account can be on a stage only once
    wait_time = between(1, 3)

    @task
    def perform(self) -> None:
        """Join with the player's key; a rejected password stops this user."""
        if self.sign_in():
            self.visit(random.uniform(60, 120))


class Pages(SiteVisitor):
    """Walks the paths of your own application (docs/your-application.md). Only with `--paths`."""

    wait_time = between(0.2, 1)

    @task
    def read(self) -> None:
        """Fetch the next path of the list."""
        self.fetch_next()


class Arrivals(Schedule):
    __doc__ = f"Newcomers, `arrivals` of them a second; above 0 they run alone, at 0 not at all. {DIFFERENCE}"

    @task
    def come(self) -> None:
        """Open the visits that are due."""
        self.open_visits()


class Crawler(Crawl):
    """Crawlers, `crawl` requests a second of `crawl addresses` together: they walk a site's links, without
    cookies and caches, beside the other classes; `robots` says whether they obey robots.txt. At 0 not at all.
    """

    @task
    def crawl(self) -> None:
        """Make the requests that are due."""
        self.ask_due()


@events.init_command_line_parser.add_listener
def add_options(parser: LocustArgumentParser) -> None:
    """Each option is a field of the form, a command line option and an environment variable."""
    options.add(parser)
    thresholds.add(parser)


@events.init.add_listener
def set_up(environment: Environment, **_: object) -> None:
    """Register the listeners of each module, then install the additions to the web UI, in this order."""
    for module in (own_hosts, shapes, taking_part, figures, gather, comparison_shape, report):
        module.register(environment)
    if environment.web_ui:
        tabs = (caches_tab, verdict_tab, baseline_tab, compare_tab)
        for addition in (guard, form, login, *tabs, report_page, metrics, page):
            addition.install(environment, environment.web_ui)
    metrics.publish(environment)
