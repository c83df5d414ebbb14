"""A function whose annotations name what only type checkers import, as Python 3.14 allows."""

from __future__ import annotations

import sys
from typing import Any

LAZY = sys.version_info >= (3, 14)
"""Whether annotations are evaluated when they are read; before, with their function."""


def lazily_annotated(
    source: str = "def f(x: Missing, by: int = 2) -> Missing: return x + by",
) -> Any:
    """The function `f` of the source; `Missing` is in its scope where Python needs it."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    if not LAZY:
        scope["Missing"] = "Missing"
    exec(compile(source, "cell 1", "exec", dont_inherit=True), scope)
    return scope["f"]
