#!/bin/sh
# A site with two editors and three pages, on port 8000. settings.py is the head of recipes/django.vcl.
set -eu
cat settings.py >>shop/settings/dev.py
python manage.py migrate --verbosity 0
DJANGO_SUPERUSER_PASSWORD='the curtain rises' python manage.py createsuperuser --noinput --username ann --email ann@example.org
DJANGO_SUPERUSER_PASSWORD='the curtain falls' python manage.py createsuperuser --noinput --username bob --email bob@example.org
python manage.py shell <pages.py
exec python manage.py runserver --noreload 0.0.0.0:8000
