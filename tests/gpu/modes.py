"""What the modes of the compiler bring, the time of one call: `python -m tests.gpu.modes`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

import workbench as wb
from tests.gpu.figures import print_figure, print_unchecked, reason, run_steps
from tests.gpu.launching import call_us, waiting

DEFAULT = "default"
TUNED = "max-autotune-no-cudagraphs"
MODES = (DEFAULT, "reduce-overhead", TUNED, "max-autotune")
SEED = "10 to 30 % expected of max-autotune"


def two_layers(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
    return F.layer_norm(x + F.gelu(x @ w) @ v, x.shape[-1:])


def times(
    device: str, modes: tuple[str, ...] = MODES, size: int = 1024, calls: int = 50
) -> dict[str, float | str]:
    """µs of a call in each mode, or why there is none."""
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    x, w, v = (
        torch.randn(*shape, device=device, dtype=dtype) * 0.02
        for shape in ((size, size), (size, 4 * size), (4 * size, size))
    )
    found: dict[str, float | str] = {}
    for mode in modes:
        try:
            compiled = wb.aot_compile(two_layers, (x, w, v), mode=mode, grad=False)
            found[mode] = call_us(_call(compiled, x, w, v), waiting(device), calls)
        except Exception as error:  # the other modes are measured all the same
            found[mode] = reason(error)
    return found


def _call(compiled: Callable[..., object], *args: Tensor) -> Callable[[], object]:
    return lambda: compiled(*args)


def tell(found: Mapping[str, float | str]) -> None:
    """Print the time of each mode and what it saves of the default's."""
    usual = found.get(DEFAULT)
    for mode, time_us in found.items():
        name = f"time of a call in mode {mode}"
        if isinstance(time_us, str):
            print_unchecked(name, time_us)
            continue
        print_figure(name, time_us, "µs")
        if mode != DEFAULT and isinstance(usual, float):
            note = SEED if mode.startswith("max-autotune") else ""
            print_figure(f"saved by mode {mode}", 1 - time_us / usual, "share", note=note)


def main(device: str = "cuda") -> int:
    """Every mode, one after the other."""
    return run_steps({"modes": lambda: tell(times(device))})


if __name__ == "__main__":
    sys.exit(main())
