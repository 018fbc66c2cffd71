"""Chat lines, and the way a listener measures their age.

People read the chat, too, so a line is a plain sentence without a mark for machines. Instead, this process
remembers which user sent it and when; its other users measure by that, with one clock. Lines from other
processes and from people are not measured.
"""

import random
import time
from dataclasses import dataclass
from itertools import count

# A sentence has one word from each list: of the millions, two processes hardly ever send the same one.
PARTS = (
    "Bravo! Look! Listen! Oh! Ha! Hush! Encore! Lovely! Splendid! Really? Again! Superb! Ah! Well! Hm! Yes!",
    "red old quiet clever gentle brave sleepy golden little famous nervous cheery tired curious elegant shy",
    "fox captain diva harlequin sailor moon lantern gull dancer king ghost pianist clown poet singer cook",
    "dances sleeps waits sings laughs bows dreams whispers turns smiles listens hides sighs jumps nods",
    "harbour garden piano window boat fountain bridge beacon roses stairs quay tower mirror letter tree sea",
    "tonight again alone slowly twice softly already forever quickly sadly gladly calmly now today too",
)
WORDS = tuple(part.split() for part in PARTS)
KEPT = 60.0  # seconds; a line that takes longer counts as lost

speakers = count()  # the next speaker's number


@dataclass(frozen=True)
class Line:
    """One line: its speaker, its number among this speaker's lines, and when it was sent (time.monotonic)."""

    speaker: int
    number: int
    said: float


# Text -> the line; the oldest first.
lines: dict[str, Line] = {}


def say(speaker: int, number: int) -> str:
    """Return a sentence that no user of this process has sent lately, and remember it as this speaker's."""
    now = time.monotonic()
    while lines and next(iter(lines.values())).said < now - KEPT:
        del lines[next(iter(lines))]
    while (text := sentence()) in lines:
        pass
    lines[text] = Line(speaker, number, now)
    return text


def sentence() -> str:
    return "{} The {} {} {} by the {} {}.".format(*map(random.choice, WORDS))


class Listener:
    """Measures the lines that one session receives: their age, and whether one is missing."""

    def __init__(self) -> None:
        self._latest: dict[int, int] = {}  # speaker -> number of the speaker's last line

    def hear(self, line: Line, now: float) -> tuple[float, str | None]:
        """Return the milliseconds since the line was sent, and its fault, if any.

        Lines of one speaker arrive in the order in which they were sent, so a gap means a lost line.
        """
        expected = self._latest.get(line.speaker, line.number - 1) + 1
        self._latest[line.speaker] = line.number
        fault = None if line.number == expected else "the line before this one was lost, or came twice"
        return (now - line.said) * 1000, fault
