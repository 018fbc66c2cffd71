"""Flask and FastAPI with SQLAlchemy: Varnish keeps a page until something on it is saved or deleted.

Copy this file beside your models. A view names the objects on its page, or their class if it lists them; a
commit purges what it has changed, without a word of yours:

    return render_template("play.html", play=play), kept(play, play.author, seconds=600)
    return templates.TemplateResponse(request, "plays.html", {"plays": plays}, headers=kept(Play))
    response.headers.update(kept(play))  # FastAPI's parameter `response: Response`, if the view returns data

session.execute(update(Play)) names no objects: after it, call purge(tags(Play, *plays)). A program on the
machine needs VARNISH_PURGE_URL in its environment: http://127.0.0.1:6081 (extras/app), or nginx's address and
PURGE_TOKEN (starter). A purge that fails is in the log.
"""

import http.client
import logging
import os
import re
from contextlib import closing
from urllib.parse import urlsplit

from sqlalchemy import event, inspect
from sqlalchemy.orm import Session, SessionTransaction

VARNISH = urlsplit(os.environ.get("VARNISH_PURGE_URL", "http://varnish:6081")).netloc
TOKEN = {"X-Purge-Token": os.environ.get("PURGE_TOKEN", "")}


def kept(*shown: object, seconds: int = 60) -> dict[str, str]:
    # No purge reaches a browser, so it asks each time.
    return {"Cache-Control": f"max-age=0, s-maxage={seconds}", "X-Cache-Tags": ",".join(tags(*shown))}


def tags(*shown: object) -> list[str]:
    """Return play:7, or play for the class, by its table; a comma or a space would end a tag."""
    found = []
    for each in shown:
        mapper = inspect(each if isinstance(each, type) else type(each)).base_mapper
        key = [] if isinstance(each, type) else mapper.primary_key_from_instance(each)
        name = ":".join(map(str, [mapper.local_table.name, *key]))
        found.append(re.sub(r"[^\w:-]", "-", name, flags=re.ASCII))
    return found


def flushed(session: Session, _: object) -> None:
    for each in (*session.new, *session.dirty, *session.deleted):
        session.info.setdefault("changed", set()).update(tags(each, type(each)))


def ended(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:  # even after a rollback: that costs a fetch
        purge(list(session.info.pop("changed", ())))


def purge(tags: list[str]) -> None:
    try:
        for first in range(0, len(tags), 100):  # a header has a maximum length
            with closing(http.client.HTTPConnection(VARNISH, timeout=2)) as varnish:
                varnish.request(
                    "PURGE", "/", headers=TOKEN | {"X-Cache-Tags": ",".join(tags[first : first + 100])}
                )
                if (status := varnish.getresponse().status) != 200:
                    raise http.client.HTTPException(status)
    except (OSError, http.client.HTTPException) as error:
        logging.getLogger(__name__).warning("Not purged: %s: %r", tags, error)


event.listen(Session, "after_flush", flushed)
event.listen(Session, "after_transaction_end", ended)
