"""Environment variables that a capture reads and that no check of the compiled code looks at."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.compiler.captured_code.inlined_code import Inlined
from workbench.compiler.guards.inlined_places import ask_environment
from workbench.compiler.sources.sources import Places

_KEY = re.compile(r"_data\[b(['\"])(.+?)\1\]")
_READ = re.compile(r"(?:getenv\(|environ\[|environ\.get\()\s*(['\"])(.+?)\1")


def frozen_reads(entries: Sequence[Any], places: Places) -> tuple[str, ...]:
    """A sentence for each line of the user at which, by its guards, a compilation reads some."""
    by_place: dict[str, set[str]] = {}
    for entry, key in _reads(entries):
        place, named = _place(entry.orig_guard, places)
        if place is not None:
            by_place.setdefault(place, set()).update(named, key)
    return tuple(
        f"the environment variable {key or 'of this line'} is frozen at capture: {place}"
        for place, keys in by_place.items()
        for key in sorted(keys) or ("",)
    )


def find_missing_variables(entries: Sequence[Any], places: Places) -> Iterator[Mapping[str, str]]:
    """The variables that these lines name and that are not set, as rows of what no file holds."""
    named = (_place(entry.orig_guard, places)[1] for entry, _ in _reads(entries))
    for key in dict.fromkeys(key for keys in named for key in keys if key not in os.environ):
        yield {
            "name": f"G['os'].environ[{key!r}]",
            "kind": "ENVIRONMENT",
            "why": "torch has no guard on a variable of the environment that is not set",
            "frozen": "not set",
            "place": f"os.environ[{key!r}]",
        }


def find_variables_read(entries: Sequence[Any], places: Places) -> Iterator[Inlined]:
    """The variables that no guard of torch compares: not set, or read by a function of Python."""
    found: dict[str, Inlined] = {}
    for entry, key in _reads(entries):
        is_asked = entry.has_value and entry.value is os.getenv
        for name in (*key, *_place(entry.orig_guard, places)[1]):
            value = os.environ.get(name)
            if value is None or is_asked:
                found[name] = ask_environment(name, value)
    yield from found.values()


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
