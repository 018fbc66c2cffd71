"""The web site: `tree` lists every URL; `pages`, `admin` and `files` answer them."""
