"""Checks of the lessons: what a learner did, read from the logs and counters of the running stack.

A lesson's `check.py` uses the names below and nothing else.
"""

from logs.serverlogs import Line

from .attempt import Attempt, outcomes, secret_cookie, site
from .question import Choice, Question
from .stack import LAGGARDS, Ask

__all__ = ["LAGGARDS", "Ask", "Attempt", "Choice", "Line", "Question", "outcomes", "secret_cookie", "site"]
