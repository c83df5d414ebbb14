"""One trial of a sweep: its configuration, its outcome, its measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from workbench.report.paired import PairedTimes
from workbench.typed_data import read_row

UNSAVED = "it cannot be saved: "
"""How the warning begins of what runs and cannot be written into a file."""
UNCHECKED = " not checked: "
"""What stands in the warning between the leaves that were not compared and why."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One configuration of a sweep, compiled and measured.

    `settings` are the axes with their values as texts, `key` the hash of all that the measurement
    depends on. `status` is "done", "wrong", "failed", "crashed", "timeout", "out of memory" or
    "cancelled"; only a done one has times. Times are for one call: `call_us` is the median,
    `low_us` and `high_us` its confidence interval. `baseline_us` is eager's time in the same
    rounds, and `speedup` the median of baseline over compiled with its interval. `samples_us` are
    the rounds of both in order; `disturbed` others are left out, or included if `is_disturbed`.
    `factors` are compiled over baseline for each measurement of a large factor. `code` identifies
    the generated program. A program is not timed twice: the times are then those of the trial
    `same_as`. Sizes are bytes. `difference` is the largest one from eager. With `is_model` nothing
    was run, and `call_us` is modelled. `warning` says why a number is doubtful, `chosen` is the
    autotuner's choice for each operation, `report` the hash of the full report.
    """

    key: str
    settings: tuple[tuple[str, str], ...]
    status: str = "done"
    reason: str | None = None  # why it is not done
    compile_s: float | None = None  # seconds of the compilation
    first_call_s: float | None = None  # seconds of the first call
    call_us: float | None = None
    low_us: float | None = None
    high_us: float | None = None
    baseline_us: float | None = None
    speedup: float | None = None
    speedup_low: float | None = None  # the lower end of the interval of `speedup`
    speedup_high: float | None = None  # the upper end of the interval of `speedup`
    peak_bytes: int | None = None  # peak memory during a call
    artifact_bytes: int | None = None  # the size of the saved compiled code
    kernels: int | None = None  # how many kernels a call runs, calls of libraries among them
    dram_bytes: int | None = None  # bytes that one call moves, by Inductor's model of the traffic
    chosen: str | None = None
    difference: float | None = None
    is_model: bool = False
    warning: str | None = None
    machine: str = ""  # the machine that it was measured on
    report: str | None = None
    samples_us: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    disturbed: int = 0  # rounds that other work disturbed
    is_disturbed: bool = False  # whether the times are from such rounds, for want of others
    factors: tuple[float, ...] = ()
    code: str | None = None  # the digest of the generated program
    same_as: str | None = None  # the setting that has the same code, whose times these are

    @property
    def relative(self) -> tuple[float, ...]:
        """The rounds, each divided by what the original took in the same round."""
        return tuple(ours / theirs for ours, theirs in zip(*self.samples_us, strict=True))

    @property
    def pairs(self) -> PairedTimes:
        """The rounds, the original before and what was compiled after."""
        after_us, before_us = self.samples_us
        if not all(time > 0 for time in (*after_us, *before_us)):
            return PairedTimes()
        # a record of an earlier version says so in words only
        is_disturbed = self.is_disturbed or "measure again later" in (self.warning or "")
        return PairedTimes(before_us, after_us, self.disturbed, is_disturbed, self.factors)

    @property
    def title(self) -> str:
        """The settings in one line: `mode=default, batch=8`."""
        return ", ".join(f"{name}={value}" for name, value in self.settings) or "as it is"

    @property
    def is_compared(self) -> bool:
        """Whether nothing of it is known to have been left uncompared."""
        return UNCHECKED not in (self.warning or "")

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Trial:
        """Read what `to_json` wrote; raises `Misfit` for anything else."""
        return read_row(cls, data)


def apart(a: Trial, b: Trial) -> tuple[str, str]:
    """What two trials are called beside each other: the settings in which they differ."""
    mine, other = dict(a.settings), dict(b.settings)
    names = [name for name in {**mine, **other} if mine.get(name) != other.get(name)]
    first, second = (
        ", ".join(f"{name}={own[name]}" for name in names if name in own) or "without these"
        for own in (mine, other)
    )
    return first, second
