"""Which lines of two listings of machine code differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

Kind = Literal["same", "changed", "added", "removed"]

LONGEST = 6_000
"""Lines of the longer listing up to which every line may match any equal one.

Above it lines that occur very often match only beside a rarer one, or a comparison takes minutes.
"""

_ADDRESS = re.compile(r"/\*[0-9a-fx]*\*/")
_COMMENT = re.compile(r"(?://|;\s).*$")
_PLACE = re.compile(r"^\s*\.(?:loc|file)\b.*")
_SPACE = re.compile(r"\s+")
_REGISTER = re.compile(
    r"(?<![\w.])(%(?:rd|rs|r|fd|f|p|h|hh|b|q)|UR|UP|R|P|B|[sva](?=\d|\[))(\d+|\[\d+(?::\d+)?\])(?!\w)"
)
_VALUE = re.compile(r"(%|\^bb|\$L_*\w*?|\.L[\w]*?)[\d_]+(?![\w])")


class Block(NamedTuple):
    """Lines of both listings, counted from 0, each as a half-open range."""

    kind: Kind
    before: range
    after: range


def compare(before: str, after: str, *, loose: bool = False) -> list[Block]:
    """Two texts as blocks that are the same, changed, added or removed, in order.

    Addresses, comments, blanks and directives that name a place in the source do not count; with
    `loose` neither do the numbers of registers, values and labels, so that code that was only
    renumbered is the same.
    """
    a, b = _lines(before, loose), _lines(after, loose)
    head = common_start(a, b)
    tail = common_start(a[head:][::-1], b[head:][::-1])
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    is_long = max(len(middle_a), len(middle_b)) > LONGEST
    matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=is_long)
    found = [Block("same", range(head), range(head))] if head else []
    found += [
        Block(_KINDS[tag], range(i + head, j + head), range(k + head, m + head))
        for tag, i, j, k, m in matcher.get_opcodes()
    ]
    if tail:
        rest = Block("same", range(len(a) - tail, len(a)), range(len(b) - tail, len(b)))
        found.append(rest)
    return _joined(found)


_KINDS: dict[str, Kind] = {
    "equal": "same",
    "replace": "changed",
    "insert": "added",
    "delete": "removed",
}


def _lines(text: str, loose: bool) -> list[str]:
    cleaned = (_ADDRESS.sub("", _PLACE.sub(".loc", line)) for line in text.split("\n"))
    lines = (_SPACE.sub(" ", _COMMENT.sub("", line)) for line in cleaned)
    if loose:
        lines = (_VALUE.sub(r"\1", _REGISTER.sub(r"\1", line)) for line in lines)
    return [line.strip() for line in lines]


def common_start(a: Sequence[object], b: Sequence[object]) -> int:
    """How many items both begin with."""
    count = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        count += 1
    return count


def _joined(blocks: list[Block]) -> list[Block]:
    """Neighbours of one kind as one block."""
    found: list[Block] = []
    for block in blocks:
        if found and found[-1].kind == block.kind:
            last = found.pop()
            before = range(last.before.start, block.before.stop)
            block = Block(block.kind, before, range(last.after.start, block.after.stop))
        found.append(block)
    return found
