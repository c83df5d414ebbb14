"""No kernel is faster than its least time by the roofline: `python -m tests.gpu.bounds`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas
import torch

import workbench as wb
from tests.gpu.figures import print_figure

Times = Sequence[tuple[float, float]]
"""Of each kernel the bound and the measured time, in microseconds."""


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.relu() * 2, -1)


def normalised(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:]).sigmoid()


def column_sums(x: torch.Tensor) -> torch.Tensor:
    return (x * x).sum(0)


PROGRAMS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (softmax, normalised, column_sums)
SIZES = (1024, 4096, 8192)


def kernel_times(device: str, sizes: Sequence[int] = SIZES) -> Iterator[tuple[float, float]]:
    """The times of the kernels of every program at every size, measured in the unchanged code."""
    for size in sizes:
        x = torch.randn(size, size, device=device)
        for program in PROGRAMS:
            compiled = wb.aot_compile(program, (x,), grad=False)
            for row in wb.profile(compiled, (x,)).report.roofline:
                if row.bound_us is not None and row.measured_us:
                    yield row.bound_us, row.measured_us


def tell(times: Times) -> None:
    """Print the figures; raises `ValueError` with fewer than three kernels, too few to rank."""
    if len(times) < 3:
        raise ValueError(f"{len(times)} kernels have a bound and a measured time: 3 are needed")
    table = pandas.DataFrame(times, columns=["bound", "measured"])
    note = f"{len(table)} kernels"
    closest = float((table.bound / table.measured).max())
    print_figure("largest bound over measured time", closest, "ratio", reach=1.05, note=note)
    ranks = table.rank()
    alike = float(ranks.bound.corr(ranks.measured))
    name = "rank correlation of bounds and measured times"
    print_figure(name, alike, "Spearman", reach=0.8, rule=">=", note=note)


if __name__ == "__main__":
    tell(list(kernel_times("cuda")))
