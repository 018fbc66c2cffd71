"""Sounds and music: one function for each mode. Pure.

Every client fetches the files that these frames name, so a frame may name only the stage's own sounds. Only
clients interpret the words in `type` and `array`; the server limits their length.
"""

import re

from upstage.stage.stage import Member, Stage
from upstage.stage.things import Audio
from upstage.stage.wire import BadFrame, Message, encode

APPLAUSE = "applause.mp3"  # the file that the applause button of every client names
CLOSED = "There is no applause now: the players open it."

_WORD = re.compile(r"[A-Za-z_]{0,20}")
_SPEECH = re.compile(r"/speech/utter-[A-Za-z0-9-]{1,64}\.mp3")


def _audio(stage: Stage, message: Message, field: str) -> Audio | None:
    """Return the stage's sound that a field names, by URL or bare file name."""
    name = message.need(field)
    return next((audio for audio in stage.audios if name in (audio.url, audio.file)), None)


def _word(message: Message, field: str) -> str:
    word = message.need(field)
    if not _WORD.fullmatch(word):
        raise BadFrame(f"{message.mode}: {field} is not a word")
    return word


def load(stage: Stage, member: Member, message: Message) -> None:
    """LOAD_MUSIC and LOAD_EFFECT: load a sound into one of the clients' slots."""
    mode = {"LOAD_MUSIC": "MUSIC", "LOAD_EFFECT": "EFFECT"}[message.mode]
    if audio := _audio(stage, message, "file"):
        stage.broadcast(encode(mode, url=audio.url))


def applaud(stage: Stage, member: Member, message: Message) -> None:
    """PLAY_APPLAUSE: play a sound of the stage or, on any stage, the clients' own applause; the audience is
    refused while applause is closed.
    """
    if not (stage.applause or member.acts):
        stage.reply(member, encode("MSG", message=CLOSED))
        return
    audio = _audio(stage, message, "file")
    if audio or message.need("file") == APPLAUSE:
        stage.broadcast(encode("APPLAUSE_PLAY", url=audio.url if audio else f"/media/audio/{APPLAUSE}"))


def clip(stage: Stage, member: Member, message: Message) -> None:
    """PLAY_CLIP, PAUSE_CLIP and LOOP_CLIP: control a slot."""
    array = _word(message, "array")
    if audio := _audio(stage, message, "url"):
        if message.mode == "PLAY_CLIP":
            audio.started = stage.host.clock()
        stage.broadcast(encode(message.mode, array=array, url=message.need("url")))


def slot(stage: Stage, member: Member, message: Message) -> None:
    """ADJUST_VOLUME, STOP_AUDIO and CLEAR_AUDIOSLOT: control a slot, also one whose speech has ended."""
    type, url = _word(message, "type"), message.need("url")
    audio = _audio(stage, message, "url")
    if audio is None and not _SPEECH.fullmatch(url):
        return
    if message.mode == "ADJUST_VOLUME":
        stage.broadcast(encode("VOLUME", url=url, type=type, volume=message.short("volume", 0, 100)))
    elif message.mode == "STOP_AUDIO":
        if audio:
            audio.started = None
        stage.broadcast(encode("STOPAUDIO", url=url, type=type))
    else:
        stage.broadcast(encode("CLEAR_AUDIOSLOT", type=type, url=url))
