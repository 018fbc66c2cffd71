"""Django: Varnish keeps a page until something on it is saved or deleted. Copy this file beside manage.py.

A view names the objects on its page, or their model if it lists them; models.py names, at its end, the models
that purge. That is all:

    return kept(render(request, "play.html", {"play": play}), play, play.author, seconds=600)
    return kept(render(request, "plays.html", {"plays": Play.objects.all()}), Play)
    purges(Play, Author)

QuerySet.update() and bulk_create() send no signals: after them, call purge(tags(Play, *plays)). A program on
the machine needs VARNISH_PURGE_URL in its environment: http://127.0.0.1:6081 (extras/app), or nginx's address
and PURGE_TOKEN (starter). A purge that fails is in the log.
"""

import http.client
import logging
import os
import re
from contextlib import closing
from functools import partial
from urllib.parse import urlsplit

from django.db.models import Model
from django.db.models.signals import post_delete, post_save
from django.db.transaction import on_commit
from django.http import HttpResponse

VARNISH = urlsplit(os.environ.get("VARNISH_PURGE_URL", "http://varnish:6081")).netloc
TOKEN = {"X-Purge-Token": os.environ.get("PURGE_TOKEN", "")}


def kept(page: HttpResponse, *shown: Model | type[Model], seconds: int = 60) -> HttpResponse:
    page.headers["Cache-Control"] = f"max-age=0, s-maxage={seconds}"  # no purge reaches a browser
    page.headers["X-Cache-Tags"] = ",".join(tags(*shown))
    return page


def purges(*models: type[Model]) -> None:
    for model in models:
        post_save.connect(changed, model)
        post_delete.connect(changed, model)


def changed(sender: type[Model], instance: Model, using: str, **_: object) -> None:
    on_commit(partial(purge, tags(instance, sender)), using)


def tags(*shown: Model | type[Model]) -> list[str]:
    """Return shop-Play:7, or shop-Play for the model; a comma or a space would end a tag."""
    names = [each._meta.label + ("" if isinstance(each, type) else f":{each.pk}") for each in shown]
    return [re.sub(r"[^\w:-]", "-", name, flags=re.ASCII) for name in names]


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
