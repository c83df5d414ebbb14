"""Durations as people write them, and the limits that they set."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.report.presenting import Presented

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_WRITTEN = re.compile(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*([a-zµμ]+)\s*")


@dataclass(frozen=True, repr=False)
class MissedBudget(Presented):
    """A time that takes longer than it may; both in seconds."""

    name: str
    value: float
    limit: float


def seconds_of(name: str, value: str | float) -> float:
    """The seconds that `"100ms"`, `"85 us"` or `1.5` (seconds) stand for.

    Raises `UsageError` naming the budget when it is no duration.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    found = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[2] not in _SECONDS:
        raise UsageError(
            f'The budget {name}={value!r} is no duration: write "85us", "100ms", "1.5s", or a '
            "number of seconds."
        )
    return float(found[1]) * _SECONDS[found[2]]
