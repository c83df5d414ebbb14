"""The results of rehearsed fixes of graph breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.analysis.breaks.broken_statement import CureKind
from workbench.analysis.breaks.cures import find_advice
from workbench.analysis.changes.tried_change import Verdict
from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.report import Break
from workbench.report.presenter import Presented, presenter

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class RehearsedCure:
    """A fix of one break: the change, and the counts and comparisons with it.

    Graphs and breaks are counted in one captured call; None if the copy could not be captured.
    """

    id: str
    break_id: str  # the break, by its id in the table of breaks
    file: str
    line: int  # the first line that changes, or that of the break
    kind: CureKind  # "rewrite", "move", "option" or "explicit"
    text: str  # what the cure does
    verdict: Verdict  # one of `VERDICTS`
    checked: str  # what was compared with which tolerance, or why not
    graphs_before: int
    graphs_after: int | None
    breaks_before: int
    breaks_after: int | None
    code: str  # the lines to write, or the options to set before compiling
    patch: str  # the change as a unified diff; empty for options


def _takes_away(cure: RehearsedCure) -> bool:
    """Whether a fix removes its break: alone, or as one of several."""
    is_less = cure.breaks_after is not None and cure.breaks_after < cure.breaks_before
    return cure.verdict == "cures" or (cure.verdict == "helps" and is_less)


@dataclass(frozen=True, repr=False)
class Rehearsal(Presented):
    """Hold the graph breaks of a call with their fixes, each tried separately and compared.

    `chosen` are the ids of the fixes that were tried together: the first of each break that helps.
    `graphs_after` and `breaks_after` are the counts with them.
    """

    name: str
    breaks: tuple[Break, ...]
    cures: tuple[RehearsedCure, ...]
    graphs_before: int
    graphs_after: int
    breaks_after: int
    chosen: tuple[str, ...]
    chosen_patch: str = field(repr=False)
    compiled: str = "Inductor was not run"  # where nothing breaks, what it made of the call

    @property
    def advice(self) -> Mapping[str, str]:
        """Advice on the breaks that no fix removes, by their id, in words."""
        if any(cure.verdict == "cures" for cure in self.cures) or not self.breaks_after:
            return {}
        solved = {cure.break_id for cure in self.cures if _takes_away(cure)}
        return {item.id: find_advice(item) for item in self.breaks if item.id not in solved}

    @checked
    def patch(self, cure: str | None = None) -> str:
        """Return a unified diff of one fix, by its id, or of those that were tried together.

        Dynamo options are not included: their code is in the table of fixes. Raises `UsageError`
        for an unknown id, and for a fix that was refused.
        """
        if cure is None:
            return self.chosen_patch
        one = next((row for row in self.cures if row.id == cure), None)
        if one is None:
            ids = ", ".join(row.id for row in self.cures) or "none"
            raise UsageError(f"Fix {cure!r} does not exist; choose one of {ids}.")
        if one.verdict == "refused":
            raise UsageError(f"Fix {cure} was refused: {one.checked} Choose another one.")
        return one.patch

    @checked
    def frame(self, name: str = "cures") -> pandas.DataFrame:
        """Return the `cures` or `breaks` as a DataFrame; raises `UsageError` for another name."""
        if name == "cures":
            return presenter().rows_frame(self.cures, RehearsedCure)
        if name == "breaks":
            return presenter().rows_frame(self.breaks, Break)
        raise UsageError(f"Table {name!r} does not exist; choose 'cures' or 'breaks'.")
