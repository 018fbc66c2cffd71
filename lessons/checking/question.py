"""The question at the end of a lesson: four choices, in a different order for each attempt."""

import random
from dataclasses import dataclass

LETTERS = "abcd"


@dataclass(frozen=True)
class Choice:
    """One possible answer, and what to say to it."""

    text: str
    because: str


@dataclass(frozen=True)
class Question:
    """`right` is the correct choice, `wrong` the other three; the lesson's page has the text."""

    right: Choice
    wrong: tuple[Choice, Choice, Choice]

    def choices(self, order: str) -> list[Choice]:
        """All four. `order` is any text: the same text gives the same order."""
        choices = [self.right, *self.wrong]
        random.Random(order).shuffle(choices)
        return choices

    def chosen(self, letter: str, order: str) -> Choice:
        """The choice with this letter. Raise ValueError if there is none."""
        letter = letter.strip().lower()
        if letter not in tuple(LETTERS):
            raise ValueError(f"ANSWER is '{letter}'; it can be a, b, c or d.")
        return self.choices(order)[LETTERS.index(letter)]
