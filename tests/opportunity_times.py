"""Programs on the host whose savings in time are predicted from a profile, and measured."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import torch

import workbench as wb
from tests.bench.figure import interleaved
from tests.bench.saved import Saved
from tests.opportunity_cases import (
    HOST,
    Case,
    Copying,
    Inputs,
    Pictures,
    attended,
    attended_by_library,
    best,
    best_by_max,
    copied,
    random,
    scaled,
    turned,
    turned_by_parts,
)
from workbench.handles.opportunities.opportunities import Suggestion
from workbench.report import Kernel, Report, Table
from workbench.report.profile_record import Profile, add_measured_call, read_measured_call

_WARM = 5
_PROFILES = 3  # of which each kernel's least time predicts: others were disturbed


def saved_time(case: Case, calls: int) -> Saved:
    """Compile, profile, ask what to do, do it, and time both in turn."""
    torch.manual_seed(0)
    inputs = case.inputs()
    function = case.function() if case.is_built else case.function
    compiled = wb.aot_compile(function, inputs, **HOST)
    profiles = [wb.profile(compiled, inputs) for _ in range(_PROFILES)]
    compiled.update(_undisturbed(profiles))
    found = wb.opportunities(compiled)[case.rule]
    low, high = found.saved_us_low or 0.0, found.saved_us_high or 0.0
    other, given = _done(case, found, inputs)
    runs = _timed(compiled, inputs), _timed(other, given)
    for run in runs * _WARM:
        run()
    before, after = interleaved(*runs, calls)
    return Saved(case.name, case.rule, low, high, min(before), min(after))


def _undisturbed(profiles: list[Profile]) -> Report:
    """A report whose kernels have the least of all times, as calls are compared by theirs."""
    report = profiles[0].report
    calls = [call for made in profiles if (call := read_measured_call(made.report)) is not None]
    least = {id: min(call.least_us[id] for call in calls) for id in calls[0].least_us}
    kernels = [replace(kernel, time_us=least.get(kernel.id)) for kernel in report.kernels]
    report = replace(report, tables={**report.tables, "kernels": Table.of(Kernel, kernels)})
    return add_measured_call(report, replace(calls[0], least_us=least))


def _done(case: Case, found: Suggestion, inputs: Inputs) -> tuple[Any, Inputs]:
    """What was compiled with the change, and its inputs."""
    if case.instead is not None:
        return wb.aot_compile(case.instead, inputs, **HOST), inputs
    made = found.try_().compiled
    if dict(found.settings).get("memory_format") == "channels_last":
        return made, tuple(x.to(memory_format=torch.channels_last) for x in inputs)
    return made, inputs


def _timed(compiled: Any, inputs: Inputs) -> Callable[[], float]:
    def microseconds() -> float:
        start = time.perf_counter()
        compiled(*inputs)
        return (time.perf_counter() - start) * 1e6

    return microseconds


def pictures() -> torch.nn.Module:
    """Two convolutions, for inference."""
    return Pictures().eval()


def wide() -> torch.nn.Module:
    """A module that copies a weight of 4 MB."""
    module = Copying().eval()
    module.weight = torch.nn.Parameter(torch.randn(1024, 1024))
    return module


TIMED = (
    Case("copy of 8 MB", "copied-matrix", copied, random((2048, 1024), (2048, 64))),
    Case("copy of 4 MB", "copied-matrix", copied, random((1024, 1024), (1024, 64))),
    Case("copied weight of 4 MB", "copied-matrix", wide, random((64, 1024)), is_built=True),
    Case("topk of 512 × 1000", "topk-of-one", best, random((512, 1000)), instead=best_by_max),
    Case("topk of 1000 × 4000", "topk-of-one", best, random((1000, 4000)), instead=best_by_max),
    Case("topk of 64 × 50000", "topk-of-one", best, random((64, 50000)), instead=best_by_max),
    Case(
        "small complex rotation",
        "complex-numbers",
        turned,
        random((8, 64, 64), (64, 32), (64, 32)),
        instead=turned_by_parts,
    ),
    Case(
        "attention over 512",
        "attention-by-hand",
        attended,
        random(*[(8, 512, 64)] * 3),
        instead=attended_by_library,
    ),
    Case(
        "attention over 1024",
        "attention-by-hand",
        attended,
        random(*[(4, 1024, 32)] * 3),
        instead=attended_by_library,
    ),
    Case("float64 of 1 MB", "float64-creeps-in", scaled, random((256, 512))),
    Case("float64 of 8 MB", "float64-creeps-in", scaled, random((1024, 1024))),
    Case("float64 of 32 MB", "float64-creeps-in", scaled, random((4096, 1024))),
    Case("two images", "channels-last", pictures, random((2, 8, 64, 64)), is_built=True),
    Case("eight images", "channels-last", pictures, random((8, 8, 96, 96)), is_built=True),
)
"""What the benchmark times."""


if __name__ == "__main__":  # the calls of each, how many of the cases
    count = int(sys.argv[2]) if len(sys.argv) > 2 else len(TIMED)
    print(json.dumps([asdict(saved_time(case, int(sys.argv[1]))) for case in TIMED[:count]]))
