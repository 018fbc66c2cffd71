"""What visitors say, and how a listener knows how long a line was under way.

People read along on the stage, so a line is a plain sentence and carries nothing for a machine. Instead the
process remembers whose it is and when it was said: its other visitors measure by that, with one clock. Lines
of other processes, or of people, they hear and do not measure.
"""

import random
import time
from dataclasses import dataclass
from itertools import count

# One of each makes a sentence: millions, so that two processes do not say the same at the same time.
PARTS = (
    "Bravo! Look! Listen! Oh! Ha! Hush! Encore! Lovely! Splendid! Really? Again! Superb! Ah! Well! Hm! Yes!",
    "red old quiet clever gentle brave sleepy golden little famous nervous cheery tired curious elegant shy",
    "fox captain diva harlequin sailor moon lantern gull dancer king ghost pianist clown poet singer cook",
    "dances sleeps waits sings laughs bows dreams whispers turns smiles listens hides sighs jumps nods",
    "harbour garden piano window boat fountain bridge beacon roses stairs quay tower mirror letter tree sea",
    "tonight again alone slowly twice softly already forever quickly sadly gladly calmly now today too",
)
WORDS = tuple(part.split() for part in PARTS)
KEPT = 60.0  # seconds; a line that is under way for longer counts as lost

speakers = count()  # the next speaker's number


@dataclass(frozen=True)
class Line:
    """One line: whose it is, its number among this speaker's lines, and when it was said (time.monotonic)."""

    speaker: int
    number: int
    said: float


# Text -> the line; the oldest first.
lines: dict[str, Line] = {}


def say(speaker: int, number: int) -> str:
    """A sentence that nobody here has said lately, remembered as this speaker's."""
    now = time.monotonic()
    while lines and next(iter(lines.values())).said < now - KEPT:
        del lines[next(iter(lines))]
    while (text := sentence()) in lines:
        pass
    lines[text] = Line(speaker, number, now)
    return text


def sentence() -> str:
    """Any of them."""
    return "{} The {} {} {} by the {} {}.".format(*map(random.choice, WORDS))


class Ear:
    """What one listener has heard: how old each line was, and whether one is missing."""

    def __init__(self) -> None:
        self._latest: dict[int, int] = {}  # speaker -> number

    def hear(self, line: Line, now: float) -> tuple[float, str | None]:
        """Milliseconds since the line was said, and what is wrong.

        Lines of one speaker come in the order in which they were said, so a gap is a lost line.
        """
        expected = self._latest.get(line.speaker, line.number - 1) + 1
        self._latest[line.speaker] = line.number
        fault = None if line.number == expected else "a line before this one was lost, or came twice"
        return (now - line.said) * 1000, fault
