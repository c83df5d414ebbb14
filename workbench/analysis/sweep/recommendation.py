"""The setting of a sweep to take: a record that a notebook shows as a sentence with its code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.report.presenting import Presented

if TYPE_CHECKING:
    from workbench.analysis.sweep.choosing import Choice


@dataclass(frozen=True)
class Recommendation(Presented):
    """What to take, why, and how to write it down."""

    choice: Choice
    sentence: str
    code: str

    @property
    def settings(self) -> dict[str, str]:
        """The chosen value of each axis."""
        return dict(self.choice.winner.settings)

    def __repr__(self) -> str:
        return f"{self.sentence}\n\n{self.code}"
