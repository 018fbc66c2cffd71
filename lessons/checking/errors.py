"""The reasons why a lesson is not done."""


class Missing(Exception):
    """The learner has not done something yet, or has done it differently; the message says what to do."""


class StartAgain(Exception):
    """The attempt cannot be judged; the message gives the reason, and says what to do."""
