"""Kernels on several GPUs: a record that answers as a table, and how far apart the GPUs are.

    spread of a metric  = (largest - smallest) / largest over the GPUs that have it
    spread of a kernel  = mean of the spreads of the counted metrics

The counted metrics are those of the code. A register or an instruction of one vendor is not one of
another: they are compared within a vendor, and the largest spread counts. The bound in µs follows
the speed of the GPU, whatever the code is: it has a spread of its own over all of them, but no part
in that of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.report.machine_rows import CODE_STAGES, MatrixCell
from workbench.report.measures import measures
from workbench.report.presenter import Presented, by_former_name, presenter
from workbench.report.record import Report
from workbench.report.side_by_side import Difference

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas


METRICS = tuple(measures(MatrixCell))
"""What a matrix compares."""
COUNTED = tuple(metric for metric in METRICS if metric not in ("bound_us", "modelled_us"))
"""The metrics that follow from the code of a kernel."""


@dataclass(frozen=True, repr=False)
class Matrix(Presented):
    """Compare every Triton kernel of a compilation on several GPUs; needs no GPU.

    `report` is the report of the compilation with the tables `matrix` and, for each cell, the rows
    of `assembly`. Kernels are ordered by the spread between GPUs. Registers, spills, shared memory
    and instructions are counted in compiled code; occupancy and bounds are modelled.
    """

    report: Report
    targets: tuple[str, ...]

    @checked
    def frame(self, metric: str | None = None, *, figure: str | None = None) -> pandas.DataFrame:
        """Return a row for each kernel and GPU; for one metric, a table of kernels × GPUs.

        The table is ordered by the metric's own differences. Metrics: registers, spills,
        smem_bytes, occupancy, instructions, bound_us, modelled_us. Raises `UsageError` for another
        one.
        """
        return presenter().frame(self, by_former_name("figure", "metric", figure, metric))

    @checked
    def plot(
        self, metric: str = "registers", *, figure: str | None = None
    ) -> matplotlib.figure.Figure:
        """Plot one metric as a heat map, the kernels that differ most on top.

        Raises `UsageError` for an unknown metric, or one without values.
        """
        return presenter().plot(self, by_former_name("figure", "metric", figure, metric))

    @checked
    def diff(self, kernel: str, a: str, b: str, stage: str | None = None) -> Difference:
        """Return the code of a kernel on two GPUs, side by side.

        `stage` is "ttir", "ttgir", "llir", "ptx", "sass" or "amdgcn"; by default the last that both
        GPUs have. Raises `UsageError` for a kernel, GPU or stage that the matrix does not have.
        """
        names = {row.name: row.id for row in self.report.kernels}
        kernel = names.get(kernel, kernel)
        cells = [_cell(self, kernel, target) for target in (a, b)]
        left, right = (_texts(self, cell) for cell in cells)
        common = [name for name in CODE_STAGES if name in left and name in right]
        chosen = common[-1] if stage is None and common else stage
        if chosen is None or chosen not in common:
            missing = [f"{cell.target}: {cell.note}" for cell in cells if cell.note]
            there = f"choose one of: {', '.join(common)}" if common else "they share no stage"
            why = f" ({'; '.join(missing)})" if missing else ""
            raise UsageError(
                f"The {stage or 'code'} of {kernel} is not available for both {a} and {b}; "
                f"{there}{why}."
            )
        return Difference(kernel, chosen, a, b, left[chosen], right[chosen])

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a page with a table for each metric, written to `path`; it needs no network."""
        return presenter().page(self, path)


def group_cells(matrix: Matrix) -> dict[tuple[str, str], MatrixCell]:
    """The cells by kernel and GPU."""
    return {(cell.kernel, cell.target): cell for cell in matrix.report.matrix}


def _cell(matrix: Matrix, kernel: str, target: str) -> MatrixCell:
    if target not in matrix.targets:
        raise UsageError(f"The matrix has no GPU {target!r}. It has {', '.join(matrix.targets)}.")
    cells = group_cells(matrix)
    if (kernel, target) not in cells:
        known = ", ".join(dict.fromkeys(name for name, _ in cells))
        raise UsageError(f"The matrix has no kernel {kernel!r}. It has {known}.")
    return cells[kernel, target]


def _texts(matrix: Matrix, cell: MatrixCell) -> dict[str, str]:
    texts = matrix.report.texts
    return {
        row.stage: texts[row.text]
        for row in matrix.report.assembly
        if row.config == cell.config and row.text is not None and row.text in texts
    }


@dataclass(frozen=True)
class KernelSpread:
    """How far apart the GPUs are for one kernel, from 0, all the same, to 1.

    `metrics` has the spread of each metric that at least two GPUs can be compared in; `differs_in`
    is the counted one with the largest, None where nothing differs.
    """

    kernel: str
    metrics: tuple[tuple[str, float], ...]
    total: float
    differs_in: str | None


def list_spreads(cells: Iterable[MatrixCell]) -> list[KernelSpread]:
    """Every kernel, that with the largest spread first; equal ones in the order of the cells."""
    kernels: dict[str, list[MatrixCell]] = {}
    for cell in cells:
        kernels.setdefault(cell.kernel, []).append(cell)
    spreads = [_of_kernel(kernel, own) for kernel, own in kernels.items()]
    return sorted(spreads, key=lambda one: -one.total)


def spread(values: Sequence[float | None]) -> float | None:
    """(largest - smallest) / largest of the known values; None with fewer than two of them."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    largest = max(known)
    return (largest - min(known)) / largest if largest else 0.0


def comparable(metric: str, cells: Iterable[MatrixCell]) -> list[list[MatrixCell]]:
    """The cells of one kernel in groups that a metric compares: by vendor, or all for a bound."""
    groups: dict[str, list[MatrixCell]] = {}
    for cell in cells:
        groups.setdefault(cell.vendor if metric in COUNTED else "", []).append(cell)
    return list(groups.values())


def measure_spread(metric: str, cells: Iterable[MatrixCell]) -> float | None:
    """The largest spread of a metric among cells of one kernel that can be compared, or None."""
    values = ([getattr(one, metric) for one in group] for group in comparable(metric, cells))
    spreads = (spread(group) for group in values)
    return max((one for one in spreads if one is not None), default=None)


def _of_kernel(kernel: str, cells: Sequence[MatrixCell]) -> KernelSpread:
    spreads = {name: measure_spread(name, cells) for name in METRICS}
    known = {name: one for name, one in spreads.items() if one is not None}
    counted = {metric: known[metric] for metric in COUNTED if known.get(metric)}
    return KernelSpread(
        kernel,
        tuple(known.items()),
        sum(counted.values()) / len(COUNTED),
        max(counted, key=counted.__getitem__, default=None),
    )
