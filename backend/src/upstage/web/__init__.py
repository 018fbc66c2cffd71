"""The web site: `urls` lists every URL; `pages`, `admin`, `workshop*`, `files` and others serve them.

They use `headers`, `templates`, `request` and `forms`.
"""
