"""Players, stages and media as plain values, for the database, content/ and the workshop. Pure."""

import re
from dataclasses import dataclass

from upstage.stage.players import Player
from upstage.stage.stage import Colours
from upstage.stage.things import HEIGHT, WIDTH

RIGHTS = ("act", "admin", "su")  # UpStage's names: act on stages, edit stages and media, manage players
KINDS = ("avatar", "backdrop", "prop", "audio")
SOUND_TYPES = ("sfx", "music")

STAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
PLAYER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
COLOUR = re.compile(r"0x[0-9A-Fa-f]{6}")
VOICE = re.compile(r"[a-z0-9_+-]{1,40}")
MAX_NAME = 100  # characters of the name of a stage or thing
MAX_SPLASH = 1000


class RecordError(ValueError):
    """An invalid value; the message, for the person who entered it, says which value and why."""


class NotWritten(Exception):
    """Nothing was written, and earlier data are intact; the message gives the reason."""

    status = 503  # the HTTP status of the response


class NoRoom(NotWritten):
    """The disk is full."""

    status = 507


class Locked(NotWritten):
    """Another program keeps the database locked."""


@dataclass(frozen=True)
class Account:
    """A player who can sign in: name, argon2 hash, and some of RIGHTS."""

    name: str
    password: str
    rights: frozenset[str]

    def __post_init__(self) -> None:
        if not PLAYER_NAME.fullmatch(self.name):
            raise RecordError(
                "A player's name must have 1 to 40 letters, digits, dots, hyphens or underscores."
            )
        if unknown := self.rights - set(RIGHTS):
            raise RecordError(f"Unknown right: {', '.join(sorted(unknown))}; valid are {', '.join(RIGHTS)}.")

    @property
    def player(self) -> Player:
        return Player(self.name, "act" in self.rights, "admin" in self.rights, "su" in self.rights)


@dataclass(frozen=True)
class Session:
    """A sign-in: its token's SHA-256, the account at that time, and its end in seconds since 1970."""

    digest: str
    account: Account
    expires: float


@dataclass(frozen=True)
class Medium:
    """An uploaded file. `file` is its path below /media, `date` the time of its last upload."""

    file: str
    kind: str
    name: str
    uploader: str
    date: str
    size: int

    def __post_init__(self) -> None:
        require_name("The name of a file", self.name)
        if self.kind not in KINDS:
            raise RecordError(f"The kind of a file must be one of {', '.join(KINDS)}.")

    @property
    def url(self) -> str:
        return f"/media/{self.file}"


@dataclass(frozen=True)
class Thing:
    """A medium on a stage. IDs are counted for each kind; only avatars use `voice`, `x` and `y`."""

    kind: str
    id: int
    name: str
    file: str
    voice: str = "default"
    x: float = 0.0  # its position at first, and after a reset; 0, 0 is off stage
    y: float = 0.0
    type: str = ""  # of an audio: one of SOUND_TYPES

    def __post_init__(self) -> None:
        require_name("The name of a thing", self.name)
        if not VOICE.fullmatch(self.voice):
            raise RecordError("A voice must be a word of lower-case letters and digits, such as default.")
        if not (0 <= self.x <= WIDTH and 0 <= self.y <= HEIGHT):  # also false for NaN
            raise RecordError(f"A position on the stage must lie between 0, 0 and {WIDTH:.0f}, {HEIGHT:.0f}.")
        if self.kind == "audio" and self.type not in SOUND_TYPES:
            raise RecordError(f"The type of a sound must be one of {', '.join(SOUND_TYPES)}.")

    @property
    def url(self) -> str:
        return f"/media/{self.file}"


@dataclass(frozen=True)
class StageRecord:
    """A stage as it is before any action on it, and after a reset."""

    id: str
    name: str
    splash: str
    colours: Colours
    things: tuple[Thing, ...] = ()
    listed: bool = True  # False: only its address leads to it
    resets: int = 0  # the number of its resets; a server that reads a new number resets its live stage

    def __post_init__(self) -> None:
        if not STAGE_ID.fullmatch(self.id):
            raise RecordError("A stage's address must have 1 to 64 letters, digits, hyphens or underscores.")
        require_name("The name of a stage", self.name)
        if not self.splash.strip() or len(self.splash) > MAX_SPLASH:
            raise RecordError(f"The welcome text must have 1 to {MAX_SPLASH} characters.")
        colours = self.colours
        for colour in (colours.page, colours.tools, colours.backdrop_and_prop, colours.chat):
            if not COLOUR.fullmatch(colour):
                raise RecordError(f"{colour!r} is not a colour; expected 0xRRGGBB.")

    def of_kind(self, kind: str) -> list[Thing]:
        """Return the things of one kind, in the order of their IDs."""
        return [thing for thing in self.things if thing.kind == kind]


def new_stage(id: str, name: str) -> StageRecord:
    """Return a stage without things; raise RecordError for an invalid ID or name."""
    colours = Colours(page="0x1f1b2e", tools="0x33264a", backdrop_and_prop="0x15132a", chat="0xf6e7cb")
    return StageRecord(id, name, f"Welcome to {name}.", colours)


@dataclass(frozen=True)
class Snapshot:
    """The database at one moment, without kept states: accounts by name, media by file, stages by ID."""

    accounts: dict[str, Account]
    media: dict[str, Medium]
    stages: dict[str, StageRecord]


EMPTY = Snapshot({}, {}, {})


def require_name(what: str, name: str) -> None:
    """Raise RecordError unless a name is one line of 1 to MAX_NAME characters."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise RecordError(f"{what} must have 1 to {MAX_NAME} characters, on one line.")
