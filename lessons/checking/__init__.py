"""Checks of the lessons: what a learner did, read from the logs of the running stack.

A lesson's `check.py` uses the names below and nothing else.
"""

from logs.serverlogs import Line
from logs.varnishlog import Request
from proscenium.running import REPO

from .checks import Need
from .evidence import Ask
from .laboratory import Laboratory, Probe, outcomes, site
from .question import Question
from .shipped import shipped

__all__ = ["REPO", "Ask", "Laboratory", "Line", "Need", "Probe", "Question", "Request"]
__all__ += ["outcomes", "shipped", "site"]
