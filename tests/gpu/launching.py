"""What launches cost, and what CUDA graphs save: the model beside the device."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

import workbench as wb
from tests.gpu.figures import print_figure, print_unchecked
from tests.gpu.tracing import kernels_of
from workbench.report.profile_record import read_measured_call

LAYERS = 100
"""Each is a product and a loop: 200 small kernels."""
SEED = "23 % expected for 200 small kernels"
MODEL = "by a model, of times that were measured on the device"
_CALLS = 50


def layers(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    for _ in range(LAYERS):
        x = torch.relu(x @ w) * 0.1
    return x


@dataclass(frozen=True)
class Launching:
    """Times in µs of one call: by the model, and measured; starts of kernels, counted twice.

    `launch_us` is what the profile says that a launch takes at most, `saved_then` what the model
    says that CUDA graphs save with that cost.
    """

    predicted_us: float
    predicted_graph_us: float
    call_us: float
    graph_us: float | None
    starts: int
    traced: int | None
    launch_us: float
    saved_then: float
    no_graph: str = ""


def tell(found: Launching) -> None:
    """Print the model beside the measured times."""
    if found.traced is None:
        print_unchecked("modelled kernel launches over those in a trace", "no trace has any")
    else:
        note = f"{found.starts} modelled, {found.traced} in torch's profile"
        print_figure(
            "modelled kernel launches over those in a trace",
            found.starts / found.traced,
            "ratio",
            note=note,
        )
    note = f"{found.predicted_us:.0f} µs modelled, {found.call_us:.0f} µs measured"
    print_figure(
        "call time by wb.launches over measured",
        found.predicted_us / found.call_us,
        "ratio",
        note=note,
    )
    predicted = 1 - found.predicted_graph_us / found.predicted_us
    print_figure(
        "saved by CUDA graphs, by wb.launches", predicted, "share", note=SEED, source=MODEL
    )
    print_figure(
        "saved by CUDA graphs, by wb.launches with the profiled launch cost",
        found.saved_then,
        "share",
        note=f"{found.launch_us:.1f} µs per launch",
    )
    if found.graph_us is None:
        print_unchecked("saved by CUDA graphs, measured", found.no_graph)
        return
    saved = 1 - found.graph_us / found.call_us
    note = f"{found.call_us:.0f} µs, or {found.graph_us:.0f} µs as one CUDA graph. {SEED}"
    print_figure("saved by CUDA graphs, measured", saved, "share", note=note)
    print_figure("saved by CUDA graphs, predicted minus measured", predicted - saved, "share")


def call_us(call: Callable[[], object], wait: Callable[[], object], calls: int = _CALLS) -> float:
    """The time of one of many calls that are started without waiting in between."""
    for _ in range(3):
        call()
    wait()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    wait()
    return (time.perf_counter() - start) / calls * 1e6


def waiting(device: str) -> Callable[[], object]:
    """What waits until a device has done what was started."""
    return torch.cuda.synchronize if device == "cuda" else lambda: None


def graphed(call: Callable[[], Any]) -> Callable[[], object]:
    """The call recorded as one CUDA graph, which `replay` starts."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def measured(device: str, width: int = 64) -> Launching:
    """The chain of small kernels, on a device."""
    x, w = (torch.randn(width, width, device=device) for _ in range(2))
    compiled = wb.aot_compile(layers, (x, w), grad=False)
    report = wb.profile(compiled, (x, w)).report
    model = wb.launches(report)
    call = read_measured_call(report)
    assert call is not None
    launch_us = call.call_us / len(model.rows)
    wait = waiting(device)
    plain_us = call_us(lambda: compiled(x, w), wait)
    graph_us, why = None, ""
    try:
        graph_us = call_us(graphed(lambda: compiled(x, w)), wait)
    except RuntimeError as error:  # CUDA's word for a call that cannot be recorded
        why = f"the call cannot be recorded: {str(error).partition(chr(10))[0]}"
    return Launching(
        predicted_us=model.plain_us,
        predicted_graph_us=model.graph_us,
        call_us=plain_us,
        graph_us=graph_us,
        starts=len(model.rows),
        traced=len(kernels_of(lambda: compiled(x, w), wait)) or None,
        launch_us=launch_us,
        saved_then=wb.launches(report, kernel_us=launch_us, library_us=launch_us).saved,
        no_graph=why,
    )
