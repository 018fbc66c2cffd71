"""Checks of the lessons: what a learner did, read from the logs and counters of the running stack.

A lesson's `check.py` uses the names below and nothing else.
"""

from logs.serverlogs import Line
from logs.varnishlog import Request
from proscenium.running import REPO

from .attempt import Attempt, Probe, outcomes, secret_cookie, secret_word, site
from .evidence import LAGGARDS, Ask
from .lesson import Need
from .question import Question
from .shipped import shipped

__all__ = ["LAGGARDS", "REPO", "Ask", "Attempt", "Line", "Need", "Probe", "Question", "Request"]
__all__ += ["outcomes", "secret_cookie", "secret_word", "shipped", "site"]
