"""What a session costs: a call of a compiled graph, a step, a compile, the memory it takes."""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.bench_load import gpt2
from tests.bench.figure import Figure, child, empty_caches, interleaved, ratio

CONDITIONS = (
    "Light capture, warm graph caches. A call takes 64 floats, and minima of interleaved "
    "rounds are compared. A step is forward, backward and SGD for two layers of width 512 "
    "with batch 128. For a live view, the document is built and packed on a thread. The "
    "compiled program is a 6-layer GPT-2, or two Linear layers for the smallest compile"
)
CALLS = 4000
STEPS = 10_000
COMPILES = 500
LOOK_UP_US = 5.0
"""What a session may add to a look-up."""
VIEWED = 1200
"""Steps while a view is live: some seconds, in which it is drawn several times."""


def figures(quick: bool = False) -> Iterator[Figure]:
    with empty_caches() as variables:
        found = child(__name__, "3" if quick else "9", "1" if quick else "", variables=variables)
    added = found["call_on"] - found["call_off"]
    yield Figure(
        "session: one call of a graph (µs more)",
        found["call_on"],
        found["call_off"],
        added,
        1.0,
        "µs",
    )
    for name, on, off in found["lookups"]:
        more = on - off
        title = f"session: a look-up, {name} (µs more)"
        yield Figure(title, on, off, more, LOOK_UP_US, "µs")
    yield ratio(
        "training step of 5 ms in a session / without (CPU s)",
        found["step_on"],
        found["step_off"],
        1.01,
    )
    yield ratio(
        "training step of 5 ms in a session with a live view / without (CPU s)",
        found["viewed_on"],
        found["viewed_off"],
        1.01,
    )
    yield Figure(
        "  the thread of the view (% of the CPU s)",
        found["view_share"],
        None,
        found["view_share"],
        1.0,
        "%",
    )
    yield ratio(
        "torch.compile of GPT-2 in a session / without (CPU s)",
        found["model_on"],
        found["model_off"],
        1.05,
    )
    yield ratio(
        "  the smallest: two Linear (CPU s)",
        found["compile_on"],
        found["compile_off"],
        None,
    )
    yield Figure(
        "session: 10,000 steps and 500 compiles (MB more)",
        found["megabytes"],
        None,
        found["megabytes"],
        150,
        "MB",
    )
    yield Figure("session: its page (s)", found["page_s"], None, found["page_s"], 0.3, "s")


def measure_here(pairs: int, is_quick: bool) -> dict[str, object]:
    """Everything in one process, each ratio side by side."""
    import torch

    torch.set_num_threads(1)
    call_on, call_off = _calls(pairs)
    lookups = _lookups(pairs)
    step_on, step_off = interleaved(*_both(_step_seconds()), pairs)
    viewed = _step_seconds(VIEWED)
    shares: list[float] = []
    viewed_on, viewed_off = interleaved(_followed(viewed, shares), viewed, min(pairs, 5))
    compile_on, compile_off = interleaved(*_both(_compile_seconds), pairs)
    model_on, model_off = interleaved(*_both(_model_seconds()), min(pairs, 5))
    return {
        "call_on": call_on,
        "call_off": call_off,
        "lookups": lookups,
        "step_on": step_on,
        "step_off": step_off,
        "viewed_on": viewed_on,
        "viewed_off": viewed_off,
        "view_share": statistics.median(shares),
        "compile_on": compile_on,
        "compile_off": compile_off,
        "model_on": model_on,
        "model_off": model_off,
        **_long(STEPS // 10 if is_quick else STEPS, COMPILES // 10 if is_quick else COMPILES),
    }


def _both(measure: Callable[[], float]) -> tuple[Callable[[], float], Callable[[], float]]:
    """A measurement inside of a session, and without one."""
    import workbench as wb

    def inside() -> float:
        with wb.session():
            return measure()

    return inside, measure


def _followed(measure: Callable[..., float], shares: list[float]) -> Callable[[], float]:
    """A measurement of a session whose view is drawn anew while it runs; nothing is sent.

    `shares` takes the percents of the CPU time that went into drawing.
    """
    import workbench as wb
    from workbench.worlds.sessions.views.session_view import Following, SessionView

    def inside() -> float:
        drawing: list[float] = []

        def timed(draw: Callable[[], object]) -> None:
            started = time.thread_time()
            draw()
            drawing.append(time.thread_time() - started)

        with wb.session() as session:
            following = Following(session, SessionView(session.so_far(), "running"), timed)
            seconds = measure(session.step)
            shares.append(100 * sum(drawing) / (seconds * VIEWED))
            following.end()
        return seconds

    return inside


def _calls(pairs: int) -> tuple[float, float]:
    """µs of one call of a tiny graph: minima, with a session and without."""
    import torch

    compiled, x = torch.compile(lambda x: x + 1), torch.ones(64)
    compiled(x)

    def measure() -> float:
        started = time.process_time()
        for _ in range(CALLS):
            compiled(x)
        return (time.process_time() - started) / CALLS * 1e6

    on, off = interleaved(*_both(measure), pairs)
    return min(on), min(off)


def _lookups(pairs: int) -> list[tuple[str, float, float]]:
    """µs of a call that Dynamo looks up, in a session and without: minima, the graph run eagerly.

    Of a function whose variant is found, of one without a graph, and of one that gets no further
    variant, whose calls find none.
    """
    import torch

    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def given_back(x: torch.Tensor) -> torch.Tensor:
        return x

    def limited(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    config: Any = torch._dynamo.config
    found = []
    for name, function, sizes in (
        ("its variant found", doubled, (4,)),
        ("no graph in it", given_back, (4,)),
        ("none found", limited, (2, 3, 4, 5)),
    ):
        x = torch.ones(sizes[-1])

        def measure(call: Callable[..., Any], x: torch.Tensor = x) -> float:
            started = time.process_time()
            for _ in range(CALLS):
                call(x)
            return (time.process_time() - started) / CALLS * 1e6

        def compiled(function: Any = function, sizes: tuple[int, ...] = sizes) -> Any:
            torch._dynamo.reset()
            made = torch.compile(function, backend="eager", dynamic=False)
            for size in sizes:
                made(torch.ones(size))
            return made

        with config.patch(recompile_limit=2):
            on, off = interleaved(
                partial(_recorded, compiled, measure), lambda c=compiled, m=measure: m(c()), pairs
            )
        found.append((name, min(on), min(off)))
    return found


def _recorded(compiled: Callable[[], Any], measure: Callable[[Any], float]) -> float:
    """A measurement in a session that saw the function being compiled."""
    import workbench as wb

    with wb.session():
        return measure(compiled())


def _step_seconds(count: int = 40) -> Callable[..., float]:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))
    compiled, optimizer = torch.compile(model), torch.optim.SGD(model.parameters(), 1e-3)
    batch = torch.randn(128, 512)

    def step() -> None:
        compiled(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(3):
        step()

    def measure(ended: Callable[[], object] = lambda: None) -> float:
        started = time.process_time()
        for _ in range(count):
            step()
            ended()
        return (time.process_time() - started) / count

    return measure


def _compile_seconds() -> float:
    import torch
    from torch import nn

    torch._dynamo.reset()
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32))
    started = time.process_time()
    with torch.no_grad():
        torch.compile(model)(torch.ones(4, 32))
    return time.process_time() - started


def _model_seconds() -> Callable[[], float]:
    import torch

    case = gpt2()

    def measure() -> float:
        torch._dynamo.reset()
        started = time.process_time()
        with torch.no_grad():
            torch.compile(case.model)(**dict(case.inputs))
        return time.process_time() - started

    measure()
    return measure


def _long(steps: int, compiles: int) -> dict[str, float]:
    """MB that a long session takes more, and seconds until its page is made."""
    import torch

    import workbench as wb

    torch._dynamo.reset()
    torch.compile(lambda x: x * 2, backend="eager")(torch.ones(2))
    gc.collect()
    before = _resident()
    with wb.session() as session:
        for n in range(compiles):
            scope: dict[str, Any] = {}
            exec(f"def function{n}(x):\n    return x + {n}", scope)
            torch.compile(scope[f"function{n}"], backend="eager")(torch.ones(2))
        for _ in range(steps):
            session.step()
    gc.collect()
    more = _resident() - before
    session.to_html()  # what is imported for a first page is imported once
    started = time.perf_counter()
    session.to_html()
    return {"megabytes": more / 1e6, "page_s": time.perf_counter() - started}


def _resident() -> int:
    """Bytes of memory that this process has now."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


if __name__ == "__main__":
    print(json.dumps(measure_here(int(sys.argv[1]), bool(sys.argv[2:3] and sys.argv[2]))))
