"""The stage `festival` as it is seeded."""

from collections.abc import Iterator

from upstage.festival.acts import ACTS
from upstage.festival.props import PROPS
from upstage.stage.stage import Colours
from upstage.state.records import StageRecord, Thing

ID = "festival"
# Where the first act's avatars stand; the others are off stage.
PLACES = ((112.0, 184.0), (204.0, 182.0))


def festival() -> StageRecord:
    """Return the record of the stage."""
    return StageRecord(
        id=ID,
        name="Festival",
        splash="Twelve acts in one night. The curtain rises as soon as every act has arrived: 20 MB.",
        colours=Colours(page="0x15132a", tools="0x4a2f5e", backdrop_and_prop="0x0d0b1a", chat="0xf6e7cb"),
        things=tuple(_things()),
    )


def _things() -> Iterator[Thing]:
    for number, act in enumerate(ACTS):
        for n, (puppet, file) in enumerate(zip(act.puppets, act.avatar_files, strict=True)):
            x, y = PLACES[n] if number == 0 else (0.0, 0.0)
            yield Thing("avatar", 2 * number + n + 1, puppet.name, file, x=x, y=y)
        yield Thing("backdrop", number + 1, act.name, act.backdrop_file)
        yield Thing("prop", number + 1, PROPS[act.slug][0], act.prop_file)
        yield Thing("audio", number + 1, act.sound.name, act.sound_file, type=act.sound.type)
