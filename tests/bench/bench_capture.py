"""What the record of a compilation costs: process CPU seconds, C++ builds reused."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.bench.bench_load import gpt2
from tests.bench.figure import Figure, child, empty_caches, interleaved, ratio

NAME = "compile with full capture / plain torch, 6-layer GPT-2 (CPU s)"
REACH = 1.10
CONDITIONS = (
    "Width 256, length 64, no gradients. CPU seconds of the process. Kernel libraries are "
    "already built, and graph caches are emptied before each run. Plain torch records nothing"
)
FOLDER = "TORCHINDUCTOR_CACHE_DIR"


def figures(quick: bool = False) -> Iterator[Figure]:
    with empty_caches() as variables:
        folder = str(Path(variables["TMPDIR"]) / "inductor")
        found = child(__name__, "2" if quick else "9", variables=variables | {FOLDER: folder})
    yield ratio(NAME, found["ours"], found["theirs"], REACH)
    yield ratio("  A/A: plain torch / plain torch", found["same"], found["other"], None)
    more = float(found["more"])
    note = f"torch builds {found['built']} kernels, we build {found['built_by_us']}"
    yield Figure("  C++ builds that torch does not make", more, None, more, 0, "count", note)


def measure_here(pairs: int) -> dict[str, object]:
    """CPU seconds of both ways in turn, then of plain torch against itself."""
    import torch

    import workbench as wb
    from tests.bench import torch_path

    case = gpt2()

    def ours() -> Any:
        return wb.aot_compile(case.model, (), dict(case.inputs), grad=False)

    def theirs() -> Any:
        with torch.no_grad():
            return torch_path.compile_module(case.model, case.inputs)

    built = [_kernels(way) for way in (theirs, ours)]  # also builds what is reused from here on
    mine, other = interleaved(compile_cpu(ours), compile_cpu(theirs), pairs)
    same, again = interleaved(compile_cpu(theirs), compile_cpu(theirs), pairs)
    return {
        "ours": mine,
        "theirs": other,
        "same": same,
        "other": again,
        "more": len(built[1] - built[0]),
        "built": len(built[0]),
        "built_by_us": len(built[1]),
    }


def _kernels(way: Callable[[], Any]) -> set[str]:
    """The keys of the kernels that one compilation asks for."""
    from torch._inductor.codecache import CppPythonBindingsCodeCache

    forget()
    CppPythonBindingsCodeCache.cache.clear()
    way()
    return set(CppPythonBindingsCodeCache.cache)


def compile_cpu(way: Callable[[], Any]) -> Callable[[], float]:
    """CPU seconds of one compilation that finds built kernels but no compiled graphs."""

    def measure() -> float:
        forget()
        start = time.process_time()
        way()
        return time.process_time() - start

    return measure


def forget() -> None:
    """Empty torch's caches of compiled graphs; the libraries beside them stay."""
    import gc

    import torch

    torch._dynamo.reset()
    gc.collect()
    for cache in ("fxgraph", "aotautograd"):
        shutil.rmtree(Path(os.environ[FOLDER]) / cache, ignore_errors=True)


if __name__ == "__main__":
    print(json.dumps(measure_here(int(sys.argv[1]))))
