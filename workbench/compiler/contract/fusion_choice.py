"""Which pairs of operations a compilation must not, or should, put into one kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import UsageError
from workbench.report import Report

Operations = frozenset[str]
"""Ids of scheduler nodes before fusion, such as "i0:op1"."""
Pair = tuple[Operations, Operations]
Rows = tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]


@dataclass(frozen=True)
class FusionChoice:
    """Pairs of operations that must stay apart, and pairs that should be fused."""

    forbid: tuple[Pair, ...] = field(default=())
    force: tuple[Pair, ...] = field(default=())

    def has(self, pairs: tuple[Pair, ...], a: Operations, b: Operations) -> bool:
        """Whether two groups hold the two ends of one of the pairs."""
        return any((one & a and two & b) or (one & b and two & a) for one, two in pairs)

    def rows(self) -> Rows:
        """The pairs as `Request.fusion` holds them."""
        named = [("forbid", pair) for pair in self.forbid] + [("force", p) for p in self.force]
        return tuple((word, tuple(sorted(a)), tuple(sorted(b))) for word, (a, b) in named)

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[Any]]) -> FusionChoice:
        """The pairs out of these rows, as JSON gives them back, too."""
        by_word: dict[str, list[Pair]] = {"forbid": [], "force": []}
        for word, a, b in rows:
            by_word[word].append((frozenset(a), frozenset(b)))
        return cls(tuple(by_word["forbid"]), tuple(by_word["force"]))


def list_operations(report: Report, name: str) -> Operations:
    """The operations that a kernel, a scheduler node or an FX node names.

    Raises `UsageError` for a name that is not in the report.
    """
    before = [node for node in report.scheduler_nodes if node.phase == "before"]
    operations = {node.id for node in before if name in (node.id, node.name)}
    operations |= {node.id for node in before if any(name in (o, _last(o)) for o in node.origins)}
    for kernel in report.kernels:
        if name in (kernel.id, kernel.name):
            operations.update(kernel.scheduler_nodes)
    if not operations:
        kernels = ", ".join(kernel.id for kernel in report.kernels) or "none"
        raise UsageError(
            f"{name!r} is neither a kernel ({kernels}) nor an operation: the table "
            "report.frame('scheduler_nodes') has their names, and those of FX nodes in origins."
        )
    return frozenset(operations)


def _last(id: str) -> str:
    return id.rpartition(":")[2]
