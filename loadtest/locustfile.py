"""What Locust loads: every user class named here appears in the class picker of its web UI."""

from visitors.audience import Audience

__all__ = ["Audience"]
