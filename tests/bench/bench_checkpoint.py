"""Eleven memory budgets of a training step, without compiling them; whether a model fits."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from tests.bench.bench_large import children
from tests.bench.figure import Figure, child, empty_caches, peak_bytes
from workbench.number_text import plural

PREVIEWED = (0.9, 0.7, 0.5, 0.3, 0.1, 0.0)
CONDITIONS = (
    "budgets: a GPT-2 of 6 layers, width 256, length 64, its partitioner asked for eleven budgets "
    "one after the other; fits: Llama-3-8B, bfloat16, AdamW in float32, 2,048 tokens, without "
    "weights, 2 and 4 layers compiled for a virtual H100 by a worker that has compiled something; "
    "previews: six budgets of the steps of tests/training_steps.py, each compiled, beside the peak "
    "that is counted from the compiled forward and backward"
)


def figures(quick: bool = False) -> Iterator[Figure]:
    with empty_caches() as variables:
        found = child(__name__, "budgets", "2" if quick else "6", variables=variables)
    note = f"{found['nodes']} nodes in the joint graph"
    name = "eleven memory budgets of a training step (s)"
    yield Figure(name, found["seconds"], None, found["seconds"], 2, "s", note)
    yield from _of_previews(1 if quick else 10)
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


def _of_previews(steps: int) -> Iterator[Figure]:
    """How far the previews of training steps are below and above what was compiled."""
    with empty_caches() as variables:
        found = child(__name__, "previews", str(steps), variables=variables)
    note = f"{found['count']} budgets of {plural(steps, 'training step')}, peaks counted"
    for side in ("under", "over"):
        row = found[side]
        name = f"previews of memory budgets, worst {side} (%)"
        note_of = f"{note}; {row['step']} at {row['budget']:g}"
        yield Figure(name, row["preview"], row["peak"], row["off"], None, "%", note_of)


def previews(steps: int) -> dict[str, Any]:
    """The worst previews; the peak of a compiled budget is counted from its programs."""
    import workbench as wb
    from tests.training_steps import STEPS, build

    found = []
    for name in list(STEPS)[:steps]:
        model, inputs = build(name)
        looked = wb.aot_compile(model, inputs, grad=True).checkpoint()
        before = {point.budget: point.preview_bytes for point in looked.budgets.points}
        for budget in PREVIEWED:
            preview, peak = before[budget] or 0, looked.at(budget).peak_bytes or 0
            off = 100 * (preview / peak - 1)
            row = {"step": name, "budget": budget, "preview": preview, "peak": peak, "off": off}
            found.append(row)
    order = sorted(found, key=lambda row: row["off"])
    return {"count": len(found), "under": order[0], "over": order[-1]}


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
    measure = {"budgets": budgets, "fits": fits, "previews": previews}[sys.argv[1]]
    print(json.dumps(measure(int(sys.argv[2]))))
