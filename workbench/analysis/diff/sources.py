"""Sources of kernels compared; numbers of temporaries, buffers and kernels do not count.

Those of sizes (`ks0`, `ks1`) do: each is another argument. Only where two sources are the same but
for their numbers are sizes, too, renamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.analysis.diff.align import align
from workbench.errors import UsageError
from workbench.report import Kernel, Report
from workbench.report.machine_rows import CODE_STAGES
from workbench.report.side_by_side import Block, Difference, Kind

if TYPE_CHECKING:
    from workbench.analysis.diff.difference import Diff, KernelMatch

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
        return tuple(source_blocks(self.before, self.after))


def source_blocks(before: str, after: str) -> list[Block]:
    """Two sources as blocks that are the same, changed, added or removed, in order.

    Texts in which only numbers of names differ are the same; in others a line matches one that
    differs in such numbers only, those of sizes apart.
    """
    a, b = before.split("\n"), after.split("\n")
    if canonical(before) == canonical(after) and len(a) == len(b):
        return [Block("same", range(len(a)), range(len(b)))]
    found = _blocks([_loose(line) for line in a], [_loose(line) for line in b])
    if all(block.kind == "same" for block in found):  # the same lines, tied in another way
        found = _blocks([_plain(line) for line in a], [_plain(line) for line in b])
    return found


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


def _blocks(a: Sequence[str], b: Sequence[str]) -> list[Block]:
    found: list[Block] = []
    i = j = 0
    for x, y in [*align(a, b), (len(a), len(b))]:
        if (x, y) != (i, j):
            kind: Kind = "changed" if x > i and y > j else "removed" if x > i else "added"
            found.append(Block(kind, range(i, x), range(j, y)))
        if x < len(a) and y < len(b):
            if found and found[-1].kind == "same":
                last = found.pop()
                start = last.before.start, last.after.start
            else:
                start = x, y
            found.append(Block("same", range(start[0], x + 1), range(start[1], y + 1)))
        i, j = x + 1, y + 1
    return found


def joined_source(report: Report, kernels: Sequence[Kernel]) -> str | None:
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


def difference(diff: Diff, match: KernelMatch) -> SourceDifference | None:
    """The sources of matched kernels beside each other; None without a source on either side."""
    ones, others = match.rows(*diff.kernel_rows)
    before, after = joined_source(diff.a, ones), joined_source(diff.b, others)
    if before is None and after is None:
        return None
    title = ", ".join(match.a or match.b)
    sides = zip((match.a, match.b), diff.names, strict=True)
    labels = [f"{', '.join(ids)} of {name}" for ids, name in sides]
    return SourceDifference(title, "source", labels[0], labels[1], before or "", after or "")


def match_of(diff: Diff, kernel: str) -> KernelMatch:
    """The match that a kernel belongs to, by id or name of `a`, else of `b`.

    Raises `UsageError` when there is no such kernel.
    """
    for side, report in enumerate((diff.a, diff.b)):
        ids = {row.name: row.id for row in reversed(list(report.kernels))}
        id = ids.get(kernel, kernel)
        for match in diff.kernels:
            if id in (match.a, match.b)[side]:
                return match
    known = ", ".join(row.id for row in diff.a.kernels) or "none"
    raise UsageError(f"There is no kernel {kernel!r}; a has {known}.")


def source_of(diff: Diff, kernel: str) -> SourceDifference:
    """See `Diff.source`."""
    match = match_of(diff, kernel)
    found = difference(diff, match)
    if found is None:
        raise UsageError(
            f"Kernel {kernel} has no source: it is a call of a library, or the report was redacted."
        )
    return found


def machine_code_of(diff: Diff, kernel: str, stage: str | None) -> Difference:
    """See `Diff.machine_code`."""
    match = match_of(diff, kernel)
    sides = [_stages(diff.a, match.a), _stages(diff.b, match.b)]
    common = [name for name in CODE_STAGES if name in sides[0] and name in sides[1]]
    chosen = common[-1] if stage is None and common else stage
    if chosen is None or chosen not in common:
        there = f"both have {', '.join(common)}" if common else "they share no stage"
        raise UsageError(f"There is no {stage or 'machine code'} of {kernel} to compare: {there}.")
    labels = [f"{ids[0]} of {n}" for ids, n in zip((match.a, match.b), diff.names, strict=True)]
    before, after = (side[chosen] for side in sides)
    return Difference(kernel, chosen, labels[0], labels[1], before, after, loose=True)


def _stages(report: Report, kernels: Sequence[str]) -> dict[str, str]:
    """The texts of a kernel's first configuration by stage."""
    found: dict[str, str] = {}
    for row in report.assembly:
        text = report.texts.get(row.text or "") if row.kernel in kernels[:1] else None
        if text is not None:
            found.setdefault(row.stage, text)
    return found
