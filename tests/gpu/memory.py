"""Memory and traffic, predicted and measured: `python -m tests.gpu.memory`.

Each program has a process of its own: what another has left in torch's allocator, such as half of a
segment, would be taken before anything is reserved.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import workbench as wb
from tests.gpu import traffic
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


def programs(device: str, size: int = 1024) -> dict[str, Callable[[], Made]]:
    """What makes two calls and three training steps; tensors that learn want a gradient."""

    def drawn(*shape: int, learns: bool = False) -> Tensor:
        return torch.randn(*shape, device=device).mul_(0.02).requires_grad_(learns)

    wide = 4 * size
    return {
        "chain": lambda: (chain, (drawn(size, size),)),
        "convolutions": lambda: (
            convolutions,
            (drawn(8, 16, size // 4, size // 4), drawn(32, 16, 3, 3), drawn(16, 32, 3, 3)),
        ),
        "two layers": lambda: (
            loss_of_two_layers,
            (drawn(size, size), drawn(size, wide, learns=True), drawn(wide, size, learns=True)),
        ),
        "attention": lambda: (
            loss_of_attention,
            (drawn(4, size // 4, size), drawn(size, 1536, learns=True)),
        ),
        "normalised": lambda: (
            loss_of_normalised,
            (drawn(size, size), drawn(size, wide, learns=True)),
        ),
    }


def step_of(compiled: Callable[..., Tensor], args: Sequence[Tensor]) -> Callable[[], Any]:
    """One call, with its backward where an input learns; what it gives is held by the caller."""
    learning = [arg for arg in args if arg.requires_grad]

    def once() -> Any:
        found = compiled(*args)
        return found, torch.autograd.grad(found, learning) if learning else ()

    return once


def measure_device(call: Callable[[], Any], base: int) -> tuple[int, int | None]:
    """Bytes above what lives before, and bytes reserved by then but for what others hold.

    Others are the workspaces of libraries, each a segment of its own.
    """
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


def peak(name: str, make: Callable[[], Made], meter: Meter = measure_device) -> Peaks:
    """The peak of a program, counted from its record and measured."""
    function, args = make()
    learns = any(arg.requires_grad for arg in args)
    compiled = wb.aot_compile(function, args, grad=learns)
    counted: Memory = compiled.memory()
    measured, reserved = meter(step_of(compiled, args), counted.base)
    model = getattr(counted.peaks[-1], "reserved_bytes", None)
    return Peaks(name, counted.peak - counted.base, measured, model, reserved, counted.missing)


def measure_apart(device: str) -> list[Peaks]:
    """All programs, each in a process of its own; raises `RuntimeError` where one has failed."""

    def run(name: str) -> Peaks:
        command = [sys.executable, "-m", __spec__.name, device, name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}: its process ended with exit code {done.returncode}")
        return Peaks(**json.loads(done.stdout.splitlines()[-1]))

    with ThreadPoolExecutor() as pool:
        return list(pool.map(run, programs(device)))


def tell(rows: Sequence[Peaks]) -> None:
    """Print the largest errors, with the program that each is of."""
    print_rows("peaks", map(asdict, rows))
    worst = max(rows, key=lambda row: abs(row.error))
    note = f"{worst.program} ({worst.error:+.1%}) of {len(rows)} programs. Not counted: "
    note += worst.missing
    print_figure(
        "largest error of the counted peak", abs(worst.error), "share", reach=ALLOCATED, note=note
    )
    name = "largest error of modelled reserved memory"
    errors = {row.program: row.reserved_error for row in rows}
    known = {program: error for program, error in errors.items() if error is not None}
    if not known:
        print_unchecked(name, "no report models what torch's allocator reserves")
        return
    program, error = max(known.items(), key=lambda pair: abs(pair[1]))
    note = f"{program} ({error:+.1%}). Modelled for {len(known)} of {len(rows)} programs"
    print_figure(name, abs(error), "share", reach=RESERVED, note=note)


def main(arguments: Sequence[str]) -> int:
    """Peaks, then counters; with a device and a program's name its peak alone."""
    if arguments:
        device, name = arguments
        print(json.dumps(asdict(peak(name, programs(device)[name]))))
        return 0
    return run_steps(
        {
            "peak memory": lambda: tell(measure_apart("cuda")),
            "traffic": lambda: traffic.check("cuda"),
        }
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
