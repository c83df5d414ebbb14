"""Sources of kernels compared; numbers of temporaries, buffers and kernels do not count.

Those of sizes (`ks0`, `ks1`) do: each is another argument. Only where two sources are the same but
for their numbers are sizes, too, renamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.diff.align import align
from workbench.report import Kernel, Report
from workbench.report.side_by_side import Block, Difference, Kind

_NUMBERED = re.compile(r"\b(tmp|buf|tmp_acc|arg|primals_|ks|_tmp)(\d+)(_\w+?)?\b")
_SIZE = "ks"
_NAME = re.compile(r"\b(?:triton|cpp)_\w+_\d+\b")
_HASH = re.compile(r"'backend_hash': '[0-9A-F]+'")
_META = re.compile(r"^\s+(?:triton|inductor)_meta=\{(?=.{80})")
_COMMENT = re.compile(r"^\s*(?:#(?!include|pragma|define|if|else|endif)|//).*")


@dataclass(frozen=True, repr=False)
class SourceDifference(Difference):
    """The source of kernels of two compilations, `a` and `b` being what they are called there."""

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Runs of lines that are the same, changed, added or removed."""
        return tuple(compare_source_blocks(self.before, self.after))


@dataclass(frozen=True, repr=False)
class ExactDifference(Difference):
    """Two sources of a user, in which every character counts."""

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Runs of lines that are the same, changed, added or removed."""
        return tuple(match_lines(self.before.split("\n"), self.after.split("\n")))


def compare_source_blocks(before: str, after: str) -> list[Block]:
    """Two sources as blocks that are the same, changed, added or removed, in order.

    Texts in which only numbers of names differ are the same; in others a line matches one that
    differs in such numbers only, those of sizes apart.
    """
    a, b = before.split("\n"), after.split("\n")
    if canonical(before) == canonical(after) and len(a) == len(b):
        return [Block("same", range(len(a)), range(len(b)))]
    blocks = match_lines([_loose(line) for line in a], [_loose(line) for line in b])
    if all(block.kind == "same" for block in blocks):  # the same lines, tied in another way
        blocks = match_lines([_plain(line) for line in a], [_plain(line) for line in b])
    return blocks


def canonical(text: str) -> str:
    """A source with its numbered names in the order in which they occur, without comments."""
    names: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f"{match[1]}<{len(names)}>")

    return "\n".join(_NUMBERED.sub(renamed, _plain(line)) for line in text.split("\n"))


def _plain(line: str) -> str:
    return _HASH.sub("", _NAME.sub("kernel", _COMMENT.sub("", line))).rstrip()


def _loose(line: str) -> str:
    def loosened(match: re.Match[str]) -> str:
        return match[0] if match[1] == _SIZE else match[1]

    return _NUMBERED.sub(loosened, _plain(line))


def match_lines(a: Sequence[str], b: Sequence[str]) -> list[Block]:
    """Equal lines as blocks of one kind, and what lies between them."""
    blocks: list[Block] = []
    i = j = 0
    for x, y in [*align(a, b), (len(a), len(b))]:
        if (x, y) != (i, j):
            kind: Kind = "changed" if x > i and y > j else "removed" if x > i else "added"
            blocks.append(Block(kind, range(i, x), range(j, y)))
        if x < len(a) and y < len(b):
            if blocks and blocks[-1].kind == "same":
                last = blocks.pop()
                start = last.before.start, last.after.start
            else:
                start = x, y
            blocks.append(Block("same", range(start[0], x + 1), range(start[1], y + 1)))
        i, j = x + 1, y + 1
    return blocks


def join_sources(report: Report, kernels: Sequence[Kernel]) -> str | None:
    """The sources of kernels behind one another; None when one has none.

    The long dictionaries of a Triton kernel's decorator stand there with an entry on each line.
    """
    texts = [report.texts.get(kernel.text or "") for kernel in kernels]
    if not texts or None in texts:
        return None
    whole = "\n".join(text.strip("\n") for text in texts if text is not None)
    return "\n".join(part for line in whole.split("\n") for part in _entries(line))


def _entries(line: str) -> Iterator[str]:
    """A line, or the entries of the dictionary that it assigns to a word of a decorator."""
    match = _META.match(line)
    if match is None:
        yield line
        return
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    yield line[: match.end()]
    start, depth = match.end(), 0
    for n in range(start, len(line)):
        depth += (line[n] in "([{") - (line[n] in ")]}")
        if depth < 0 or (depth == 0 and line[n] == ","):
            end = n if depth < 0 else n + 1
            if line[start:end].strip():
                yield f"{indent}{line[start:end].strip()}"
            start = end
        if depth < 0:
            break
    yield f"{indent[4:]}{line[start:].strip()}"
