"""Parameters that a docstring describes together, each with its own type."""

from __future__ import annotations

import re
from typing import Any

import griffe

_SEVERAL = re.compile(r"^(?P<names>\w+(?:, \w+)+)\n(?P<text>(?:    .*\n?)+)", re.MULTILINE)


class EachParameter(griffe.Extension):
    """Writes `a, b` as `a` and `b`: the type of the first would be that of all."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Rewrite the docstring of one function."""
        if func.docstring is not None:
            func.docstring.value = _SEVERAL.sub(_one_by_one, func.docstring.value)


def _one_by_one(match: re.Match[str]) -> str:
    text = match["text"].rstrip("\n")
    end = "\n" if match["text"].endswith("\n") else ""
    return "\n".join(f"{name}\n{text}" for name in match["names"].split(", ")) + end
