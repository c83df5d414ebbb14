"""Two compilations compared: a record that answers as text, tables and a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

from workbench.analysis.diff.source_changes import (
    ExactDifference,
    SourceDifference,
    join_sources,
)
from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.report.machine_rows import CODE_STAGES
from workbench.report.presenter import Presented, Viewed, presenter
from workbench.report.record import Report
from workbench.report.rows import Kernel
from workbench.report.side_by_side import Difference

if TYPE_CHECKING:
    import anywidget
    import pandas

PARTS = (
    "outcome",
    "environment",
    "request",
    "graphs",
    "nodes",
    "breaks",
    "guards",
    "recompiles",
    "fusion",
    "kernels",
    "traffic",
    "autotune",
    "resources",
    "times",
    "phases",
)
"""What is compared, in the order of the compiler."""
MEASURED = ("times", "phases")
"""Parts whose numbers differ from run to run: no difference between two compilations by itself."""

ALL = "all kernels"
EAGER = "eager's operators"
UNFUSED = "every lowered operation alone"
WHOLE = "the whole compilation"
"""Items of sums, beside those of single kernels and phases."""

Value = float | str | None
Kernels = Mapping[str, Kernel]


def kernels_of(report: Report) -> dict[str, Kernel]:
    """The kernels of a compilation by id, in the order of the program."""
    return {kernel.id: kernel for kernel in report.kernels}


def get_label(kernel: Kernel) -> str:
    """What a kernel is called without its number: `gelu_view`, `mm`."""
    name = kernel.name
    if "_fused_" in name:
        return name.partition("_fused_")[2].rstrip("0123456789").strip("_") or name
    return name.removeprefix("torch.ops.").removeprefix("extern_kernels.").removeprefix("aten.")


def name_relation(a: object, b: object) -> str:
    """What became of a thing that one of the compilations may not have."""
    return "added" if a is None else "removed" if b is None else "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference; `a` and `b` are the values in either compilation.

    `change` is "added" or "removed" (b has it, b lacks it), "changed", for numbers "more" or
    "less". For nodes, `change` may also be "symbolic" or "fixed" (a size), "arguments" and
    "inputs"; for guards "kept" or "dropped". For kernels, `change` may be "split", "merged" or
    "regrouped"; for fusion "fused", "apart" or "reason". `unit` is that of two numbers: "bytes",
    "s", "us", "share" or none. `id_a` and `id_b` are ids in the reports, several with a comma.
    """

    part: str  # the part that it belongs to
    item: str  # what differs
    change: str
    a: Value = None  # what stands there in the first
    b: Value = None  # what stands there in the second
    unit: str = ""
    note: str = ""  # how it differs, in words
    id_a: str | None = None
    id_b: str | None = None


def counted(rows: Iterable[Change | None]) -> tuple[list[Change], int]:
    """The changes, and how many things were compared that are the same: None."""
    compared = list(rows)
    changes = [row for row in compared if row is not None]
    return changes, len(compared) - len(changes)


@dataclass(frozen=True, slots=True)
class KernelMatch:
    """Kernels of both compilations with the same computation: ids, in the order of the program.

    `relation` is "same", "changed", "split", "merged", "regrouped", "added" or "removed". `alike`
    is the share of operations in common, from 0 to 1; `why` has the differences. `lines` counts
    differing lines of source, None if one of them has no source.
    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    relation: str
    alike: float = 1.0
    why: tuple[str, ...] = ()
    lines: int | None = None

    @property
    def ids(self) -> tuple[str | None, str | None]:
        """The ids of either side with commas, as a `Change` has them."""
        return ",".join(self.a) or None, ",".join(self.b) or None

    def rows(self, a: Kernels, b: Kernels) -> tuple[list[Kernel], list[Kernel]]:
        """The kernels of either side."""
        return [a[id] for id in self.a], [b[id] for id in self.b]


@dataclass(frozen=True, repr=False)
class Diff(Viewed, Presented):
    """Compare two compilations, and match their kernels.

    Changes are from `a` to `b`. `same` counts unchanged items by part; `missing` has the reason, by
    part, if it could not be compared.
    """

    a: Report
    b: Report
    names: tuple[str, str]
    changes: tuple[Change, ...]
    kernels: tuple[KernelMatch, ...]
    same: tuple[tuple[str, int], ...] = ()
    missing: tuple[tuple[str, str], ...] = ()

    @cached_property
    def kernel_rows(self) -> tuple[dict[str, Kernel], dict[str, Kernel]]:
        """The kernels of either compilation by id, in the order of the program."""
        return kernels_of(self.a), kernels_of(self.b)

    @property
    def is_same(self) -> bool:
        """Whether nothing differs, except for measured values."""
        return all(change.part in MEASURED for change in self.changes)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The differences in plain words, the most important first; includes measured times."""
        return presenter().sentences(self)

    @checked
    def frame(self, part: str | None = None) -> pandas.DataFrame:
        """Return a row for each difference, of one part or of all.

        Parts: outcome, environment, request, graphs, nodes, breaks, guards, recompiles, fusion,
        kernels, traffic, autotune, resources, times, phases. Raises `UsageError` for another one.
        """
        return presenter().frame(self, part)

    @checked
    def source(self, kernel: str) -> SourceDifference:
        """Return the source of a kernel of `a` (or, if new, of `b`) next to its counterpart.

        Numbers of temporaries and of kernels are ignored, those of sizes (`ks0`) are not. Raises
        `UsageError` for a kernel that does not exist or has no source.
        """
        match = _match_of(self, kernel)
        difference = compare_sources(self, match)
        if difference is None:
            raise UsageError(
                f"Kernel {kernel} has no source: it is a library call, or the report was redacted."
            )
        return difference

    @checked
    def machine_code(self, kernel: str, stage: str | None = None) -> Difference:
        """Return the GPU code of a kernel of `a` next to that of its counterpart.

        `stage` is "ttir", "ttgir", "llir", "ptx", "sass" or "amdgcn"; by default the last that both
        have. Raises `UsageError` if there is no such code.
        """
        match = _match_of(self, kernel)
        sides = [_stages(self.a, match.a), _stages(self.b, match.b)]
        common = [name for name in CODE_STAGES if name in sides[0] and name in sides[1]]
        chosen = common[-1] if stage is None and common else stage
        if chosen is None or chosen not in common:
            there = f"choose one of: {', '.join(common)}" if common else "they share no stage"
            raise UsageError(
                f"The {stage or 'machine code'} of {kernel} is not in both reports; {there}."
            )
        labels = [f"{ids[0]} of {n}" for ids, n in zip((match.a, match.b), self.names, strict=True)]
        before, after = (side[chosen] for side in sides)
        return Difference(kernel, chosen, labels[0], labels[1], before, after, loose=True)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a self-contained page, which needs no network; written to `path` when given."""
        return presenter().page(self, path)

    def view(self) -> anywidget.AnyWidget:
        """The interactive view as a widget of its own."""
        return presenter().view(self)


def compare_sources(diff: Diff, match: KernelMatch) -> SourceDifference | None:
    """The sources of matched kernels beside each other; None without a source on either side."""
    ones, others = match.rows(*diff.kernel_rows)
    before, after = join_sources(diff.a, ones), join_sources(diff.b, others)
    if before is None and after is None:
        return None
    title = ", ".join(match.a or match.b)
    sides = zip((match.a, match.b), diff.names, strict=True)
    labels = [f"{', '.join(ids)} of {name}" for ids, name in sides]
    return SourceDifference(title, "source", labels[0], labels[1], before or "", after or "")


def compare_functions(names: tuple[str, str], before: str, after: str) -> ExactDifference:
    """Two functions of the user beside each other, line by line."""
    return ExactDifference(names[0] or names[1], "source", *names, before, after)


def _match_of(diff: Diff, kernel: str) -> KernelMatch:
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
    raise UsageError(f"Kernel {kernel!r} does not exist; a has {known}.")


def _stages(report: Report, kernels: Sequence[str]) -> dict[str, str]:
    """The texts of a kernel's first configuration by stage."""
    by_stage: dict[str, str] = {}
    for row in report.assembly:
        text = report.texts.get(row.text or "") if row.kernel in kernels[:1] else None
        if text is not None:
            by_stage.setdefault(row.stage, text)
    return by_stage
