"""Guards, read from the tree that torch prints of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from workbench.compiler.recording.guards import code_of
from workbench.report import Guard

_LINE = re.compile(r"^([| ]*)\+- (\w+)(?:: (.*))?$")
_MANAGER = re.compile(r"source=(.*?), (?:accessed_by|type)=")
_COMMENT = re.compile(r"\s+# (?:(.*?)\s+# )?(\S+):(\d+) in \S+\s*$")
_THREADS = re.compile(r'"num_threads":(\d+)')
Resolve = Callable[[str], str | None]
"""Names the file of a report that a shortened path ends, or None."""


def guards(text: str, first: int, resolve: Resolve) -> Iterator[Guard]:
    """The leaves of a tree of guards; ids count from `first`."""
    sources: list[tuple[int, str]] = []
    number = first
    for line in text.split("\n"):
        found = _LINE.match(line)
        if found is None:
            continue
        depth, kind, rest = len(found[1]), found[2], found[3] or ""
        while sources and sources[-1][0] >= depth:
            sources.pop()
        if kind.endswith("Manager"):
            source = _MANAGER.search(rest)
            sources.append((depth, source[1] if source else ""))
            continue
        yield _leaf(f"q{number}", kind, rest, sources[-1][1] if sources else "", resolve)
        number += 1


def _leaf(id: str, kind: str, text: str, source: str, resolve: Resolve) -> Guard:
    place = _COMMENT.search(text)
    code = text if place is None else text[: place.start()]
    file = None if place is None else resolve(place[2])
    line = None if place is None or file is None else int(place[3])
    is_global = source.startswith("G") or not source
    return Guard(id, True, kind, source, code_of([code]), None, is_global, file, line)


def threads(text: str) -> int:
    """Torch's intra-op thread count when the guards were made; 0 when they do not say."""
    found = _THREADS.search(text)
    return int(found[1]) if found else 0
