"""`python -m upstage.festival FOLDER FILE...`: makes these files and prints the name of each.

It is a separate process, at the lowest priority: drawing takes five seconds of a core and 90 MB.
"""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from upstage.festival.acts import ACTS, Act
from upstage.festival.figures import avatar, prop
from upstage.festival.props import PROPS
from upstage.festival.scenes import backdrop
from upstage.festival.sounds import join
from upstage.state.seed import put
from upstage.state.turn import locked


def makers(act: Act) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The files of an act and what makes each."""
    yield act.backdrop_file, partial(backdrop, act.name, act.scene)
    for file, puppet in zip(act.avatar_files, act.puppets, strict=True):
        yield file, partial(avatar, puppet)
    yield act.prop_file, partial(prop, PROPS[act.slug][1])
    yield act.sound_file, partial(join, act.sound)


def main(folder: Path, wanted: set[str]) -> None:
    """Make the missing files, one process at a time: a killed server may have left one behind."""
    os.nice(19)
    with locked(folder / ".festival"):
        for file, make in chain.from_iterable(map(makers, ACTS)):
            if file in wanted:
                if not (folder / file).exists():
                    put(folder / file, make())
                print(file, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), set(sys.argv[2:]))
