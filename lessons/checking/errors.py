"""Why a lesson is not done."""


class Missing(Exception):
    """The learner has not done something yet, or did it differently; the text says what, and what to do."""


class StartAgain(Exception):
    """The attempt cannot be judged; the text says why, and what to do."""
