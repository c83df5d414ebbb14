"""What a newcomer waits for in the first minute: the first notebook, and a small U-Net compiled."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

from tests.bench.figure import ROOT, Figure, child, empty_caches

CONDITIONS = (
    "Fresh processes, empty caches, g++ in the page cache, 2 threads. Notebook: all cells of "
    "notebook 1 and its kernel's start. U-Net: one level with attention, 8 channels, a 32 × "
    "32 float32 image, torch already imported, to its result"
)
_NOTEBOOK = "01_quick_start.ipynb"


def figures(quick: bool = False) -> Iterator[Figure]:
    runs = 1 if quick else 3
    with empty_caches() as variables:
        seconds = _run_notebook(variables)
    yield Figure("Run All of notebook 1 (s)", seconds, None, seconds, 60, "s")
    found = []
    for _ in range(runs):
        with empty_caches() as variables:
            found.append(child(__name__, variables=variables))
    best = min(found, key=lambda one: float(one["seconds"]))
    note = f"{best['operators']} operators, {best['kernels']} kernels"
    yield Figure("a U-Net on the host (s)", best["seconds"], None, best["seconds"], 15, "s", note)


def _run_notebook(variables: dict[str, str]) -> float:
    path = ROOT / "notebooks" / _NOTEBOOK
    command = (sys.executable, "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute")
    start = time.perf_counter()
    done = subprocess.run(
        [*command, "--stdout", str(path)],
        env=variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode:
        raise RuntimeError(f"{_NOTEBOOK} failed:\n{done.stderr[-3000:]}")
    return time.perf_counter() - start


def measure_here() -> dict[str, float]:
    """Seconds from a U-Net to its first result."""
    import torch

    from tests.bench.wide_programs import UNet

    model, x = UNet(8).eval(), torch.randn(1, 3, 32, 32)
    start = time.perf_counter()
    import workbench as wb

    compiled = wb.aot_compile(model, (x,), grad=False)
    compiled(x)
    seconds = time.perf_counter() - start
    report = compiled.report
    captured = {graph.id for graph in report.graphs if graph.stage == "dynamo"}
    calls = [
        node for node in report.nodes if node.graph in captured and node.op.startswith("call_")
    ]
    return {"seconds": seconds, "operators": len(calls), "kernels": len(report.kernels)}


if __name__ == "__main__":
    print(json.dumps(measure_here()))
