"""The first compilation on a machine: a small function, every cache empty, a fresh process."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

from tests.bench.figure import Figure, child, empty_caches, interleaved, ratio

NAME = "first aot_compile of a small function, empty cache / torch's"
REACH = 0.35


def figures(quick: bool = False) -> Iterator[Figure]:
    keys: dict[str, list[str]] = {}

    def measure(way: str) -> float:
        with empty_caches() as variables:
            found = child(__name__, way, variables=variables)
        keys[way] = found["kernels"]
        return float(found["seconds"])

    ours, theirs = interleaved(lambda: measure("ours"), lambda: measure("torch"), 1 if quick else 5)
    yield ratio(NAME, ours, theirs, REACH)
    same = float(keys["ours"] != keys["torch"])
    yield Figure("  kernels that are not those of torch", same, None, same, 0, "count")


def measure_here(way: str) -> dict[str, object]:
    """Seconds from a function to its first result; torch itself is imported before."""
    import torch

    def small(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * 2 + x.sin().sum(-1, keepdim=True)

    x = torch.ones(64, 32)
    start = time.perf_counter()
    if way == "ours":
        import workbench as wb

        compiled = wb.aot_compile(small, (x,))
    else:
        compiled = torch.compile(small, fullgraph=True).aot_compile(((x,), {}))
    compiled(x)
    seconds = time.perf_counter() - start
    from torch._inductor.codecache import CppPythonBindingsCodeCache

    return {"seconds": seconds, "kernels": sorted(CppPythonBindingsCodeCache.cache)}


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1])))
