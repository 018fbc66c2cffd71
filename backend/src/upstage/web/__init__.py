"""The web site: `tree` lists every URL; `pages`, `admin`, `workshop*`, `files` and others serve them.

They are built on `headers`, `templates`, `request` and `forms`.
"""
