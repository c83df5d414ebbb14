"""Estimated times beside measured ones: `python -m tests.gpu.bounds`.

The least time by the roofline, the order of configurations, launches and CUDA graphs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

import torch

import workbench as wb
from tests.gpu import launching
from tests.gpu.configs import ranked_times
from tests.gpu.figures import run_steps
from tests.gpu.ranks import tell_bounds, tell_configs


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.relu() * 2, -1)


def normalised(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:]).sigmoid()


def column_sums(x: torch.Tensor) -> torch.Tensor:
    return (x * x).sum(0)


PROGRAMS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (softmax, normalised, column_sums)
SIZES = (1024, 4096, 8192)
CONFIG_SIZE = 4096


def kernel_times(device: str, sizes: Sequence[int] = SIZES) -> Iterator[tuple[float, float]]:
    """The times of the kernels of every program at every size, measured in the unchanged code."""
    for size in sizes:
        x = torch.randn(size, size, device=device)
        for program in PROGRAMS:
            compiled = wb.aot_compile(program, (x,), grad=False)
            for row in wb.profile(compiled, (x,)).report.roofline:
                if row.bound_us is not None and row.measured_us:
                    yield row.bound_us, row.measured_us


def main(device: str = "cuda") -> int:
    """Bounds, configurations and launches, each whatever became of the others."""
    return run_steps(
        {
            "bounds": lambda: tell_bounds(list(kernel_times(device))),
            "launches": lambda: launching.tell(launching.measured(device)),
            "configurations": lambda: tell_configs(ranked_times(PROGRAMS, CONFIG_SIZE, device)),
        }
    )


if __name__ == "__main__":
    sys.exit(main())
