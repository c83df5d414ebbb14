"""The choice that the autotuner took for one operation beside the one that came next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workbench.report.presenter import Presented
from workbench.report.rows import AutotuneChoice
from workbench.report.side_by_side import Difference


@dataclass(frozen=True, repr=False)
class Rivals(Presented):
    """Winner and runner-up for one operation, each with the code that was timed.

    The code is that of the choice alone, before anything was fused to it; of a call of a library it
    is the call. With `is_model` nothing was timed: a cost model gave the times.
    """

    op: str
    winner: AutotuneChoice
    runner_up: AutotuneChoice | None
    winner_code: str = ""
    runner_up_code: str = ""

    @property
    def is_model(self) -> bool:
        """Whether a cost model gave the times."""
        return is_model(self.winner)

    @property
    def ratio(self) -> float | None:
        """How many times as long the runner-up takes."""
        if self.runner_up is None or not self.winner.time_ms or self.runner_up.time_ms is None:
            return None
        return self.runner_up.time_ms / self.winner.time_ms

    def difference(self) -> Difference:
        """Both codes line by line."""
        next_one = self.runner_up.choice if self.runner_up else "nothing"
        return Difference(
            *(self.op, "code", self.winner.choice, next_one),
            *(self.winner_code, self.runner_up_code),
        )


def is_model(choice: AutotuneChoice) -> bool:
    """Whether a cost model gave the time of a choice, as for a virtual GPU."""
    return (choice.note or "").startswith("estimated")


def list_rivals(choices: Iterable[AutotuneChoice], texts: Mapping[str, str]) -> tuple[Rivals, ...]:
    """Winner and runner-up of every operation for which the autotuner had a choice."""
    groups: dict[str, list[AutotuneChoice]] = {}
    for row in choices:
        if row.time_ms is not None:
            groups.setdefault(row.op, []).append(row)
    rivals = []
    for op, rows in groups.items():
        ranked = sorted(rows, key=lambda row: (not row.chosen, row.time_ms))
        codes = [texts.get(row.text or "") or "" for row in ranked[:2]]
        rivals.append(Rivals(op, ranked[0], ranked[1] if len(ranked) > 1 else None, *codes))
    return tuple(rivals)
