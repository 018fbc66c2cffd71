"""The database's tables, as the migrations that make them."""

import sqlite3
from collections.abc import Iterator

# Each runs once, in this order; PRAGMA user_version counts those that have run. Append, never edit.
MIGRATIONS = (
    """
    CREATE TABLE player (
        name      TEXT PRIMARY KEY COLLATE NOCASE,
        password  TEXT NOT NULL,               -- argon2, never the password
        rights    TEXT NOT NULL                -- act,admin,su
    ) STRICT;
    CREATE TABLE media (
        file      TEXT PRIMARY KEY,            -- below /media: fox.svg, audio/bell.mp3
        kind      TEXT NOT NULL,
        name      TEXT NOT NULL,
        uploader  TEXT NOT NULL,
        date      TEXT NOT NULL,
        size      INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE stage (
        id                 TEXT PRIMARY KEY COLLATE NOCASE,
        name               TEXT NOT NULL,
        splash             TEXT NOT NULL,
        page               TEXT NOT NULL,      -- colours: 0xRRGGBB
        tools              TEXT NOT NULL,
        backdrop_and_prop  TEXT NOT NULL,
        chat               TEXT NOT NULL
    ) STRICT;
    CREATE TABLE thing (
        stage  TEXT NOT NULL REFERENCES stage ON DELETE CASCADE,
        kind   TEXT NOT NULL,
        id     INTEGER NOT NULL,
        name   TEXT NOT NULL,
        file   TEXT NOT NULL REFERENCES media ON DELETE CASCADE,
        voice  TEXT NOT NULL,
        x      REAL NOT NULL,
        y      REAL NOT NULL,
        type   TEXT NOT NULL,
        PRIMARY KEY (stage, kind, id)
    ) STRICT;
    CREATE INDEX thing_file ON thing (file);
    CREATE TABLE chat (
        number  INTEGER PRIMARY KEY,
        stage   TEXT NOT NULL REFERENCES stage ON DELETE CASCADE,
        line    TEXT NOT NULL
    ) STRICT;
    CREATE INDEX chat_stage ON chat (stage, number);
    CREATE TABLE seeded (stage TEXT PRIMARY KEY) STRICT;  -- seeded by a release; never seeded again
    """,
    """
    ALTER TABLE stage ADD COLUMN listed INTEGER NOT NULL DEFAULT 1;  -- 0: it is in no list of stages
    ALTER TABLE stage ADD COLUMN resets INTEGER NOT NULL DEFAULT 0;
    """,
    """
    CREATE TABLE standing (                    -- how a thing, or the stage's own buttons, stand
        stage  TEXT NOT NULL REFERENCES stage ON DELETE CASCADE,
        kind   TEXT NOT NULL,                  -- avatar, backdrop, prop; stage
        id     INTEGER NOT NULL,
        state  TEXT NOT NULL,                  -- JSON
        PRIMARY KEY (stage, kind, id)
    ) STRICT;
    CREATE TABLE mark (                        -- the drawing
        number  INTEGER PRIMARY KEY,
        stage   TEXT NOT NULL REFERENCES stage ON DELETE CASCADE,
        layer   INTEGER NOT NULL,
        frame   BLOB NOT NULL                  -- as it went to the clients
    ) STRICT;
    CREATE INDEX mark_layer ON mark (stage, layer, number);
    CREATE TABLE session (
        digest    TEXT PRIMARY KEY,            -- SHA-256 of the token, never the token
        player    TEXT NOT NULL,               -- the account at the sign-in: it ends when this changes
        password  TEXT NOT NULL,
        rights    TEXT NOT NULL,
        expires   REAL NOT NULL                -- seconds since 1970
    ) STRICT;
    """,
)


def statements(script: str) -> Iterator[str]:
    """Split a script into statements; executescript() would commit the open transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
