"""Two listings compared: blocks of lines, rows side by side, a unified difference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from itertools import groupby, zip_longest
from typing import Literal, NamedTuple

from workbench.number_text import plural

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
_KINDS: dict[str, Kind] = {
    "equal": "same",
    "replace": "changed",
    "insert": "added",
    "delete": "removed",
}
_FIRST_ADDRESS = re.compile(r"^\s*/\*[0-9a-f]+\*/\s*")
_SIGNS = {"changed": "~", "added": "+", "removed": "-", "same": " "}
_WIDTH = 48


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
    head = count_common_start(a, b)
    tail = count_common_start(a[head:][::-1], b[head:][::-1])
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    is_long = max(len(middle_a), len(middle_b)) > LONGEST
    matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=is_long)
    blocks = [Block("same", range(head), range(head))] if head else []
    blocks += [
        Block(_KINDS[tag], range(i + head, j + head), range(k + head, m + head))
        for tag, i, j, k, m in matcher.get_opcodes()
    ]
    if tail:
        rest = Block("same", range(len(a) - tail, len(a)), range(len(b) - tail, len(b)))
        blocks.append(rest)
    return _joined(blocks)


def _lines(text: str, loose: bool) -> list[str]:
    cleaned = (_ADDRESS.sub("", _PLACE.sub(".loc", line)) for line in text.split("\n"))
    lines = (_SPACE.sub(" ", _COMMENT.sub("", line)) for line in cleaned)
    if loose:
        lines = (_VALUE.sub(r"\1", _REGISTER.sub(r"\1", line)) for line in lines)
    return [line.strip() for line in lines]


def count_common_start(a: Sequence[object], b: Sequence[object]) -> int:
    """How many items both begin with."""
    count = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        count += 1
    return count


def _joined(blocks: list[Block]) -> list[Block]:
    """Neighbours of one kind as one block."""
    joined: list[Block] = []
    for block in blocks:
        if joined and joined[-1].kind == block.kind:
            last = joined.pop()
            before = range(last.before.start, block.before.stop)
            block = Block(block.kind, before, range(last.after.start, block.after.stop))
        joined.append(block)
    return joined


class SideBySide(NamedTuple):
    """One row: a line of either listing with its number from 1, None where it has none."""

    kind: Kind
    before_line: int | None
    before: str | None
    after_line: int | None
    after: str | None


@dataclass(frozen=True)
class Difference:
    """The code of one kernel at one stage on two GPUs.

    Addresses, comments and blanks do not count as differences; with `loose` neither do the numbers
    of registers, values and labels.
    """

    kernel: str
    stage: str
    a: str
    b: str
    before: str = field(repr=False)
    after: str = field(repr=False)
    loose: bool = False

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Runs of lines that are the same, changed, added or removed."""
        return tuple(compare(self.before, self.after, loose=self.loose))

    @cached_property
    def rows(self) -> tuple[SideBySide, ...]:
        """Every line of both listings, equal and changed ones beside each other."""
        return tuple(self._rows())

    def _rows(self) -> Iterator[SideBySide]:
        left, right = self.before.split("\n"), self.after.split("\n")
        for kind, before, after in self.blocks:
            for i, j in zip_longest(before, after):
                # a changed block may be longer on one side
                own: Kind = "removed" if j is None else "added" if i is None else kind
                yield SideBySide(
                    own,
                    None if i is None else i + 1,
                    None if i is None else left[i],
                    None if j is None else j + 1,
                    None if j is None else right[j],
                )

    @property
    def changed(self) -> int:
        """Rows that are not the same."""
        return sum(row.kind != "same" for row in self.rows)

    def unified(self, context: int = 3) -> str:
        """The difference as `diff -u` writes it, with this many equal lines around each change."""
        lines = [
            f"--- {self.kernel} {self.stage} {self.a}",
            f"+++ {self.kernel} {self.stage} {self.b}",
        ]
        for near in split_hunks([row.kind for row in self.rows], context):
            run = self.rows[near.start : near.stop]
            before = [row.before_line for row in run if row.before_line is not None]
            after = [row.after_line for row in run if row.after_line is not None]
            lines.append(f"@@ -{_span(before)} +{_span(after)} @@")
            lines += sign_lines((row.kind, row.before, row.after) for row in run)
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Both listings beside each other, changed rows marked; equal stretches are left out."""
        changed = f"{plural(self.changed, 'row')} {'differs' if self.changed == 1 else 'differ'}"
        head = f"{self.kernel}, {self.stage}: {self.a} and {self.b}, {changed}"
        lines = [head]
        is_open = True
        for row in self.rows:
            if row.kind == "same":
                if is_open:
                    lines.append("  …")
                is_open = False
                continue
            is_open = True
            sides = (row.before, row.after)
            left, right = (_FIRST_ADDRESS.sub("", line or "").strip() for line in sides)
            line = f"{_SIGNS[row.kind]} {left[:_WIDTH]:<{_WIDTH}} | {right[:_WIDTH]}"
            lines.append(line.rstrip())
        return "\n".join(lines)


def split_hunks(kinds: Sequence[Kind], context: int) -> Iterator[range]:
    """Runs of rows that are not the same, with this many equal ones around each."""
    changed = [at for at, kind in enumerate(kinds) if kind != "same"]
    near = {n for at in changed for n in range(at - context, at + context + 1)}
    shown = enumerate(sorted(near & set(range(len(kinds)))))
    for _, run in groupby(shown, key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        yield range(numbers[0], numbers[-1] + 1)


def sign_lines(rows: Iterable[tuple[Kind, str | None, str | None]]) -> Iterator[str]:
    """Rows as lines with a sign: of those that differ first what went, then what came."""
    added: list[str] = []
    for kind, before, after in rows:
        if kind == "same":
            yield from (*added, f" {before}")
            added = []
            continue
        if before is not None:
            yield f"-{before}"
        if after is not None:
            added.append(f"+{after}")
    yield from added


def _span(lines: list[int]) -> str:
    return f"{lines[0]},{len(lines)}" if lines else "0,0"
