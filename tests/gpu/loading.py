"""A fresh process that loads files and says what was compiled: `python -m tests.gpu.loading`."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

import workbench as wb
from tests.gpu.figures import reason
from tests.gpu.models import MODELS, call

RTOL, ATOL = 1e-3, 1e-4


@dataclass(frozen=True)
class Loaded:
    """One file: kernels that Triton compiled for it, the largest error against eager, seconds."""

    model: str
    trains: bool
    compiled: tuple[str, ...] = ()
    error: float | None = None
    agrees: bool = False
    load_s: float = 0.0
    first_call_s: float = 0.0
    failure: str = ""


def load_all(folder: Path, device: str) -> list[Loaded]:
    """Load and call every file of a folder; its name is that of the model."""
    import triton

    compiled: list[str] = []
    triton.knobs.compilation.listener = lambda *, src, cache_hit, **_: (
        None if cache_hit else compiled.append(str(src.name))
    )
    return [_loaded(path, device, compiled) for path in sorted(folder.glob("*.aot"))]


def _loaded(path: Path, device: str, compiled: list[str]) -> Loaded:
    name, before = path.stem, len(compiled)
    model = MODELS[name]
    try:
        module, x = model.made(device)
        start = time.perf_counter()
        loaded: Any = wb.load(path, module=module) if model.trains else wb.load(path)
        middle = time.perf_counter()
        found = call(loaded, module, x, trains=model.trains)
        if device == "cuda":
            torch.cuda.synchronize()
        end = time.perf_counter()
        seen = tuple(compiled[before:])  # eager launches kernels of its own
        wanted = call(module, module, x, trains=model.trains)
    except Exception as error:
        return Loaded(name, model.trains, tuple(compiled[before:]), failure=reason(error))
    pairs = list(zip(found, wanted, strict=True))
    worst = max(float((a - b).abs().max()) for a, b in pairs)
    agrees = all(torch.allclose(a, b, RTOL, ATOL) for a, b in pairs)
    return Loaded(name, model.trains, seen, worst, agrees, middle - start, end - middle)


if __name__ == "__main__":
    print(json.dumps([asdict(row) for row in load_all(Path(sys.argv[1]), sys.argv[2])]))
