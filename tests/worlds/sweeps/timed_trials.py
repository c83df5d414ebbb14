"""Timed rows of sweeps, made up."""

from __future__ import annotations

import random
from typing import Any

from workbench.report.trials import Trial


def trial(call_us: float, seed: int = 0, baseline_us: float = 100.0, **more: Any) -> Trial:
    """A timed row: rounds around `call_us` against a baseline that drifts."""
    settings = more.pop("settings")
    luck = random.Random(repr((settings, seed)))
    ours, theirs = [], []
    for _ in range(40):
        drift = 1 + 0.2 * luck.random()
        ours.append(call_us * drift * (1 + 0.01 * luck.random()))
        theirs.append(baseline_us * drift * (1 + 0.01 * luck.random()))
    figures = {"first_call_s": 0.1, "peak_bytes": 1000, "compile_s": 5.0, **more}
    return Trial(
        key=repr(settings),
        settings=tuple(settings.items()),
        call_us=sorted(ours)[20],
        baseline_us=sorted(theirs)[20],
        speedup=baseline_us / call_us,
        samples_us=(tuple(ours), tuple(theirs)),
        **figures,
    )
