"""What came of the cures of a function's graph breaks that were tried, and the patch they make."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from workbench.analysis.rehearsal.candidates import Kind
from workbench.number_text import plural
from workbench.report.presenting import Presented, presenter

if TYPE_CHECKING:
    import pandas

Verdict = Literal["works", "no effect", "meant", "refused", "not checked"]
_HUNK = re.compile(r"^@@ -(\d+)(.*) \+(\d+)(.*) @@$")


@dataclass(frozen=True)
class Cure:
    """One cure of one break, tried on a copy of the code.

    `verdict`: it "works" where the breaks are fewer and outputs are the same; the break is "meant"
    where it stays by choice; "refused" where outputs differ or the copy fails; `checked` says what
    was compared or why not. `before` are the lines from `first_line`, `after` those in their place;
    `option` is one of `torch._dynamo.config`, to be set to True.
    """

    break_id: str
    kind: Kind
    title: str
    why: str
    verdict: Verdict
    graphs_before: int
    graphs_after: int | None
    breaks_before: int
    breaks_after: int | None
    agrees: bool | None
    checked: str
    file: str
    line: int
    first_line: int | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    option: str | None = None


@dataclass(frozen=True)
class Together:
    """The first cure of each break that works, all at once; `left_out` says which could not be."""

    graphs: int | None
    breaks: int | None
    agrees: bool | None
    checked: str
    cures: tuple[Cure, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A function that was traced: `first_line` is where its text begins in the file."""

    file: str
    first_line: int
    text: str


@dataclass(frozen=True, repr=False)
class Rehearsal(Presented):
    """The cures of a function's graph breaks, each tried on a copy, and all that work together.

    Graphs and breaks are counted by capturing again; nothing of the function itself was changed.
    """

    name: str
    graphs: int
    breaks: int
    cures: tuple[Cure, ...]
    together: Together
    parts: tuple[Part, ...] = field(repr=False)

    @property
    def options(self) -> dict[str, bool]:
        """The options of `torch._dynamo.config` among the cures that work together."""
        return {cure.option: True for cure in self.together.cures if cure.option is not None}

    @property
    def sentence(self) -> str:
        """How many graphs are left with the cures that work, and whether outputs are the same."""
        if not self.breaks:
            return f"{self.name} has no graph break: there is nothing to cure."
        cured = len({cure.break_id for cure in self.together.cures})
        found = f"{self.name}: {plural(self.graphs, 'graph')}, {plural(self.breaks, 'break')}"
        if not self.cures:
            return f"{found}; no cure is known: see the reasons in wb.explain."
        if not cured:
            return f"{found}; none of {plural(len(self.cures), 'cure')} that were tried works."
        if self.together.graphs is None:
            return f"{found}; {cured} of {self.breaks} can be cured. {self.together.checked}"
        left = plural(self.together.graphs, "graph")
        return f"{found}; with {cured} cured {left}. {self.together.checked}"

    def frame(self) -> pandas.DataFrame:
        """Every cure that was tried, a row each."""
        return presenter().rows_frame(self.cures, Cure)

    def patch(self, cures: Sequence[Cure] | None = None) -> str:
        """The lines of the cures as a unified diff; those that work together without `cures`.

        Options of Dynamo are no lines: see `options`.
        """
        chosen = self.together.cures if cures is None else cures
        return "".join(text for part in self.parts for text in _diff(part, chosen))


def _diff(part: Part, cures: Sequence[Cure]) -> Iterator[str]:
    """The diff of one function, with the line numbers of its file."""
    old = part.text.split("\n")
    new, held = list(old), [cure for cure in cures if holds(part, cure)]
    for cure in sorted(held, key=lambda cure: -(cure.first_line or 0)):
        start = (cure.first_line or 0) - part.first_line
        new[start : start + len(cure.before)] = cure.after
    for line in difflib.unified_diff(old, new, part.file, part.file, lineterm=""):
        if (found := _HUNK.match(line)) is not None:
            at = [int(found[n]) + part.first_line - 1 for n in (1, 3)]
            line = f"@@ -{at[0]}{found[2]} +{at[1]}{found[4]} @@"
        yield f"{line}\n"


def holds(part: Part, cure: Cure) -> bool:
    """Whether the lines of a cure are those of this function."""
    if cure.first_line is None or cure.file != part.file:
        return False
    start = cure.first_line - part.first_line
    here = part.text.split("\n")[max(start, 0) : start + len(cure.before)]
    return start >= 0 and tuple(here) == cure.before
