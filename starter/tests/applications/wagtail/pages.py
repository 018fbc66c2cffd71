"""Two pages below the home page of `wagtail start`."""

from home.models import HomePage  # type: ignore[import-not-found]

home = HomePage.objects.get(slug="home")
for title in ("About", "News"):
    home.add_child(instance=HomePage(title=title, slug=title.lower()))
