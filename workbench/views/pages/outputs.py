"""The element around HTML that a notebook keeps as an output."""

from __future__ import annotations

PLAIN = "mathjax_ignore"
"""The class of what a notebook does not typeset: MathJax passes over it."""


def output(content: str) -> str:
    """One element; what stands between two "$" in it, such as in `"$a$"`, is no formula."""
    return f'<div class="{PLAIN}">{content}</div>'
