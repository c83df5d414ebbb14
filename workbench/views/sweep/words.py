"""What every view of a sweep says of it: its facts, the remarks on a row."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.analysis.sweep.sweep import Sweep
from workbench.report.trials import Trial
from workbench.views.words.units import plural, seconds_text

SHOWN = (
    ("speedup", "Speed-up"),
    ("call_us", "Call"),
    ("compile_s", "Compile"),
    ("first_call_s", "First call"),
    ("peak_bytes", "Peak memory"),
    ("kernels", "Kernels"),
    ("dram_bytes", "DRAM traffic"),
    ("artifact_bytes", "Artifact"),
)
"""The figures of a table with their titles."""


def facts(sweep: Sweep) -> str:
    """How many settings, how long that took, on which machines."""
    known = f", {sweep.from_store} from the store" if sweep.from_store else ""
    took = f" in {seconds_text(sweep.seconds)}" if sweep.seconds else ""
    machines = sorted({trial.machine for trial in sweep.trials if trial.machine})
    words = [f"{plural(len(sweep.trials), 'setting')}{took}{known}."]
    words += [f"Measured on {', '.join(machines)}."] if machines else []
    return " ".join(words)


def remarks(trial: Trial) -> Iterator[str]:
    """How a row ended if it is not done, what was chosen, and why its figures are to be doubted."""
    if trial.status != "done":
        yield f"{trial.status}: {trial.reason}" if trial.reason else trial.status
    if trial.is_model:
        yield "a model's figure, nothing was run"
    if trial.chosen:
        first, *others = trial.chosen.split("; ")
        yield f"chose {first}" + (f" and {len(others)} more" if others else "")
    if trial.warning:
        yield trial.warning
