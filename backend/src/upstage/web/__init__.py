"""The web site: `tree` lists every URL; `pages`, `admin`, `workshop*`, `files` and others answer them.

`headers`, `templates`, `request` and `forms` are what those are made of.
"""
