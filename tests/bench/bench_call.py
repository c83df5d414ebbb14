"""What the checks of a call cost: of inputs, of inlined functions, of what else it reads."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench.figure import Figure, interleaved

REACH_US = 1.5
REACH_INLINED_US = 1.2
REACH_LIVE_US = 1.0
REACH_STATE_US = 0.02
STATES = 20
CALLS = 2000
CONDITIONS = (
    "2 tensors of 4 float32 values on the CPU, eager backend. Warm, in interleaved rounds of "
    "2,000 calls"
)


def figures(quick: bool = False) -> Iterator[Figure]:
    import torch

    import workbench as wb

    inputs = torch.ones(4), torch.ones(4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "add.aot"
        wb.aot_compile(_add, inputs, backend="eager").save(path)
        loaded = wb.load(path), wb.load(path)
    name = "cost of all checks per call, loaded 2-input function (us)"
    yield _cost(name, loaded, inputs, REACH_US, quick)
    function = _with_helpers(10)
    made = [wb.aot_compile(function, inputs, backend="eager") for _ in range(2)]
    name = "cost of all checks per call, function with 10 inlined functions (us)"
    yield _cost(name, made, inputs, REACH_INLINED_US, quick)
    made = [wb.aot_compile(_add, inputs, backend="eager") for _ in range(2)]
    name = "cost of all checks per call, 2-input function where it was compiled (us)"
    yield _cost(name, made, inputs, REACH_LIVE_US, quick)
    yield _of_states(inputs, quick)


def _of_states(inputs: Any, quick: bool) -> Figure:
    """What each further state costs a call, beside what it costs a call of torch.compile."""
    import torch

    import workbench as wb

    few, many = _reading(0), _reading(STATES)
    ours = [wb.aot_compile(function, inputs, backend="eager") for function in (few, many)]
    theirs = [torch.compile(function, backend="eager") for function in (few, many)]
    for function in (*ours, *theirs):
        function(*inputs)
    ways = [_per_call(function, *inputs) for function in (*ours, *theirs)]
    rounds = [[way() for way in ways] for _ in range(5 if quick else 31)]
    own = statistics.median((b - a) / STATES for a, b, _, _ in rounds)
    torchs = statistics.median((d - c) / STATES for _, _, c, d in rounds)
    gap = statistics.median((b - a - d + c) / STATES for a, b, c, d in rounds)
    name = "cost of each further checked state, above torch.compile's (us)"
    return Figure(name, own, torchs, gap, REACH_STATE_US, "us")


def _reading(count: int) -> Any:
    """A function that reads so many states: attributes, keys, members, what is not there."""
    reads = ("box.k", "table['k']", "(2. if 3 in group else 1.)", "table.get('z', 1.)")
    lines, terms = ["class Box: k = 2."], list[str]()
    for i in range(count):
        lines.append(f"box_{i}, table_{i}, group_{i} = Box(), dict(k=2.), {{1, 2}}")
        term = reads[i % len(reads)]
        for name in ("box", "table", "group"):
            term = term.replace(name, f"{name}_{i}")
        terms.append(term)
    lines.append(f"def add(x, y): return x + y * ({' + '.join(terms) or '1.'})")
    scope: dict[str, Any] = {"__name__": "states"}
    exec("\n".join(lines), scope)
    return scope["add"]


def _cost(name: str, made: Sequence[Any], inputs: Any, reach: float, quick: bool) -> Figure:
    """Times per call of the first, checked, and of the second without its checks."""
    made[1].disable_guard_check()
    ways = [_per_call(each, *inputs) for each in made]
    runs = interleaved(*ways, 5 if quick else 31)
    with_checks, without = map(statistics.median, runs)
    gap = statistics.median(a - b for a, b in zip(*runs, strict=True))
    return Figure(name, with_checks, without, gap, reach, "us")


def _with_helpers(count: int) -> Any:
    """A function that calls so many others of its module."""
    lines = [f"def helper_{i}(x): return x" for i in range(count)]
    calls = "".join(f"helper_{i}(" for i in range(count))
    lines.append(f"def add(x, y): return {calls}x{')' * count} + y")
    scope: dict[str, Any] = {"__name__": "helpers"}
    exec("\n".join(lines), scope)
    return scope["add"]


def _add(x: Any, y: Any) -> Any:
    return x + y


def _per_call(function: Callable[..., Any], *args: Any) -> Callable[[], float]:
    def measure() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            function(*args)
        return (time.perf_counter() - start) / CALLS * 1e6

    return measure
