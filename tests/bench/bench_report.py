"""The record of a 24-layer GPT-2 training step: its size, its opening, its memory."""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import ROOT, Figure, child

REACH_MB, REACH_S, REACH_EXTRA_MB = 8, 0.5, 200
CONDITIONS = (
    "Width 256, length 64, with gradients. A fresh process opens the report from the page "
    "cache; the import is included. Memory is compared between a compilation with a report and "
    "torch's compilation without one"
)
MB = 1e6


def figures(quick: bool = False) -> Iterator[Figure]:
    layers = "4" if quick else "24"
    with tempfile.TemporaryDirectory() as folder:
        variables = {**os.environ, "PYTHONPATH": str(ROOT)}
        variables["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/inductor"
        theirs = child(__name__, "torch", layers, folder, variables=variables)
        ours = child(__name__, "ours", layers, folder, variables=variables)
        size = (Path(folder) / "step.wbr").stat().st_size / MB
        opening = [child(__name__, "open", layers, folder, variables=variables) for _ in range(3)]
    what = f"report of a {layers}-layer GPT-2 training step"
    yield Figure(f"{what} (MB)", size, None, size, REACH_MB, "MB")
    seconds = statistics.median(found["seconds"] for found in opening)
    note = f"{opening[0]['kernels']} kernels; every table read: {opening[0]['all']:.2f} s"
    yield Figure("  open", seconds, None, seconds, REACH_S, "s", note)
    extra = ours["mb"] - theirs["mb"]
    yield Figure("  memory while compiling", ours["mb"], theirs["mb"], extra, REACH_EXTRA_MB, "MB")


def measure_here(way: str, layers: int, folder: Path) -> dict[str, float]:
    """The largest memory of a process that compiles a training step, plainly or with a record."""
    import torch

    from tests.models import zoo

    case = zoo.build("gpt2", layers=layers, width=256, length=64, words=1000)
    inputs = {**case.inputs, "labels": case.inputs["input_ids"]}
    case.model.train()
    case.model.loss_type = "ForCausalLM"  # else its code warns, which no graph can hold
    if way == "ours":
        import workbench as wb

        compiled = wb.aot_compile(case.model, (), inputs)
        compiled(**inputs).loss.backward()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        compiled.report.save(folder / "step.wbr")
    else:
        from tests.bench import torch_path

        step = torch_path.compile_module(case.model, inputs)
        step(case.model, **inputs).loss.backward()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert torch.isfinite(next(case.model.parameters()).grad).all()
    return {"mb": peak * 1024 / MB}


def open_here(folder: Path) -> dict[str, float]:
    """Seconds to open the report and look at its kernels, and to read every table."""
    from workbench.report import TABLES, Report

    start = time.perf_counter()
    report = Report.load(folder / "step.wbr")
    repr(report)
    kernels = len(report.kernels)
    seconds = time.perf_counter() - start
    for name in TABLES:
        len(getattr(report, name))
    return {"seconds": seconds, "kernels": kernels, "all": time.perf_counter() - start}


if __name__ == "__main__":
    way, layers, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    print(json.dumps(open_here(folder) if way == "open" else measure_here(way, layers, folder)))
