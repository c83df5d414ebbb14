"""What a verification of all ranks says: its leaves by rank, and how far each rank is off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.compiler.comparison.output_comparison import Comparison, Verdict, Verification
from workbench.handles.running.rank_kernels import RankKernel, find_first_wrong
from workbench.handles.running.sent_collectives import say_ranks
from workbench.number_text import plural
from workbench.report.presenter import presenter

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class RankNumbers:
    """One rank: its program, and the largest absolute differences of its outputs and gradients.

    `nodes` counts those of its graphs after AOTAutograd that call something, `collectives` those
    that it starts in the call and its backward. `deviation` is from the program run without a
    compiler, `from_reference` from the unsharded model; NaN where that was not asked for.
    """

    rank: int  # the rank
    place: str  # its place along each dimension of the mesh
    nodes: int  # the nodes of its graphs that call something
    collectives: int  # the collectives that it starts, forward and backward
    deviation: float = nan  # the largest difference from the program without a compiler
    from_reference: float = nan  # the largest difference from the unsharded model
    verdict: Verdict = "not checked"  # how its comparison ended
    reason: str = ""  # why it failed or was not checked


@dataclass(frozen=True, repr=False)
class RankVerification(Verification):
    """Whether every rank of a cluster gives what the program without a compiler gives there.

    `ranks` has a row for each rank that was run; `frame("ranks")` shows them. Leaves are named
    after their rank: "rank 3: output". `kernels` are those of all ranks, where it was asked for.
    """

    kernels: tuple[RankKernel, ...] = ()
    ranks: tuple[RankNumbers, ...] = field(default=())

    @checked
    def frame(self, name: str = "leaves") -> pandas.DataFrame:
        """The `ranks`, the `kernels`, or the `leaves` as `Verification.frame` has them."""
        if name == "ranks":
            return presenter().rows_frame(self.ranks, RankNumbers)
        if name == "kernels":
            return presenter().rows_frame(self.kernels, RankKernel)
        return super().frame(name)

    @property
    def first_wrong(self) -> RankKernel | None:
        """The wrong kernel that others may be wrong for, with its rank, or None."""
        return find_first_wrong(self.kernels)

    @property
    def wrong_kernel(self) -> str | None:
        """The name of `first_wrong`."""
        return None if self.first_wrong is None else self.first_wrong.kernel

    @property
    def sentence(self) -> str:
        """The verdict, by leaf on which ranks it differs, what was not checked, and the cause."""
        parts = [f"{self._summary}."]
        lost: dict[str, list[Comparison]] = {}
        for row in self.rows:
            if row.verdict == "not checked":
                lost.setdefault(row.reason, []).append(row)
        parts += [f"Not checked: {self._name(rows)}: {why}." for why, rows in lost.items()]
        kernels: dict[str, dict[str, set[int]]] = {}
        for one in self.kernels:
            if one.verdict == "not checked":
                kernels.setdefault(one.reason, {}).setdefault(one.kernel, set()).add(one.rank)
        for why, names in kernels.items():
            where = [f"{name} on {say_ranks(sorted(ranks))}" for name, ranks in names.items()]
            parts.append(f"Not checked: {', '.join(where)}: {why}.")
        return " ".join(filter(None, [*parts, self.cause]))

    @property
    def _summary(self) -> str:
        wrong = [row for row in self.rows if row.verdict == "failed"]
        first = self.first_wrong
        named = [f"kernel {first}" if first else "", self._name(wrong)]
        known = sum(row.verdict != "not checked" for row in self.rows)
        verdict = (
            f"differs in {'; '.join(filter(None, named))}" if first or wrong
            else "ok" if self.ok
            else "not all was checked" if known
            else "nothing was checked"
        )  # fmt: skip
        ranks = f" on {plural(len(self.ranks), 'rank')}" if self.ranks else ""
        count = f"{known} of {plural(len(self.rows), 'leaf', 'leaves')} checked{ranks}"
        if self.kernels:
            done = sum(row.verdict != "not checked" for row in self.kernels)
            count += f", {done} of {plural(len(self.kernels), 'value')} of kernels"
        notes = f", {plural(len(self.notes), 'note')}" if self.notes else ""
        return f"{verdict}, {count} against {self.reference}{notes}"

    def _name(self, rows: Sequence[Comparison]) -> str:
        """Leaves, each with its ranks, such as "output on every rank"."""
        by_leaf: dict[str, list[int]] = {}
        for row in rows:
            rank, _, leaf = row.leaf.removeprefix("rank ").partition(": ")
            by_leaf.setdefault(leaf, []).append(int(rank))
        by_ranks: dict[str, list[str]] = {}
        for leaf, ranks in by_leaf.items():
            every = len(ranks) == len(self.ranks)
            by_ranks.setdefault("every rank" if every else say_ranks(ranks), []).append(leaf)
        return "; ".join(f"{', '.join(named)} on {on}" for on, named in by_ranks.items())

    @property
    def facts(self) -> dict[str, Any]:
        """What a record keeps of it."""
        return {
            "verdict": self.verdict,
            "sentence": self.sentence,
            "ranks": [vars_of(row) for row in self.ranks],
        }


def vars_of(row: RankNumbers) -> dict[str, Any]:
    """A row as plain data; what was not compared has None."""
    return {
        name: None if value != value else value
        for name in row.__dataclass_fields__
        for value in [getattr(row, name)]
    }
