"""What the record of a compilation costs: process CPU seconds, C++ builds reused."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.bench.bench_load import gpt2
from tests.bench.figure import Figure, interleaved, ratio

NAME = "compile with full capture / plain torch, 6-layer GPT-2 (CPU s)"
REACH = 1.10


def figures(quick: bool = False) -> Iterator[Figure]:
    import torch

    import workbench as wb
    from tests.bench import torch_path

    case = gpt2()

    def ours() -> Any:
        return wb.aot_compile(case.model, (), dict(case.inputs), grad=False)

    def theirs() -> Any:
        with torch.no_grad():
            return torch_path.compile_module(case.model, case.inputs)

    pairs = 2 if quick else 9
    built = [_kernels(way) for way in (theirs, ours)]  # also builds what is reused from here on
    yield ratio(NAME, *interleaved(_cpu(ours), _cpu(theirs), pairs), REACH)
    yield ratio("  A/A: plain torch / plain torch", *_same(theirs, pairs), None)
    more = float(len(built[1] - built[0]))
    note = f"torch builds {len(built[0])} kernels, we build {len(built[1])}"
    yield Figure("  C++ builds that torch does not make", more, None, more, 0, "count", note)


def _same(way: Callable[[], Any], pairs: int) -> tuple[list[float], list[float]]:
    return interleaved(_cpu(way), _cpu(way), pairs)


def _kernels(way: Callable[[], Any]) -> set[str]:
    """The keys of the kernels that one compilation asks for."""
    from torch._inductor.codecache import CppPythonBindingsCodeCache

    _forget()
    CppPythonBindingsCodeCache.cache.clear()
    way()
    return set(CppPythonBindingsCodeCache.cache)


def _cpu(way: Callable[[], Any]) -> Callable[[], float]:
    """CPU seconds of one compilation that finds built kernels but no compiled graphs."""

    def measure() -> float:
        _forget()
        start = time.process_time()
        way()
        return time.process_time() - start

    return measure


def _forget() -> None:
    """Empty torch's caches of compiled graphs; the libraries beside them stay."""
    import gc

    import torch

    torch._dynamo.reset()
    gc.collect()
    for folder in (os.environ.get("TORCHINDUCTOR_CACHE_DIR"),):
        for cache in ("fxgraph", "aotautograd"):
            if folder:
                shutil.rmtree(Path(folder) / cache, ignore_errors=True)
