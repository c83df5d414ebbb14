"""`wb.forecast` beside the device: `python -m tests.gpu.forecasts [FOLDER]`.

Every model compiles in a process of its own; they are measured one after the other when all have
compiled, so that no compilation disturbs a time. FOLDER, when given, gets the records and traces
of `more_models`, eager and compiled, so that a later model can be held against the same times.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier, Lock
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

import torch

import workbench as wb
from tests.gpu.figures import print_figure, print_rows, print_unchecked, reason
from tests.gpu.launching import waiting
from tests.gpu.more_models import MORE
from tests.gpu.tracing import kernels_of
from tests.gpu.whole_models import WHOLE, Whole, step_of, write_trace

_CALLS = 20
_LONGEST_COMPILATION = 200.0
_LONGEST_RUN = 280.0
HOLDS = 0.7
"""Share of intervals that hold, to reach: they are of about four times of five, of few programs."""
NEAR = 0.15


@dataclass(frozen=True)
class Foretold:
    """One model for inference: what was foretold and what was measured, in µs of one call."""

    model: str
    kernels_us: float
    error: float | None
    call_us: float
    least_us: float
    most_us: float | None
    graph_us: float
    measured_kernels_us: float
    measured_call_us: float
    measured_graph_us: float | None
    note: str = ""

    @property
    def off(self) -> float:
        """How far the kernels together are from what was measured."""
        return self.kernels_us / self.measured_kernels_us - 1

    @property
    def holds(self) -> bool | None:
        """Whether the kernels lie in their interval; None where there is none."""
        if self.error is None:
            return None
        return abs(self.measured_kernels_us - self.kernels_us) <= self.error * self.kernels_us


Told = tuple[str, Foretold | str]


def compile_model(whole: Whole, device: str) -> tuple[Any, tuple[torch.Tensor, ...]]:
    """The model for inference with its inputs on the device."""
    torch.manual_seed(0)
    module = whole.module().to(device, whole.dtype).eval()
    inputs = tuple(
        x.to(device, whole.dtype) if x.is_floating_point() else x.to(device) for x in whole.inputs()
    )
    if whole.last:
        module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        inputs = tuple(x.contiguous(memory_format=torch.channels_last) for x in inputs)
    return wb.aot_compile(module, inputs, grad=False), inputs


def measure_call(call: Any, wait: Any) -> float:
    """The median of five turns of back-to-back calls, in µs of one."""
    turns = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(_CALLS):
            call()
        wait()
        turns.append((time.perf_counter() - began) / _CALLS * 1e6)
    return statistics.median(turns)


def measure_graph(call: Any, wait: Any) -> tuple[float | None, str]:
    """One replay of the call as a CUDA graph, or the reason why there is none."""
    if not torch.cuda.is_available():
        return None, "no device with graphs"
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
    except RuntimeError as error:
        return None, reason(error)
    return measure_call(graph.replay, wait), ""


def measure_model(
    name: str, compiled: Any, inputs: Sequence[torch.Tensor], device: str
) -> Foretold:
    """What `wb.forecast` says of a compiled model, and the times of the device."""
    told = wb.forecast(compiled)
    wait = waiting(device)

    def call() -> object:
        return compiled(*inputs)

    with torch.no_grad():
        for _ in range(5):
            call()
        wait()
        kernels = kernels_of(call, wait, _CALLS, copies=True)
        call_us = measure_call(call, wait)
        graph_us, note = measure_graph(call, wait)
    return Foretold(
        name,
        told.kernels_us,
        told.error,
        told.call_us,
        told.least_us,
        told.most_us,
        told.graph_us,
        sum(us for _, us in kernels) / _CALLS,
        call_us,
        graph_us,
        note,
    )


def run_model(
    name: str, device: str, folder: str, barrier: Barrier, turn: Lock, told: Queue[Told]
) -> None:
    """Compile, wait for the others, measure in turn; the row, or why there is none."""
    torch.set_num_threads(1)
    steps: dict[str, Callable[[], object]] = {}
    try:
        compiled, inputs = compile_model({**WHOLE, **MORE}[name], device)
        if folder and name in MORE:
            kinds = {"eager": False, "compiled": True}
            steps = {kind: step_of(MORE[name], device, compiled=on) for kind, on in kinds.items()}
            for step in steps.values():
                step()
    except Exception as error:
        barrier.abort()
        told.put((name, f"not compiled: {reason(error)}"))
        return
    with suppress(BrokenBarrierError):  # another failed or takes too long: this one is measured
        barrier.wait(_LONGEST_COMPILATION)
    with turn:
        try:
            found: Foretold | str = measure_model(name, compiled, inputs, device)
        except Exception as error:
            found = f"not measured: {reason(error)}"
        for kind, step in steps.items():
            write_trace(step, Path(folder) / f"{name}_{kind}.json.gz", device)
    if folder:
        compiled.report.save(Path(folder) / f"{name}.wbr")
    told.put((name, found))


def tell(rows: Sequence[Foretold]) -> None:
    """Print how far the forecasts are off, and how many intervals hold."""
    if not rows:
        print_unchecked("forecasts", "no model was measured")
        return
    offs = sorted((abs(row.off), row.off, row.model) for row in rows)
    note = ", ".join(f"{model} {off:+.0%}" for _, off, model in offs)
    print_figure(
        "median error of the forecast of all kernels of a model",
        offs[len(offs) // 2][0],
        "share",
        reach=NEAR,
        note=note,
    )
    held = [row.holds for row in rows if row.holds is not None]
    if held:
        print_figure(
            "forecasts of kernels whose interval holds",
            sum(held) / len(held),
            "share",
            reach=HOLDS,
            rule=">=",
            note=f"{sum(held)} of {len(held)}",
        )
    calls = [row for row in rows if row.most_us is not None]
    if calls:
        inside = [
            row.model
            for row in calls
            if row.least_us <= row.measured_call_us <= (row.most_us or 0.0)
        ]
        print_figure(
            "forecasts of calls whose interval holds",
            len(inside) / len(calls),
            "share",
            reach=HOLDS,
            rule=">=",
            note=f"{len(inside)} of {len(calls)}",
        )


def main(arguments: Sequence[str] = (), device: str = "cuda", names: Sequence[str] = ()) -> int:
    """Compile every model, measure each, tell of all."""
    folder = arguments[0] if arguments else ""
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
    models = list(names or {**WHOLE, **MORE})
    context = multiprocessing.get_context("spawn")
    barrier, turn = context.Barrier(len(models)), context.Lock()
    told: Queue[Told] = context.Queue()
    running = [
        context.Process(target=run_model, args=(name, device, folder, barrier, turn, told))
        for name in models
    ]
    for process in running:
        process.start()
    end = time.monotonic() + _LONGEST_RUN
    for process in running:
        process.join(max(end - time.monotonic(), 0.0))
    found: dict[str, Foretold | str] = {}
    while not told.empty():
        found.update([told.get()])
    for name, process in zip(models, running, strict=True):
        found.setdefault(name, f"its process ended with {process.exitcode}")
        process.kill()
    rows = [row for row in found.values() if isinstance(row, Foretold)]
    print_rows("forecasts", map(asdict, rows))
    for name, row in found.items():
        if isinstance(row, str):
            print_unchecked(f"forecast of {name}", row)
    tell(rows)
    return int(len(rows) < len(models))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
