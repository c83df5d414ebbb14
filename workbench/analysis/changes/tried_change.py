"""The result of a change that was tried on a copy: a verdict, comparisons and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from workbench.errors import UsageError, describe_error
from workbench.number_text import plural

Made = TypeVar("Made")

Verdict = Literal["cures", "helps", "explicit", "no help", "refused", "not checked"]

VERDICTS: Mapping[Verdict, str] = {
    "cures": "Compiled in one graph (fullgraph=True) and run: the results are the same.",
    "helps": "Compiled and run: the results are the same, with fewer graphs or breaks, but "
    "breaks remain.",
    "explicit": "Compiled and run: the results are the same, and the break is explicit in the "
    "code.",
    "no help": "The results are the same, and so are the numbers of graphs and breaks.",
    "refused": "Not offered: the results differ, or the changed code raises.",
    "not checked": "The change could not be applied to a copy, or a result cannot be compared.",
}
"""What each word of `TriedChange.verdict` means."""


@dataclass(frozen=True)
class Counts:
    """What was counted of one call, or of the calls of a session, which are recompiled too."""

    graphs: int
    breaks: int
    recompiles: int | None = None

    @property
    def cost(self) -> tuple[int, ...]:
        """What a change is to lower: recompiles, or else breaks and then graphs."""
        if self.recompiles is not None:
            return (self.recompiles,)
        return self.breaks, self.graphs


@dataclass(frozen=True)
class TriedChange:
    """A change beside the code as it is; counts are None where nothing could be counted.

    `checked` says what was compared with which tolerance, or why not. `patch` is a unified diff,
    empty where no line is known. Of a session `calls` were made again, with a `backend`.
    """

    verdict: Verdict
    checked: str
    before: Counts | None = None
    after: Counts | None = None
    patch: str = ""
    calls: int = 0
    backend: str = ""

    @property
    def sentence(self) -> str:
        """What came of it on the calls of a session, in words."""
        before, after = self.before, self.after
        if self.verdict == "not checked" or before is None or after is None:
            return self.checked
        counts = f"{before.recompiles} → {after.recompiles} recompiles"
        if before.breaks or after.breaks:
            counts += f", {before.breaks} → {after.breaks} graph breaks"
        where = f"{plural(self.calls, 'call')} of the session (replayed on copies)"
        if after.cost >= before.cost:
            counts = f"The change does not help: {counts}"
        return f"{counts} in {where} with the backend {self.backend}. {self.checked}"


def weigh(agrees: bool | None, before: Counts, after: Counts) -> Verdict:
    """The verdict on a change that was counted and compared; `agrees` is None if it was not."""
    if agrees is not True:
        return "refused" if agrees is False else "not checked"
    if after.cost >= before.cost:
        return "no help"
    return "helps" if after.cost[0] else "cures"


@dataclass(frozen=True)
class Ran:
    """Whether a changed copy gives eager's results, in words too, and its counts."""

    agrees: bool | None
    checked: str
    counts: Counts


def try_change(
    make: Callable[[], Made],
    run: Callable[[Made], Ran],
    confirm: Callable[[Made, TriedChange], TriedChange],
    before: Counts,
    patch: str = "",
) -> TriedChange:
    """Make a change in a copy, run it, and compare its results and counts with `before`.

    A change that cannot be made in a copy is not checked; one that raises when it runs is refused.
    `confirm` may know more of a copy that ran.
    """
    try:
        copy = make()
    except (UsageError, SyntaxError, NameError, AttributeError) as error:
        return TriedChange("not checked", f"Not applied: {error}", before, patch=patch)
    try:
        ran = run(copy)
    except Exception as error:  # the change is wrong here
        return TriedChange(
            "refused", f"It raises {describe_in_one_line(error)}.", before, patch=patch
        )
    verdict = weigh(ran.agrees, before, ran.counts)
    tried = TriedChange(verdict, ran.checked, before, ran.counts, patch)
    return confirm(copy, tried)


def describe_in_one_line(error: Exception) -> str:
    """What an error says, in one line without a full stop."""
    return describe_error(error).partition("\n")[0].rstrip(".")
