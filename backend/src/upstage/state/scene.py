"""Writes the stages' kept state to the database and reads it: chat, drawing, and the state of things.

Everything read is checked like a client's frames: it may come from a foreign backup.
"""

import json
import sqlite3
from collections.abc import Iterable

from upstage.stage.drawing import redraw
from upstage.stage.kept import Change, Drawing, Kept, Line, Mark, Standing
from upstage.stage.stage import CHAT_KEPT, Stage
from upstage.stage.wire import BadFrame, Message, decode


def write(sql: sqlite3.Connection, changes: Iterable[tuple[str, Change]]) -> None:
    """Write changes, each with its stage's ID; of each chat only the newest CHAT_KEPT lines are kept.

    A stage may just have been removed: its changes are not written.
    """
    spoken = set()
    for stage, change in changes:
        match change:
            case Line(text):
                sql.execute(
                    "INSERT INTO chat (stage, line) SELECT id, ?2 FROM stage WHERE id = ?1", (stage, text)
                )
                spoken.add(stage)
            case Standing(kind, id, state):
                sql.execute(
                    "INSERT OR REPLACE INTO standing SELECT id, ?2, ?3, ?4 FROM stage WHERE id = ?1",
                    (stage, kind, id, state),
                )
            case Mark(layer, frame):
                _add_mark(sql, stage, layer, frame)
            case Drawing(layer, frames):
                sql.execute("DELETE FROM mark WHERE stage = ? AND layer = ?", (stage, layer))
                for frame in frames:
                    _add_mark(sql, stage, layer, frame)
    for stage in spoken:
        sql.execute(
            "DELETE FROM chat WHERE stage = ?1 AND number <= ("
            "SELECT number FROM chat WHERE stage = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
            (stage, CHAT_KEPT),
        )


def _add_mark(sql: sqlite3.Connection, stage: str, layer: int, frame: bytes) -> None:
    sql.execute(
        "INSERT INTO mark (stage, layer, frame) SELECT id, ?2, ?3 FROM stage WHERE id = ?1",
        (stage, layer, frame),
    )


def read(sql: sqlite3.Connection, stage: str) -> Kept:
    """Return a stage's newest CHAT_KEPT lines, its drawing, and the state of its things."""
    chat = sql.execute(
        "SELECT line FROM chat WHERE stage = ? ORDER BY number DESC LIMIT ?", (stage, CHAT_KEPT)
    )
    standings = sql.execute("SELECT kind, id, state FROM standing WHERE stage = ?", (stage,))
    marks = sql.execute("SELECT layer, frame FROM mark WHERE stage = ? ORDER BY number", (stage,))
    return Kept(
        [line for [line] in chat][::-1],
        [Standing(*row) for row in standings],
        [Mark(*row) for row in marks],
    )


def clear(sql: sqlite3.Connection, stage: str) -> None:
    """Remove the kept state of a stage."""
    own = sql.execute("SELECT id FROM stage WHERE id = ?", (stage,)).fetchone()  # as the database spells it
    for statement in (
        "DELETE FROM chat WHERE stage = ?",
        "DELETE FROM standing WHERE stage = ?",
        "DELETE FROM mark WHERE stage = ?",
    ):
        sql.execute(statement, own)


def restore(stage: Stage, kept: Kept) -> None:
    """Restore a new stage's kept state. Data that no longer fit the stage, or are invalid, are ignored."""
    stage.chat.extend(kept.chat)
    things = {(thing.kind, thing.id): thing for thing in stage.pictures}
    for standing in kept.standings:
        try:
            state = _decoded(standing)
            if standing.kind == stage.kind:
                stage.stand(state)
            elif (thing := things.get((standing.kind, standing.id))) and thing.url == state.need("url"):
                thing.stand(state)
        except (BadFrame, ValueError, RecursionError):
            continue
    stage.check_holders()
    for mark in kept.marks:
        try:
            redraw(stage.layers[mark.layer], decode(mark.frame.removesuffix(b"\0")))
        except (BadFrame, IndexError):
            continue


def _decoded(standing: Standing) -> Message:
    state = json.loads(standing.state)
    if not isinstance(state, dict):
        raise BadFrame("the state is no object")
    return Message(standing.kind, {name: str(value) for name, value in state.items()})
