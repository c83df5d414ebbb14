"""Environment variables that a capture reads and that no check of the compiled code looks at."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.compiler.sources.sources import Places

_KEY = re.compile(r"_data\[b(['\"])(.+?)\1\]")
_READ = re.compile(r"(?:getenv\(|environ\[|environ\.get\()\s*(['\"])(.+?)\1")


def frozen_reads(entries: Sequence[Any], places: Places) -> tuple[str, ...]:
    """A sentence for each line of the user at which, by its guards, a compilation reads some."""
    found: dict[str, set[str]] = {}
    for entry, key in _reads(entries):
        place, named = _place(entry.orig_guard, places)
        if place is not None:
            found.setdefault(place, set()).update(named, key)
    return tuple(
        f"the environment variable {key or 'of this line'} is frozen at capture: {place}"
        for place, keys in found.items()
        for key in sorted(keys) or ("",)
    )


def _reads(entries: Sequence[Any]) -> Iterator[tuple[Any, list[str]]]:
    """The guards that stand for the environment or a part of it, with the variable's name."""
    held = tuple(e.name for e in entries if e.has_value and e.value is os.environ)
    for entry in entries:
        is_part = bool(held) and entry.name.startswith(held)
        if is_part or (entry.has_value and entry.value is os.getenv):
            named = _KEY.search(entry.name)
            yield entry, [named[2]] if named else []


def _place(guard: Any, places: Places) -> tuple[str | None, list[str]]:
    """The innermost line of the user's own, and the variables that it names."""
    for frame in reversed(guard.user_stack or ()):
        if places.is_own(frame.filename):
            text = linecache.getline(frame.filename, frame.lineno)
            place = f"{places.shown(frame.filename)}:{frame.lineno}"
            return place, [name for _, name in _READ.findall(text)]
    return None, []
