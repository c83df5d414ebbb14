"""Two right kernels, checked on the CPU beside their references: seconds, and size of the logs."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator

from tests.bench.figure import Figure, cpu_seconds

CONDITIONS = (
    "One call, with the reference computed beforehand. CPU seconds of this process and the warm "
    "interpreter, median of five"
)
NEEDS_QUIET = False  # CPU seconds of work that never waits: what else runs makes them larger
LOG_MB = 100.0


def figures(quick: bool = False) -> Iterator[Figure]:
    import torch

    import workbench as wb
    from tests.worlds.own_kernels.programs import kernels
    from tests.worlds.own_kernels.programs.cases import Case, cdiv, draw, factors, unset
    from workbench.compiler.interpreter.interpreter_session import keep_warm_interpreter

    x, (a, b) = draw(1024, 1000), factors(512, 512, 512)
    sizes = {"BM": 64, "BN": 64, "BK": 32, "GROUP": 8}
    wanted = {
        "softmax of 1024 × 1000": (
            1.5,
            Case(
                kernels.softmax,
                (x, unset(1024, 1000), 1000, 1000),
                (1024,),
                {"BLOCK": 1024},
                {"out": x.softmax(-1)},
                ("out",),
            ),
        ),
        "512 × 512 × 512 GEMM": (
            2.0,
            Case(
                kernels.matmul,
                (a, b, unset(512, 512, dtype=torch.float16), 512, 512, 512),
                (cdiv(512, 64) ** 2,),
                sizes,
                {"c": (a.float() @ b.float()).half()},
                ("c",),
            ),
        ),
    }
    interpreter = keep_warm_interpreter()
    interpreter.start()

    def spent() -> float:
        return sum(map(cpu_seconds, (os.getpid(), interpreter.pid or 0)))

    for name, (reach, case) in wanted.items():
        times, walls = [], []
        for _ in range(2 if quick else 6):
            kernel = wb.kernel(case.kernel, *case.args, grid=case.grid, **case.meta)
            before, start = spent(), time.perf_counter()
            found = kernel.check(lambda *args, case=case: dict(case.expected))
            times.append(spent() - before)
            walls.append(time.perf_counter() - start)
            if found.ok is not True:
                raise RuntimeError(found.sentence)
        took = statistics.median(times[1:])  # the first one imports
        note = (
            f"{statistics.median(walls[1:]):.2f} s wall time at a load of "
            f"{os.getloadavg()[0]:.0f}; the first one {times[0]:.2f} CPU s"
        )
        yield Figure(f"check of a {name} (CPU s)", took, None, took, reach, "s", note)
        log = max(row.log_bytes for row in found.cases) / 1e6
        yield Figure("  access log", log, None, log, LOG_MB, "MB")
