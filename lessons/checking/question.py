"""The question at the end of a lesson: four choices, in a different order for each attempt."""

import random
from dataclasses import dataclass

LETTERS = "abcd"


@dataclass(frozen=True)
class Question:
    """`reasons`: each choice, the right one first, with the reply to it. The page asks the question."""

    reasons: dict[str, str]

    @property
    def right(self) -> str:
        """The correct choice."""
        return next(iter(self.reasons))

    def choices(self, order: str) -> list[str]:
        """Return all four choices. `order` is any text: the same text gives the same order."""
        choices = list(self.reasons)
        random.Random(order).shuffle(choices)
        return choices

    def chosen(self, letter: str, order: str) -> str:
        """Return the choice with this letter. Raise ValueError if there is none."""
        letter = letter.strip().lower()
        if letter not in tuple(LETTERS):
            raise ValueError(f"ANSWER is '{letter}'; it can be a, b, c or d.")
        return self.choices(order)[LETTERS.index(letter)]
