"""What an opportunity was to save of a call, and what it saved."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Saved:
    """Microseconds of one call: what the least times predict, and the minima of calls in turn."""

    name: str
    rule: str
    low: float
    high: float
    before: float
    after: float

    @property
    def measured(self) -> float:
        """What a call takes less."""
        return self.before - self.after

    @property
    def predicted(self) -> float:
        """The middle of the range."""
        return (self.low + self.high) / 2
