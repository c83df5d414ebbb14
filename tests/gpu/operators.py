"""Times of single calls of operators on a device: `python -m tests.gpu.operators FILE`.

The calls are those of `operators.json`, so that devices can be compared row by row.
"""

from __future__ import annotations

import datetime
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from tests.gpu.configs import Clock, on_device
from tests.gpu.launching import waiting
from tests.gpu.tracing import Kernels, kernels_of

CALLS = Path(__file__).with_name("operators.json")
_STARTS = 6
Made = tuple[Callable[..., object], tuple[torch.Tensor, ...]]


def made(op: str, dtype: str, shape: Sequence[int], device: str) -> Made:
    """The operator and its inputs: products (m, n, k) or (batch, m, n, k)."""

    def new(*size: int) -> torch.Tensor:
        return torch.randn(size, device=device, dtype=getattr(torch, dtype))

    if op == "mm":
        m, n, k = shape
        return torch.mm, (new(m, k), new(k, n))
    if op == "bmm":
        batch, m, n, k = shape
        return torch.bmm, (new(batch, m, k), new(batch, k, n))
    if op == "sdpa":
        causal = partial(F.scaled_dot_product_attention, is_causal=True)
        return causal, tuple(new(*shape) for _ in range(3))
    x = new(*shape)
    of_one: dict[str, Callable[[torch.Tensor], object]] = {
        "add": lambda t: t + t2,
        "copy": torch.clone,  # the device's own copy, no kernel
        "gelu": F.gelu,
        "sum": torch.sum,
        "row_sum": lambda t: t.sum(-1),
        "column_sum": lambda t: t.sum(0),
        "softmax": lambda t: t.softmax(-1),
        "layer_norm": lambda t: F.layer_norm(t, t.shape[-1:]),
        "transpose_copy": lambda t: t.t().contiguous(),
    }
    t2 = new(*shape) if op == "add" else x
    return of_one[op], (x,)


def measure(row: dict[str, Any], device: str, clock: Clock = on_device) -> dict[str, Any]:
    """The row with the times of this device, in µs: each kernel warm, the whole call cold."""
    fn, args = made(row["op"], row["dtype"], row["shape"], device)
    wait = waiting(device)
    for _ in range(3):
        fn(*args)
    wait()
    found = kernels_of(lambda: fn(*args), wait, calls=_STARTS, copies=True)
    cold_us = clock(lambda: fn(*args))
    told = {name: row[name] for name in ("op", "dtype", "shape")}
    return {**told, "cold_us": round(cold_us, 2), "kernels": _kernel_rows(found)}


def _kernel_rows(found: Kernels) -> list[dict[str, Any]]:
    by_name: dict[str, list[float]] = defaultdict(list)
    for name, time_us in found:
        by_name[name].append(time_us)
    return [
        {
            "name": name[:140],
            "starts": len(times) / _STARTS,
            "warm_us": round(statistics.median(times), 3),
        }
        for name, times in by_name.items()
    ]


def main(arguments: Sequence[str], device: str = "cuda") -> int:
    """Write the times of every call; what does not fit or fails says so in its row."""
    asked = json.loads(CALLS.read_text())
    rows: list[dict[str, Any]] = []
    for row in asked["rows"]:
        try:
            rows.append(measure(row, device))
        except RuntimeError as error:
            told = {name: row[name] for name in ("op", "dtype", "shape")}
            rows.append({**told, "reason": str(error).partition("\n")[0]})
    import triton

    about = {
        "device": torch.cuda.get_device_name() if device == "cuda" else device,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "date": datetime.date.today().isoformat(),
        "note": asked["note"],
    }
    lines = ",\n".join(json.dumps(row) for row in rows)
    Path(arguments[0]).write_text(json.dumps(about)[:-1] + ', "rows": [\n' + lines + "\n]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
