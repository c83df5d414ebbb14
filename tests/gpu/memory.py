"""Memory, modes and traffic, predicted and measured: `python -m tests.gpu.memory`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import workbench as wb
from tests.gpu import modes, traffic
from tests.gpu.figures import print_figure, print_rows, print_unchecked, run_steps
from workbench.analysis.memory.memory import Memory

ALLOCATED, RESERVED = 0.05, 0.15
_WARM = 2  # the first calls take workspaces that stay


@dataclass(frozen=True)
class Peaks:
    """Bytes of one program: above its inputs as counted and measured; of the device by then.

    `counted_reserved` is None where a record has no model of what torch's allocator reserves.
    """

    program: str
    counted: int
    measured: int
    counted_reserved: int | None
    measured_reserved: int | None
    missing: str

    @property
    def error(self) -> float:
        """By how much the count is off."""
        return self.counted / self.measured - 1 if self.measured else float("nan")

    @property
    def reserved_error(self) -> float | None:
        """By how much the model of the allocator is off; None where one side is not known."""
        if self.counted_reserved is None or not self.measured_reserved:
            return None
        return self.counted_reserved / self.measured_reserved - 1


def chain(x: Tensor) -> Tensor:
    y = torch.softmax(x, -1)
    return (y @ y).relu() + x.sum(0)


def loss_of_two_layers(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
    return (F.gelu(x @ w) @ v).square().mean()


def loss_of_attention(x: Tensor, w: Tensor) -> Tensor:
    q, k, v = (x @ w).unflatten(-1, (3, 8, 64)).permute(2, 0, 3, 1, 4)
    return (torch.softmax(q @ k.transpose(-2, -1) / 8.0, -1) @ v).square().mean()


def loss_of_normalised(x: Tensor, w: Tensor) -> Tensor:
    return F.cross_entropy(F.layer_norm(x, x.shape[-1:]) @ w, torch.zeros_like(x[:, 0]).long())


def convolutions(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
    return F.conv2d(F.relu(F.conv2d(x, w, padding=1)), v, padding=1).mean((2, 3))


Made = tuple[Callable[..., Tensor], tuple[Tensor, ...]]


def programs(device: str, size: int = 1024) -> dict[str, Made]:
    """Two calls and three training steps; tensors that learn want a gradient."""

    def drawn(*shape: int, learns: bool = False) -> Tensor:
        return torch.randn(*shape, device=device).mul_(0.02).requires_grad_(learns)

    wide = 4 * size
    return {
        "chain": (chain, (drawn(size, size),)),
        "convolutions": (
            convolutions,
            (drawn(8, 16, size // 4, size // 4), drawn(32, 16, 3, 3), drawn(16, 32, 3, 3)),
        ),
        "two layers": (
            loss_of_two_layers,
            (drawn(size, size), drawn(size, wide, learns=True), drawn(wide, size, learns=True)),
        ),
        "attention": (
            loss_of_attention,
            (drawn(4, size // 4, size), drawn(size, 1536, learns=True)),
        ),
        "normalised": (loss_of_normalised, (drawn(size, size), drawn(size, wide, learns=True))),
    }  # fmt: skip


def step_of(compiled: Callable[..., Tensor], args: Sequence[Tensor]) -> Callable[[], Any]:
    """One call, with its backward where an input learns; what it gives is held by the caller."""
    learning = [arg for arg in args if arg.requires_grad]

    def once() -> Any:
        found = compiled(*args)
        return found, torch.autograd.grad(found, learning) if learning else ()

    return once


def of_device(call: Callable[[], Any], base: int) -> tuple[int, int | None]:
    """Bytes above what lives before, and bytes reserved by then but for what others hold."""
    for _ in range(_WARM):
        call()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    held = call()
    torch.cuda.synchronize()
    peak, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    del held
    return peak - before, reserved - max(0, before - base)


Meter = Callable[[Callable[[], Any], int], tuple[int, int | None]]


def peaks(made: Mapping[str, Made], meter: Meter = of_device) -> list[Peaks]:
    """The peak of each program, counted from its record and measured."""
    found = []
    for name, (function, args) in made.items():
        learns = any(arg.requires_grad for arg in args)
        compiled = wb.aot_compile(function, args, grad=learns)
        counted: Memory = compiled.memory()
        measured, reserved = meter(step_of(compiled, args), counted.base)
        model = getattr(counted.peaks[-1], "reserved_bytes", None)
        found.append(Peaks(name, counted.peak - counted.base, measured, model, reserved,
                           counted.missing))  # fmt: skip
    return found


def tell(rows: Sequence[Peaks]) -> None:
    """Print the largest errors, with the program that each is of."""
    print_rows("peaks", map(asdict, rows))
    worst = max(rows, key=lambda row: abs(row.error))
    note = (
        f"{worst.program} ({worst.error:+.1%}); {len(rows)} programs; not counted: {worst.missing}"
    )
    print_figure("largest error of the counted peak", abs(worst.error), "share", reach=ALLOCATED,
                 note=note)  # fmt: skip
    name = "largest error of the model of reserved memory"
    errors = {row.program: row.reserved_error for row in rows}
    known = {program: error for program, error in errors.items() if error is not None}
    if not known:
        print_unchecked(name, "no record has a model of what torch's allocator reserves")
        return
    program, error = max(known.items(), key=lambda pair: abs(pair[1]))
    note = f"{program} ({error:+.1%}); {len(known)} of {len(rows)} programs"
    print_figure(name, abs(error), "share", reach=RESERVED, note=note)


def main(device: str = "cuda") -> int:
    """Peaks, then modes, then counters."""
    return run_steps(
        {
            "peak memory": lambda: tell(peaks(programs(device))),
            "traffic": lambda: traffic.check(device),
            "modes": lambda: modes.tell(modes.times(device)),
        }
    )


if __name__ == "__main__":
    sys.exit(main())
