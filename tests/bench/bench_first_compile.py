"""The first compilation on a machine: every cache empty, a fresh process."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.bench.figure import Figure, child, empty_caches, in_seconds, interleaved, ratio

NAME = "first aot_compile, {} kernel{}, empty cache / torch's"
REACH = {"one": 0.35, "four": 1.0}
REACH_S = {"one": 3.0, "four": 6.0}
CONDITIONS = (
    "A {} float32 input, timed until the first result. Each run is a fresh process with torch "
    "imported, empty caches, g++ in the page cache and 2 threads"
)
SIZES = {"one": "64 × 32", "four": "64 × 64"}
FOUR = ". From the fourth kernel on, the header is precompiled"
"""What one kernel does not pay: `compile_cache` postpones torch's precompiled header."""


def figures(quick: bool = False) -> Iterator[Figure]:
    for case, reach in REACH.items():
        yield from _first(case, reach, 1 if quick else 5)


def _first(case: str, reach: float, pairs: int) -> Iterator[Figure]:
    keys: dict[str, list[str]] = {}

    def measure(way: str) -> float:
        with empty_caches() as variables:
            found = child(__name__, way, case, variables=variables)
        keys[way] = found["kernels"]
        return float(found["seconds"])

    conditions = CONDITIONS.format(SIZES[case]) + (FOUR if case == "four" else "")
    ours, theirs = interleaved(lambda: measure("ours"), lambda: measure("torch"), pairs)
    found = ratio(NAME.format(case, "" if case == "one" else "s"), ours, theirs, reach)
    yield replace(found, conditions=conditions)
    yield in_seconds(found, REACH_S[case], conditions)
    different = float(keys["ours"] != keys["torch"])
    note = f"{len(keys['ours'])} built"
    name = "  kernels that are not those of torch"
    yield Figure(name, different, None, different, 0, "count", note, conditions)


def _functions() -> dict[str, tuple[Callable[..., Any], Any, int]]:
    """What is compiled, its input, and the number of kernels that it has to come to."""
    import torch

    def one(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * 2 + x.sin().sum(-1, keepdim=True)

    def four(x: torch.Tensor) -> torch.Tensor:
        for step in (torch.relu, torch.sin, torch.tanh, torch.sigmoid):
            x = step(x * 2 + 1) @ x  # the library's product keeps two kernels apart
        return x

    return {"one": (one, torch.ones(64, 32), 1), "four": (four, torch.ones(64, 64), 4)}


def measure_here(way: str, case: str) -> dict[str, object]:
    """Seconds from a function to its first result; torch itself is imported before."""
    import torch

    function, x, kernels = _functions()[case]
    start = time.perf_counter()
    if way == "ours":
        import workbench as wb

        compiled = wb.aot_compile(function, (x,))
    else:
        compiled = torch.compile(function, fullgraph=True).aot_compile(((x,), {}))
    compiled(x)
    seconds = time.perf_counter() - start
    from torch._inductor.codecache import CppPythonBindingsCodeCache

    built = sorted(CppPythonBindingsCodeCache.cache)
    if len(built) != kernels:
        raise RuntimeError(f"{case}: {len(built)} kernels were built instead of {kernels}")
    return {"seconds": seconds, "kernels": built}


if __name__ == "__main__":
    print(json.dumps(measure_here(*sys.argv[1:])))
