"""The smallest site that FastAPI and SQLAlchemy make of a model, with the recipe; below it, the other two."""

from collections.abc import Iterator
from typing import Annotated, Any

from a2wsgi import WSGIMiddleware
from fastapi import Depends, FastAPI, Form, HTTPException, Response
from sqlalchemy import create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import django_plays
import flask_plays
from flask_fastapi_cache import kept

engine = create_engine("sqlite:////tmp/fastapi.db")


class Base(DeclarativeBase):
    pass


class Play(Base):
    __tablename__ = "play"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]


def database() -> Iterator[Session]:
    with Session(engine) as session:
        yield session


Database = Annotated[Session, Depends(database)]
app = FastAPI()


@app.get("/fastapi/plays")
def plays(database: Database, response: Response) -> str:
    response.headers.update(kept(Play))
    return ", ".join(play.title for play in database.scalars(select(Play)))


@app.get("/fastapi/plays/{number}")
def play(number: int, database: Database, response: Response) -> Any:
    play = database.get(Play, number)
    if not play:
        raise HTTPException(404)
    response.headers.update(kept(play))
    return play.title


@app.post("/fastapi/plays/{number}")
def edit(number: int, title: Annotated[str, Form()], database: Database) -> None:
    database.get_one(Play, number).title = title
    database.commit()


@app.delete("/fastapi/plays/{number}")
def delete(number: int, database: Database) -> None:
    database.delete(database.get_one(Play, number))
    database.commit()


Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add_all([Play(title=title) for title in ("Hamlet", "Lear", "Othello")])
    session.commit()
app.mount("/django", django_plays.app)
app.mount("/flask", WSGIMiddleware(flask_plays.app.wsgi_app))
