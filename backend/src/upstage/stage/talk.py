"""Chat, speech, thoughts, shouts, whispers, and the audience's buttons. Pure.

Live text is escaped like the replayed text; the log keeps it as it arrived.
"""

import re

from upstage.stage.stage import Member, Stage
from upstage.stage.text import escape, one_line
from upstage.stage.things import Avatar
from upstage.stage.wire import Message, encode

WHISPER_USAGE = "To whisper: /wh name, name = text"


def _words(message: Message, field: str) -> str:
    """Return the text of a field as one line; empty if it is blank."""
    text = one_line(message.need(field))
    return text if text.strip() else ""


def _line(stage: Stage, member: Member, message: Message, field: str) -> tuple[Avatar, str] | None:
    """Return the avatar that speaks, and the text; None without a held avatar or without text."""
    words = _words(message, field)
    avatar = stage.held_by(member)
    return (avatar, words) if words and avatar else None


def text(stage: Stage, member: Member, message: Message) -> None:
    """TEXT: the held avatar speaks; without one, the line is anonymous."""
    if line := _line(stage, member, message, "msg"):
        avatar, words = line
        spoken = encode("TEXT", ID=avatar.id, name=escape(avatar.name), text=escape(words))
        stage.say(f"<{avatar.name}> {words}", spoken, *_aloud(stage, *line))
    elif words := _words(message, "msg"):
        stage.say(f" {words}", encode("ANONTEXT", text=escape(words)))


def shout(stage: Stage, member: Member, message: Message) -> None:
    """SHOUT: a line that is shown and spoken."""
    if line := _line(stage, member, message, "shout"):
        avatar, words = line
        shouted = encode("SHOUT", ID=avatar.id, shout=escape(words))
        stage.say(f"<{avatar.name}>! {words}", shouted, *_aloud(stage, *line))


def thought(stage: Stage, member: Member, message: Message) -> None:
    """THOUGHT: a line that is shown, not spoken; clients get it as THINK."""
    if line := _line(stage, member, message, "thought"):
        avatar, words = line
        stage.say(f"[{avatar.name}] {{{words}}}", encode("THINK", ID=avatar.id, thought=escape(words)))


def persistent(stage: Stage, member: Member, message: Message) -> None:
    """PMESSAGE: a bubble that stays, in clients that support it."""
    if line := _line(stage, member, message, "pmessage"):
        avatar, words = line
        stage.say(f"<{avatar.name}># {words}", encode("PMESSAGE", ID=avatar.id, pmessage=escape(words)))


def _aloud(stage: Stage, avatar: Avatar, words: str) -> list[bytes]:
    """Return the WAVE frame with the URL of the spoken words; empty if they are not spoken."""
    url = stage.host.speak(avatar.voice, words)
    return [encode("WAVE", url=url)] if url else []


def whisper(stage: Stage, member: Member, message: Message) -> None:
    """WHISPER: send `names = text` to players on any stage, by their own or their avatar's name.

    `*` means all players on this stage. No log keeps a whisper.
    """
    names, equals, words = one_line(message.need("msg")).partition("=")
    wanted = list(dict.fromkeys(name.strip() for name in re.split(r"[|,:;/]", names) if name.strip()))
    words = words.strip()
    if not (equals and wanted and words):
        stage.reply(member, encode("MSG", message=WHISPER_USAGE))
        return
    receivers: dict[Member, str] = {}
    missed = []
    called = _by_name(stage)
    for name in wanted:
        found = called.get(name.casefold(), [])
        receivers |= {other: other.player.name for other in found}
        if not found:
            missed.append(name)
    frame = encode("WHISPER", senderID=escape(member.player.name), text=escape(words))
    for receiver in receivers:
        stage.reply(receiver, frame)
    if receivers:
        told = ", ".join(dict.fromkeys(receivers.values()))
        stage.reply(member, encode("MSG", message=f"You whispered to {escape(told)}: {escape(words)}"))
    if missed:
        stage.reply(member, encode("MSG", message=f"No player here is called {escape(', '.join(missed))}."))


def _by_name(stage: Stage) -> dict[str, list[Member]]:
    """Return all players by their own and their avatars' names, in one pass however many names are sought."""
    called: dict[str, list[Member]] = {}
    for member in stage.host.members():
        if member.acts and member.stage:
            avatar = member.stage.held_by(member)
            names = {member.player.name.casefold()} | ({avatar.name.casefold()} if avatar else set())
            names.discard("*")  # `*` may be an avatar's name
            if member.stage is stage:
                names.add("*")
            for name in names:
                called.setdefault(name, []).append(member)
    return called


def details(stage: Stage, member: Member, message: Message) -> None:
    """DETAILS: the stage's name, its players and the size of its audience."""
    players = ", ".join(sorted(other.player.name for other in stage.members if other.acts))
    lines = [f" *{stage.name}* ", f" Players: {players}", f" Audience: {stage.audience}"]
    stage.reply(member, encode("MSG", message="\n".join(lines)))


def applause(stage: Stage, member: Member, message: Message) -> None:
    """APPLAUSE and NOAPPLAUSE: show or hide the audience's applause button."""
    stage.applause = message.mode == "APPLAUSE"
    stage.show(stage.applause_button(), stage)


def volunteer(stage: Stage, member: Member, message: Message) -> None:
    """VOLUNTEER and NOVOLUNTEER: show or hide the audience's volunteer button."""
    stage.volunteer = message.mode == "VOLUNTEER"
    stage.show(stage.volunteer_button(), stage)
