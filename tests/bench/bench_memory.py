"""Memory that is counted from programs, beside torch's profiler; the time that counting takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import torch

import workbench as wb
from tests.bench.figure import Figure
from tests.handles.memory.programs import PROGRAMS, TRAINED
from tests.models import zoo
from workbench.analysis.memory.memory import Memory
from workbench.analysis.memory.timeline import timeline

REACH_MEDIAN, REACH_WORST, REACH_S = 0.01, 0.10, 0.1
CONDITIONS = (
    "Bytes above weights and inputs on the CPU, float32. A step is one forward and one "
    "backward pass. Too low where convolutions, attention and sorting allocate internally. "
    "The count is timed with the report open and its tables read"
)


def figures(quick: bool = False) -> Iterator[Figure]:
    cases = [(name, grad) for name in PROGRAMS for grad in (False, True)[: 1 + (name in TRAINED)]]
    errors = {case: abs(_error(*case)) for case in (cases[::4] if quick else cases)}
    median = statistics.median(errors.values())
    worst = max(errors, key=errors.__getitem__)
    what = f"peak memory of {len(errors)} programs and steps: counted / measured - 1"
    yield Figure(f"{what}, median", median, None, median, REACH_MEDIAN, "ratio")
    note = f"{worst[0]}, {'a step' if worst[1] else 'inference'}"
    yield Figure(f"{what}, worst", errors[worst], None, errors[worst], REACH_WORST, "ratio", note)
    layers = 2 if quick else 24
    seconds = _counting(layers)
    what = f"memory of a {layers}-layer GPT-2 training step counted (s)"
    yield Figure(what, seconds, None, seconds, REACH_S, "s")


def _error(name: str, grad: bool) -> float:
    torch.manual_seed(0)
    fn, args = PROGRAMS[name]()
    found: float = wb.aot_compile(fn, args, grad=grad).memory().measure(*args).error
    return found


def _counting(layers: int) -> float:
    case = zoo.build("gpt2", layers=layers, width=256, length=64, words=1000)
    inputs = {**case.inputs, "labels": case.inputs["input_ids"]}
    case.model.train()
    case.model.loss_type = "ForCausalLM"  # else its code warns, which no graph can hold
    report = wb.aot_compile(case.model, (), inputs).report
    times = []
    for _ in range(3):
        start = time.perf_counter()
        assert Memory(report, timeline(report)).allocations  # not what the report remembers
        times.append(time.perf_counter() - start)
    return statistics.median(times)
