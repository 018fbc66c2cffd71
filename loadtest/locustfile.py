"""What Locust loads: every user class and every scenario named here can be chosen in its web UI."""

# What they do, they do by listening to Locust.
import cache_tab.tab  # noqa: F401
import guard  # noqa: F401
import login  # noqa: F401
import verdict_tab  # noqa: F401
from scenarios import CurtainUp, Interval, LongRun, Slashdot, Step
from visitors import arguments as arguments  # the fields of the form
from visitors.audience import Audience
from visitors.flash_client import FlashClient
from visitors.player import Player
from visitors.reader import Reader
from visitors.slow_reader import SlowReader
from visitors.web_audience import WebAudience

__all__ = [
    "Audience",
    "CurtainUp",
    "FlashClient",
    "Interval",
    "LongRun",
    "Player",
    "Reader",
    "Slashdot",
    "SlowReader",
    "Step",
    "WebAudience",
]
