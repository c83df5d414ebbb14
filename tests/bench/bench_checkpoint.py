"""Eleven memory budgets of a training step, without compiling them; whether a model fits."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from tests.bench.figure import Figure, child, children, empty_caches, peak_bytes

CONDITIONS = (
    "Budgets: eleven memory budgets for a 6-layer GPT-2, width 256, length 64. Fits: "
    "Llama-3-8B in bfloat16 with float32 AdamW, 2,048 tokens, no weights, compiled with 2 and "
    "4 layers for a virtual H100 by a warm worker"
)


def figures(quick: bool = False) -> Iterator[Figure]:
    with empty_caches() as variables:
        found = child(__name__, "budgets", "2" if quick else "6", variables=variables)
    note = f"{found['nodes']} nodes in the joint graph"
    name = "eleven memory budgets of a training step (s)"
    yield Figure(name, found["seconds"], None, found["seconds"], 2, "s", note)
    if quick:
        return
    with empty_caches() as variables:
        found = child(__name__, "fits", "8", variables=variables)
    name = "wb.fits, Llama-3-8B training step (s)"
    yield Figure(name, found["seconds"], None, found["seconds"], 40, "s")
    yield Figure(f"{name}: peak memory of a process (GB)", found["gb"], None, found["gb"], 2, "GB")
    off = abs(found["predicted"] / found["compiled"] - 1) * 100
    title = f"{name}: 8 layers predicted, off (%)"
    yield Figure(title, found["predicted"], found["compiled"], off, 1, "%")


def budgets(layers: int) -> dict[str, Any]:
    """Seconds of the partitioner, and the size of its graph."""
    import workbench as wb
    from tests.models import zoo

    case = zoo.build("gpt2+gradients", layers=layers, width=256, length=64, words=1000)
    step = wb.aot_compile(case.model, (), dict(case.inputs), grad=True)
    looked = step.checkpoint()
    joint = {graph.id for graph in looked.report.graphs if graph.stage == "joint"}
    nodes = sum(node.graph in joint for node in looked.report.nodes)
    return {"seconds": sum(row.seconds for row in looked.report.memory_budgets), "nodes": nodes}


def fits(layers: int) -> dict[str, Any]:
    """Seconds of `wb.fits`, and its prediction for a few layers beside what they hold."""
    import torch

    import workbench as wb
    from workbench.demo import llama

    wb.aot_compile(torch.sin, (torch.randn(8),), target="h100")

    class Loss(torch.nn.Module):
        def __init__(self, model: torch.nn.Module) -> None:
            super().__init__()
            self.model = model

        def forward(self, **inputs: Any) -> Any:
            return self.model(**inputs, labels=inputs["input_ids"]).loss

    inputs = {"input_ids": torch.zeros(1, 2048, dtype=torch.long, device="meta")}
    model = llama("8B")
    start = time.perf_counter()
    wb.fits(Loss(model), (), inputs, target="h100", optimizer="adamw")
    seconds = time.perf_counter() - start
    used = max(map(peak_bytes, (os.getpid(), *children())))
    small = llama("8B", layers)
    predicted = wb.fits(Loss(small), (), inputs, target="h100", optimizer="adamw", total=layers)
    whole = wb.fits(Loss(small), (), inputs, target="h100", optimizer="adamw", layers=None)
    return {
        "seconds": seconds,
        "gb": used / 1e9,
        "predicted": predicted.peak,
        "compiled": whole.peak,
    }


if __name__ == "__main__":
    measure = {"budgets": budgets, "fits": fits}[sys.argv[1]]
    print(json.dumps(measure(int(sys.argv[2]))))
