"""The smallest site that Django makes of a model, with the recipe."""

from typing import Any

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.db import connection, models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path

from django_cache import kept, purges

DATABASE = {"ENGINE": "django.db.backends.sqlite3", "NAME": "/tmp/django.db"}
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], DATABASES={"default": DATABASE})
django.setup()


class Play(models.Model):
    title: Any = models.TextField()

    class Meta:
        app_label = "shop"


purges(Play)


def plays(request: HttpRequest) -> HttpResponse:
    return kept(HttpResponse(", ".join(play.title for play in Play.objects.all())), Play)


def play(request: HttpRequest, number: int) -> HttpResponse:
    play = get_object_or_404(Play, pk=number)
    if request.method == "POST":
        play.title = request.POST["title"]
        play.save()
    if request.method == "DELETE":
        play.delete()
    return kept(HttpResponse(play.title), play)


urlpatterns = [path("plays", plays), path("plays/<int:number>", play)]
with connection.schema_editor() as editor:
    editor.create_model(Play)
for title in ("Hamlet", "Lear", "Othello"):
    Play.objects.create(title=title)
app = get_asgi_application()
