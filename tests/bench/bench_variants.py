"""Load and first call of a GPT-2 with a break, from a file of its variants, in a fresh process."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from tests.bench.figure import Figure, child, empty_caches, interleaved, ratio

CONDITIONS = (
    "A 2-layer GPT-2, width 256, length 64, with a print in the middle. Variants for batch 2 "
    "and any other batch, no gradients. Fresh processes that have torch and the model, empty "
    "caches, no compiler called, file in the page cache"
)
NAME = "load + first call of an .aotv, 2-layer GPT-2 with a break, empty cache"
REACH = 0.5  # seconds


class Broken(torch.nn.Module):
    """A GPT-2 that prints after its embedding."""

    def __init__(self) -> None:
        super().__init__()
        from tests.models import zoo

        case = zoo.build("gpt2", layers=2, width=256, length=64, words=1000)
        self.model, self.ids = case.model, case.inputs["input_ids"]

    def forward(self, ids: torch.Tensor) -> Any:
        """The logits."""
        embedded = self.model.transformer.wte(ids)
        print("embedded", file=sys.stderr)
        return self.model(inputs_embeds=embedded).logits


def figures(quick: bool = False) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.aotv")
        with empty_caches() as variables:
            child(__name__, "save", path, variables=variables)
        found: list[dict[str, float]] = []

        def measure(way: str) -> float:
            with empty_caches() as variables:
                found.append(child(__name__, way, path, variables=variables))
            return found[-1]["seconds"]

        ours, theirs = interleaved(
            lambda: measure("load"), lambda: measure("compile"), 1 if quick else 3
        )
    best = min(ours)
    yield Figure(f"{NAME} (s)", best, None, best, REACH, "s", conditions=CONDITIONS)
    yield ratio("  of torch.compile of the same calls", ours, theirs, None)
    worst = max(row["difference"] for row in found)
    yield Figure("  largest difference from eager", worst, None, worst, 1e-5, "")


def measured(way: str, path: str) -> dict[str, float]:
    """Save the file, or the seconds of a first call from it or by torch.compile."""
    import workbench as wb
    from tests.bench.bench_variants import Broken

    model = Broken()
    ids = model.ids
    with torch.no_grad():
        if way == "save":
            wb.variants(model, [(ids,), (torch.cat([ids, ids]),)]).save(path)
            return {}
        expected = model(ids)
        start = time.perf_counter()
        call = wb.load(path, model, trust=True) if way == "load" else torch.compile(model)
        result = call(ids)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "difference": float((result - expected).abs().max())}


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:])))
