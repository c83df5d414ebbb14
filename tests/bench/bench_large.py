"""Llama 3 for an H100 that is not there: seconds, memory, and how fast the page opens."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.figure import Figure, child, children, cpu_seconds, empty_caches, peak_bytes
from tests.bench.view_pages import open_page
from tests.browser.driving import running_chromium

CONDITIONS = (
    "bfloat16, one sequence of 2,048 tokens, no weights. The worker has already compiled a "
    "small program, and kernels are compiled for the first time. Where layers are compiled "
    "once, the layer's `forward` is a `nested_compile_region`"
)


@dataclass(frozen=True)
class _Model:
    name: str
    size: str
    layers: int
    grad: bool
    reach_s: float
    once: bool = False


_ONCE = "layers compiled once"
MODELS = {
    "8b": _Model("Llama-3-8B for a virtual H100 (s)", "8B", 32, False, 20),
    "step": _Model("Llama-3-8B training step for a virtual H100 (s)", "8B", 32, True, 60),
    "70b": _Model("Llama-3-70B for a virtual H100 (s)", "70B", 80, False, 30),
    "8b once": _Model(f"Llama-3-8B for a virtual H100, {_ONCE} (s)", "8B", 32, False, 20, True),
    "step once": _Model(
        f"Llama-3-8B training step for a virtual H100, {_ONCE} (s)", "8B", 32, True, 60, True
    ),
    "70b once": _Model(f"Llama-3-70B for a virtual H100, {_ONCE} (s)", "70B", 80, False, 30, True),
}
_LAYERS_QUICKLY = 2


def figures(quick: bool = False) -> Iterator[Figure]:
    with TemporaryDirectory() as folder:
        for key, model in MODELS.items():
            layers = _LAYERS_QUICKLY if quick else model.layers
            page = Path(folder) / f"{key}.html"
            with empty_caches() as variables:
                found = child(__name__, key, str(layers), str(page), variables=variables)
            seconds, note = found["seconds"], f"{found['kernels']} kernels, {found['cpu_s']} CPU s"
            yield Figure(model.name, seconds, None, seconds, model.reach_s, "s", note)
            yield Figure(
                f"{model.name}: peak memory of the worker (GB)",
                found["peak_gb"],
                None,
                found["peak_gb"],
                1,
                "GB",
            )
            yield _opens(model, page)


def _opens(model: _Model, page: Path) -> Figure:
    """From the load of the page until the view is there."""
    with running_chromium() as browser:
        open_page(browser, page).close()  # the first page of a browser starts processes
        start = time.perf_counter()
        open_page(browser, page).close()
        seconds = time.perf_counter() - start
    return Figure(f"{model.name}: its report opens (s)", seconds, None, seconds, 1, "s")


def measure_here(key: str, layers: int, page: str) -> dict[str, float]:
    import torch

    import workbench as wb
    from workbench.demo import llama

    def other(x: torch.Tensor) -> torch.Tensor:
        return x.cos().amax(-1)

    model = MODELS[key]
    wb.aot_compile(other, (torch.randn(16, 64),), target="h100")
    tokens = torch.zeros(1, 2048, dtype=torch.long, device="meta")
    inputs = {"input_ids": tokens} | ({"labels": tokens} if model.grad else {})
    module = llama(model.size, layers, once=model.once)
    (worker,) = children()
    start, used = time.perf_counter(), cpu_seconds(worker)
    made = wb.aot_compile(module, (), inputs, target="h100", grad=model.grad)
    seconds = time.perf_counter() - start
    made.report.to_html(page)
    return {
        "seconds": seconds,
        "cpu_s": round(cpu_seconds(worker) - used),
        "peak_gb": peak_bytes(worker) / 1e9,
        "kernels": len(made.report.kernels),
    }


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
