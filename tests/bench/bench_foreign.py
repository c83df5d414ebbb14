"""What the record costs on small models of others: CPU seconds of capture, beside plain torch."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.bench.figure import Figure, child, empty_caches, interleaved

NAME = "compile 20 small foreign models with aot_eager / torch.compile (CPU s)"
REACH = 1.10
CONDITIONS = (
    "20 transformers models, two layers of width 32. CPU seconds to the first result, "
    "interleaved in alternating order. Sum over the models of the median of 4"
)
Way = Callable[[], object]


def figures(quick: bool = False) -> Iterator[Figure]:
    with empty_caches() as variables:
        sums = child(__name__, "2" if quick else "20", variables=variables)
    ours, plain, ahead = (sums[way] for way in ("ours", "plain", "ahead"))
    yield Figure(NAME, ours, plain, ours / plain, REACH, "ratio", "")
    note = "torch writes the code, the guards and the graph for a file"
    yield Figure(
        "  torch's own aot_compile / torch.compile",
        ahead,
        plain,
        ahead / plain,
        None,
        "ratio",
        note,
    )
    yield Figure("  ours / torch's own aot_compile", ours, ahead, ours / ahead, REACH, "ratio", "")


def measure_here(models: int) -> dict[str, float]:
    """The sum over the models of the median CPU seconds of each way."""
    import statistics

    from tests.models import zoo

    sums = dict.fromkeys(("ours", "plain", "ahead"), 0.0)
    for name in tuple(zoo.BUILDERS)[:models]:
        case = zoo.build(name)
        ways = make_ways(case.model.eval(), case.inputs)
        for way in ways.values():
            cpu_seconds(way)()  # what torch imports on the way
        ours, plain = interleaved(cpu_seconds(ways["ours"]), cpu_seconds(ways["plain"]), 4)
        ahead = [cpu_seconds(ways["ahead"])() for _ in range(4)]
        for key, found in (("ours", ours), ("plain", plain), ("ahead", ahead)):
            sums[key] += statistics.median(found)
    return sums


def make_ways(model: Any, inputs: Mapping[str, Any]) -> dict[str, Way]:
    """From the model to its first result: ours, torch.compile, torch's own ahead of time."""
    import torch

    import workbench as wb
    from tests.bench.torch_path import serializable

    def ours() -> object:
        compiled = wb.aot_compile(model, (), dict(inputs), backend="aot_eager", grad=False)
        return compiled(**inputs)

    def plain() -> object:
        with torch.no_grad():
            return torch.compile(model, backend="aot_eager", fullgraph=True)(**inputs)

    def ahead() -> object:
        options = {"guard_filter_fn": serializable}
        asked = torch.compile(model, backend="aot_eager", fullgraph=True, options=options)
        with torch.no_grad():
            return asked.forward.aot_compile(((), dict(inputs)))(model, **inputs)

    return {"ours": ours, "plain": plain, "ahead": ahead}


def cpu_seconds(way: Way) -> Callable[[], float]:
    """The CPU seconds of one compilation that torch knows nothing of."""
    import torch

    def measure() -> float:
        torch._dynamo.reset()
        gc.collect()
        start = time.process_time()
        way()
        return time.process_time() - start

    return measure


if __name__ == "__main__":
    print(json.dumps(measure_here(int(sys.argv[1]))))
