"""Avatars, props and backdrops: one function for each mode. Pure.

An unknown ID changes nothing, except in BACKDROP; modes for the held avatar do nothing without one.
"""

from upstage.stage.stage import Member, Stage, find
from upstage.stage.text import avatar_name, escape, one_line
from upstage.stage.things import HEIGHT, MAX_DEPTH, MAX_FRAMES, WIDTH
from upstage.stage.wire import Message, encode

EDGE = 1.0  # the smallest coordinate: for late joiners an avatar at 0 is off stage


def hold(stage: Stage, member: Member, message: Message) -> None:
    """AV: take a free avatar; release the member's previous one where it stands."""
    id = message.need("ID")
    avatar = find(stage.avatars, id)
    if avatar is None:
        stage.reply(member, encode("ERR", error=f"No such avatar ({escape(one_line(id))})"))
    elif avatar.holder in (None, member):
        if own := stage.held_by(member):
            own.holder = None
            stage.to_players(encode("AV_DISCONNECT", client=member.id, ID=own.id))
        avatar.holder = member
        stage.to_players(encode("AV_CONNECT", client=member.id, ID=avatar.id))


def put_away(stage: Stage, member: Member, message: Message) -> None:
    """EXIT: release an avatar and take it off the stage, unless another member holds the avatar."""
    avatar = find(stage.avatars, message.need("ID"))
    if avatar is None or avatar.holder not in (None, member):
        return
    if avatar.holder is member:
        avatar.holder = None
        stage.to_players(encode("AV_DISCONNECT", client=member.id, ID=avatar.id))
    avatar.x = avatar.y = avatar.z = 0.0
    props = [prop for prop in stage.props if prop.holder == avatar.id]
    for prop in props:
        prop.holder = 0  # clients release the prop at PUT_AWAY
    stage.show(encode("PUT_AWAY", ID=avatar.id), avatar, *props)


def move(stage: Stage, member: Member, message: Message) -> None:
    """MOVE: jump to a position."""
    x, y = _place(message)
    z = message.number("Z", 0, MAX_DEPTH) if "Z" in message.fields else 0
    if avatar := stage.held_by(member):
        avatar.x, avatar.y, avatar.z = x, y, z
        stage.show(avatar.position(), avatar)


def walk(stage: Stage, member: Member, message: Message) -> None:
    """MOVETOWARD: walk to a position; late joiners see the avatar there immediately."""
    x, y = _place(message)
    if avatar := stage.held_by(member):
        avatar.x, avatar.y = x, y
        stage.show(encode("AV_MOVETOWARD", ID=avatar.id, X=x, Y=y), avatar)


def _place(message: Message) -> tuple[float, float]:
    return message.number("X", EDGE, WIDTH), message.number("Y", EDGE, HEIGHT)


def rename(stage: Stage, member: Member, message: Message) -> None:
    """RENAME: rename the held avatar."""
    name = avatar_name(message.need("name"))
    avatar = stage.held_by(member)
    if avatar and name:
        avatar.name = name
        stage.show(encode("RENAME", ID=avatar.id, name=name), avatar)


def properties(stage: Stage, member: Member, message: Message) -> None:
    """AVPROPERTIES: show or hide the name of any avatar."""
    avatar = find(stage.avatars, message.need("ID"))
    wish = message.need("show_name")
    if avatar and wish in ("show", "hide"):
        avatar.show_name = wish == "show"
        stage.show(avatar.properties(), avatar)


def layer(stage: Stage, member: Member, message: Message) -> None:
    """AVLAYER: move any avatar to a depth, if the member holds one; an avatar there gets the moved one's old
    depth.
    """
    avatar = find(stage.avatars, message.need("ID"))
    depth = message.whole("newlayer", 0, MAX_DEPTH)
    if avatar and stage.held_by(member):
        others = [other for other in stage.avatars if other.layer == depth]
        for other in others:
            other.layer = avatar.layer
        avatar.layer = depth
        stage.show(avatar.depth(), avatar, *others)


def frame(stage: Stage, member: Member, message: Message) -> None:
    """FRAME: show another picture of the held avatar; 0 plays all pictures."""
    number = message.whole("frameNumber", 0, MAX_FRAMES)
    if avatar := stage.held_by(member):
        avatar.frame = number
        stage.show(encode("FRAME", avID=avatar.id, frameNumber=number), avatar)


def prop(stage: Stage, member: Member, message: Message) -> None:
    """PROP: give a prop to the held avatar, even from another one; a second PROP releases it."""
    id = message.need("ID")
    avatar = stage.held_by(member)
    if avatar is None:
        return
    wanted = find(stage.props, id)
    if wanted is None:
        stage.reply(member, encode("ERR", error=f"No such prop ({escape(one_line(id))})"))
    elif wanted.holder == avatar.id:
        wanted.holder = 0
        stage.show(encode("BINDPROP", ID=avatar.id, prop=0), wanted)
    else:
        others = [other for other in stage.props if other.holder == avatar.id]
        for other in others:
            other.holder = 0  # an avatar holds only one prop
        wanted.holder = avatar.id
        stage.show(wanted.bind(), wanted, *others)


def backdrop(stage: Stage, member: Member, message: Message) -> None:
    """BACKDROP: show a backdrop; 0 or an unknown ID hides it."""
    wanted = find(stage.backdrops, message.need("ID"))
    stage.backdrop_shown = wanted.id if wanted else 0
    stage.backdrop_by = member
    stage.show(encode("SHOW_BACKDROP", ID=stage.backdrop_shown), stage)


def backdrop_frame(stage: Stage, member: Member, message: Message) -> None:
    """BACKDROP_FRAME: show another picture of a backdrop that this member has put up."""
    number = message.whole("frameNumber", 0, MAX_FRAMES)
    for drop in stage.backdrops:
        if drop.id == stage.backdrop_shown and stage.backdrop_by is member:
            drop.frame = number
            stage.show(encode("BACKDROP_FRAME", frameNumber=number), drop)
