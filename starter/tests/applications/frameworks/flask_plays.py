"""The smallest site that Flask and Flask-SQLAlchemy make of a model, with the recipe."""

from typing import Any

from flask import Flask, request
from flask_sqlalchemy import SQLAlchemy

from flask_fastapi_cache import kept

app = Flask(__name__)
app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite:////tmp/flask.db"
db: Any = SQLAlchemy(app)


class Play(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    title = db.Column(db.Text)


@app.get("/plays")
def plays() -> Any:
    return ", ".join(play.title for play in Play.query), kept(Play)


@app.route("/plays/<int:number>", methods=["GET", "POST", "DELETE"])
def play(number: int) -> Any:
    play = db.get_or_404(Play, number)
    page = play.title, kept(play)
    if request.method == "POST":
        play.title = request.form["title"]
    if request.method == "DELETE":
        db.session.delete(play)
    db.session.commit()
    return page


with app.app_context():
    db.create_all()
    db.session.add_all([Play(title=title) for title in ("Hamlet", "Lear", "Othello")])
    db.session.commit()
