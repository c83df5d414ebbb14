"""A summary with the record beside it, and the script that replaces it by the interactive view."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files

from workbench.views.wire.codec import bundle, hash_bytes, pack_text

PLAIN = "mathjax_ignore"
"""The class of what a notebook does not typeset: MathJax passes over it."""


def output(content: str) -> str:
    """One element; what stands between two "$" in it, such as in `"$a$"`, is no formula."""
    return f'<div class="{PLAIN}">{content}</div>'


def interactive(summary: str, record: bytes, *, kind: str, carries_bundle: bool) -> str:
    """A summary with the packed record and the script that replaces it."""
    packed, name = bundle()
    front_end = f'<script type="text/plain" class="wb-bundle" data-hash="{name}">{packed}</script>'
    return (
        f'<div class="wb-saved {PLAIN}" id="wb-{hash_bytes(record)}" data-kind="{escape(kind)}" '
        f'data-bundle="{name}"><div class="wb-summary">{summary}</div>'
        f'<script type="text/plain" class="wb-record">{pack_text(record)}</script>'
        f"{front_end if carries_bundle else ''}<script>{loader()}</script></div>"
    )


@cache
def loader() -> str:
    """The script, which ends no script element: it holds no `</`."""
    return files("workbench.views.pages").joinpath("loader.js").read_text(encoding="utf-8")
