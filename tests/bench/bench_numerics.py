"""Where the numbers of a decoder come from: seconds, eager calls and memory of one look."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator

from tests.bench.figure import Figure

CONDITIONS = (
    "GPT-2 of 2 or 8 layers, width 768, vocabulary 5,000, 64 tokens, random weights. Timed "
    "after compilation, with two threads"
)
_LOOK_S = 0.01


def figures(quick: bool = False) -> Iterator[Figure]:
    import torch

    import workbench as wb
    from tests.numerics_cases import Decoder

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        ids = torch.randint(5000, (1, 64), generator=torch.Generator().manual_seed(0))
        wanted = [(2, torch.float32, 5.0), (2, torch.bfloat16, 8.0)]
        for layers, dtype, reach in wanted if quick else [*wanted, (8, torch.float32, 20.0)]:
            model = Decoder(layers).eval().to(dtype)
            compiled = wb.aot_compile(model, (ids,), grad=False)
            with torch.no_grad():
                eager = _measure(lambda model=model: model(ids), 1 if quick else 5)
            look = _measure(
                lambda compiled=compiled: wb.numerics(compiled, (ids,)), 1 if quick else 3
            )
            name = f"wb.numerics of GPT-2, {layers} layers, {str(dtype).removeprefix('torch.')} (s)"
            yield Figure(name, look[0], None, look[0], reach, "s", "")
            if dtype == torch.float32 and layers == 2:
                calls = look[0] / eager[0]
                yield Figure("  over an eager call", look[0], eager[0], calls, 60.0, "x", "")
                allowed = 2 * eager[1] + 200e6
                note = f"peak {look[1] / 1e6:.0f} MB, eager {eager[1] / 1e6:.0f} MB"
                yield Figure(
                    "  peak memory over 2 × eager + 200 MB",
                    look[1] / 1e6,
                    allowed / 1e6,
                    look[1] / allowed,
                    1.0,
                    "x",
                    note,
                )
        model, batch = Decoder(2).eval(), ids.expand(4, -1).contiguous()
        rows = {"ids": {0: torch.export.Dim("rows", min=1, max=16)}}
        compiled = wb.aot_compile(model, (batch,), grad=False, dynamic_shapes=rows)
        found = wb.numerics(compiled, (batch,))
        took = _measure(found.batch_invariance, 1 if quick else 3)[0]
        yield Figure("batch invariance of GPT-2, 2 layers, 4 rows (s)", took, None, took, 5.0, "s")
        compiled = wb.aot_compile(model, (batch,), grad=False, dynamic_shapes=rows, target="h100")
        found = wb.numerics(compiled, (batch,))
        took = _measure(found.batch_invariance, 1 if quick else 3)[0]
        yield Figure(
            "batch invariance of GPT-2, 2 layers, 4 rows, virtual H100 (s)",
            took,
            None,
            took,
            5.0,
            "s",
        )
    finally:
        torch.set_num_threads(threads)


def _measure(run: Callable[[], object], count: int) -> tuple[float, float]:
    """The median of the seconds, and the most bytes that the process took above where it began."""
    from workbench.process_memory import read_status_bytes

    times: list[float] = []
    before, most, done = read_status_bytes("VmRSS"), [0], threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_S):
            most[0] = max(most[0], read_status_bytes("VmRSS"))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        for _ in range(count):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
    finally:
        done.set()
        watcher.join()
    return statistics.median(times), max(0.0, float(most[0] - before))
