"""Markdown of this repository as HTML: links lead to pages of the site, commands name this stack."""

import posixpath
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

# The files of the repository that the site shows: each file's path, and the path of its page.
SERVED = (
    (re.compile(r"lessons/(\d\d-[a-z-]+)(?:/README\.md)?"), r"/lessons/\1"),
    (re.compile(r"docs/course\.md"), "/lessons/course"),
    (re.compile(r"docs/slides/(cheat-sheet)\.html"), r"/lessons/\1"),
    (re.compile(r"docs/slides/(pictures/[a-z-]+\.svg)"), r"/lessons/\1"),
)
ELSEWHERE = re.compile(r"https?:|#|/")
# The place of the word that a learner is given: in the text of a page, not in a tag.
PLACE = re.compile(r"\bWORD\b(?![^<>]*>)")


def to_html(text: str, folder: str, word: str = "") -> str:
    """Return a Markdown text of `folder`, a path of the repository, as HTML; the learner's word is marked."""
    tokens = MARKDOWN.parse(text)
    for token, title in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _anchor(title.content))
    for token in tokens:
        token.children = _with_links_of_the_site(token.children, folder)
        if token.attrs.pop("style", None):  # a column aligned right; the pages allow no style in an element
            token.attrSet("class", "right")
    html = str(MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}))
    return PLACE.sub(f'<mark class="word">{word or "WORD"}</mark>', html)


def line_to_html(text: str) -> str:
    """Return one line without links, such as a sentence, as HTML."""
    return str(MARKDOWN.renderInline(text))


def _anchor(title: str) -> str:
    """Return the name of a heading in a link, as GitHub forms it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _with_links_of_the_site(tokens: list[Token] | None, folder: str) -> list[Token] | None:
    """Point a link to a file that the site shows to its page; turn a link to any other file into text."""
    if tokens is None:
        return None
    kept: list[Token] = []
    dropped = False
    for token in tokens:
        attribute = {"link_open": "href", "image": "src"}.get(token.type)
        if attribute:
            address = _address(str(token.attrGet(attribute)), folder)
            dropped = address is None
            token.attrSet(attribute, address or "")
        if not (dropped and token.type in ("link_open", "link_close")):
            kept.append(token)
    return kept


def _address(target: str, folder: str) -> str | None:
    """Return the site's page for the target of a link in a file of `folder`; None if there is none."""
    if ELSEWHERE.match(target):
        return target
    file, mark, heading = target.partition("#")
    path = posixpath.normpath(posixpath.join(folder, file))
    for pattern, address in SERVED:
        if found := pattern.fullmatch(path):
            return found.expand(address) + mark + heading
    return None


def _block(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Render a block of code that the keyboard can scroll; an indented or `sh` block can be copied."""
    token = tokens[index]
    copied = ' data-copy=""' if token.info in ("", "sh") else ""
    return f'<pre tabindex="0"{copied}><code>{escapeHtml(token.content)}</code></pre>\n'


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Render a picture that scrolls on a narrow screen."""
    return f'<span class="wide" tabindex="0">{self.image(tokens, index, options, env)}</span>'


def _made() -> MarkdownIt:
    """Return the parser and the renderer with these rules; a table scrolls as a picture does."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    for name, rule in (
        ("code_block", _block),
        ("fence", _block),
        ("image", _image),
        ("table_open", lambda *_: '<div class="wide" tabindex="0"><table>\n'),
        ("table_close", lambda *_: "</table></div>\n"),
    ):
        markdown.add_render_rule(name, rule)
    return markdown


MARKDOWN = _made()
