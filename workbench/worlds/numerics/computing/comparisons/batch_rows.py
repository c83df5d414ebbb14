"""One row of a batch, alone and among others: the first kernel that gives it another value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.errors import ContractError, UsageError
from workbench.report import Kernel
from workbench.worlds.numerics.computing.cones import name_operator
from workbench.worlds.numerics.computing.distances import is_equal, measure_apart, measure_off
from workbench.worlds.numerics.computing.host_microscope import HostProgram
from workbench.worlds.numerics.computing.kernel_walk import KernelWalk
from workbench.worlds.numerics.computing.recorded_stages import StageGraph
from workbench.worlds.numerics.findings.causes import FUNCTION, REDUCTION, guess_rounding
from workbench.worlds.numerics.rows import BatchRow

_LIBRARY = "the library uses a different kernel or split for {}"
_SPLIT = "a reduction is split differently for {}"
_TAIL = "the tail of a vectorized loop uses a different implementation of a function"
_OTHER = "the kernel's loops split the elements differently for {}"
_ENTER = "the value depends on other rows of the batch, as in batch norm in training mode"
_BESIDE = "different batch contents"
_ROUNDINGS = 64.0
"""A sum in another order, or a function of another library, is not off by as many."""


@dataclass(frozen=True)
class Batch:
    """A batch: the inputs whose first dimension counts `rows`, and the row that is looked at.

    `counts` says of each tensor of the call, in its order, whether its first dimension does: of a
    table of weights that has as many entries it does not.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    rows: int
    row: int
    counts: Sequence[bool]

    def select(self, places: Sequence[int | None]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The inputs with these rows; None is a row of zeros."""
        left = iter(self.counts)
        twins: dict[int, torch.Tensor] = {}  # code is compiled for one tensor given twice

        def chosen(tensor: torch.Tensor) -> torch.Tensor:
            if not next(left):
                return tensor
            if id(tensor) in twins:
                return twins[id(tensor)]
            picked = twins[id(tensor)] = tensor.new_zeros((len(places), *tensor.shape[1:]))
            for place, row in enumerate(places):
                if row is not None:
                    picked[place] = tensor[row]
            return picked

        args, kwargs = tp.TREE_MAP_ONLY.get()(torch.Tensor, chosen, (self.args, dict(self.kwargs)))
        return args, kwargs

    def list_cases(self) -> Iterator[tuple[str, tuple[int | None, ...]]]:
        """The company that the row is put into, by name."""
        row, others = self.row, self.rows - 1
        yield "alone", (row,)
        yield "with zeros behind it", (row, *[None] * others)
        yield "with zeros before it", (*[None] * others, row)
        half = max(1, self.rows // 2)
        start = min(max(0, row - half // 2), self.rows - half)
        yield "in half of the batch", tuple(range(start, start + half))


def find_batch(
    tensors: Sequence[torch.Tensor], sizes: Sequence[Sequence[Any]]
) -> tuple[int, tuple[bool, ...]] | None:
    """How many rows a call has, and which of its tensors count them; None where nothing does.

    `sizes` are those that the code was compiled for: the first dimension that may vary is that of
    the batch, and others of its name are. Where none may, the first tensor that is no parameter
    counts the rows, with all of its length that are none.
    """
    names = [str(getattr(size[0], "name", "")) if size else "" for size in sizes]
    is_known = [bool(size) and not isinstance(size[0], int) for size in sizes]
    if any(is_known) and len(sizes) == len(tensors):
        place = is_known.index(True)
        rows = tensors[place].shape[0]
        return rows, tuple(
            known and name == names[place] and one.shape[0] == rows
            for one, known, name in zip(tensors, is_known, names, strict=True)
        )
    loose = [one.dim() > 0 and not isinstance(one, torch.nn.Parameter) for one in tensors]
    if True not in loose:
        return None
    rows = tensors[loose.index(True)].shape[0]
    return rows, tuple(
        free and one.shape[0] == rows for one, free in zip(tensors, loose, strict=True)
    )


class _RowWalk(KernelWalk):
    """Keeps, of what each kernel leaves, the part that belongs to one row."""

    def __init__(self, program: HostProgram, rows: int, row: int):
        super().__init__(program.stages, dict.fromkeys(program.stages.lowered.placeholders))
        self._rows, self._row = rows, row
        self.parts: list[tuple[Kernel, str, torch.Tensor]] = []

    def _has_rows(self, node: str, got: torch.Tensor) -> bool:
        """Whether the first dimension of a value is the batch, or one that has it outermost.

        Where sizes vary they say it. Where they do not, a value with another dimension of its
        length may have the batch there, as one that is split in heads before it does.
        """
        shape = self._stages.lowered.rows[node].shape or ()
        if not got.dim() or got.shape[0] % self._rows:
            return False
        if any(isinstance(size, str) for size in shape):
            return isinstance(shape[0], str)
        return self._rows not in got.shape[1:]

    def _compare(
        self, kernel: Kernel, node: str, got: torch.Tensor, known: Mapping[str, Any]
    ) -> None:
        if self._has_rows(node, got):
            count = got.shape[0] // self._rows
            part = got[self._row * count : (self._row + 1) * count]
            self.parts.append((kernel, node, part.clone()))


def compare_rows(program: HostProgram, batch: Batch) -> tuple[BatchRow, ...]:
    """Run the batch, and its row in other company, and compare after every kernel.

    Raises `UsageError` where no input has the rows, where there is one row alone, and where each
    row draws random numbers of its own.
    """
    if batch.rows < 2:
        raise UsageError("The batch has 1 row: pass at least 2, which batch invariance needs.")
    if program.stages.list_random():
        raise UsageError(
            "The call draws different random numbers for each row: compile it for inference, with "
            "model.eval()."
        )
    program = program.renew()
    whole = _run(program, batch, tuple(range(batch.rows)), batch.row)
    inputs = program.aten_inputs()
    rows = []
    for case, places in batch.list_cases():
        if len(places) == batch.rows and places == tuple(range(batch.rows)):
            continue
        try:
            other = _run(program, batch, places, places.index(batch.row))
        except ContractError:
            why = (
                f"the code for {batch.rows} rows accepts no other batch size; compile with a "
                "dynamic one, such as dynamic_shapes={'x': {0: Dim('batch')}}"
            )
            rows.append(BatchRow(case, len(places), None, reason=why))
            continue
        changed = _BESIDE
        if len(places) != batch.rows:
            changed = "a different batch size"
        elif places.index(batch.row) != batch.row:
            changed = "a different position of the row in the batch"
        fed = _find_fed(program.stages.lowered, inputs, program.aten_inputs())
        row = BatchRow(case, len(places), True)
        rows.append(_find_first(program, row, changed, [v for v in whole if v[1] in fed], other))
    return tuple(rows)


def _run(
    program: HostProgram, batch: Batch, places: tuple[int | None, ...], row: int
) -> list[tuple[Kernel, str, torch.Tensor]]:
    walk = _RowWalk(program, len(places), row)
    program.call_observed(*batch.select(places), walk)
    return walk.parts


def _find_fed(
    graph: StageGraph, inputs: Mapping[str, Any], others: Mapping[str, Any]
) -> frozenset[str]:
    """The nodes that are computed from what the rows have; of weights some are as long as these."""

    def is_same(one: Any, other: Any) -> bool:
        if not isinstance(one, torch.Tensor):
            return bool(one == other)
        return one is other or (one.shape == other.shape and is_equal(one, other))

    fed = {name for name in inputs if not is_same(inputs[name], others[name])}
    for name in graph.nodes:
        if not fed.isdisjoint(graph.reads[name]):
            fed.add(name)
    return frozenset(fed)


def _find_first(
    program: HostProgram,
    row: BatchRow,
    changed: str,
    whole: Sequence[tuple[Kernel, str, torch.Tensor]],
    other: Sequence[tuple[Kernel, str, torch.Tensor]],
) -> BatchRow:
    """The row of a case with the first kernel that gives another value; `changed` is its reason."""
    by_node = {(kernel.id, node): value for kernel, node, value in other}
    lost = {kernel.id for kernel in program.unchecked}
    compared = 0
    for kernel, node, value in whole:
        if kernel.id in lost:
            continue
        same = by_node.get((kernel.id, node))
        if same is None or same.shape != value.shape:
            continue
        compared += 1
        if not is_equal(value, same):
            apart = measure_apart(same, value)
            reason = _explain(program, kernel).format(changed)
            off = measure_off(same, value, value.dtype)
            if changed == _BESIDE:
                reason = _ENTER
            elif off > _ROUNDINGS and value.is_floating_point():
                reason = f"more than rounding; perhaps {_ENTER}"
            return replace(
                row,
                equal=False,
                kernel=kernel.id,
                part=kernel.name,
                node=node,
                differ=apart.differ,
                max_ulp=apart.max_ulp,
                reason=reason,
            )
    if program.unchecked:
        why = _describe_unchecked(program.unchecked, compared)
        return replace(row, equal=None, reason=why)
    if not compared:
        raise UsageError(
            "No kernel writes a value whose first dimension is the batch, so no row can be "
            "compared."
        )
    return row


def _describe_unchecked(kernels: Sequence[Kernel], compared: int) -> str:
    """Why equal kernels do not make a program invariant: it calls a library that is not here."""
    verdict = "the generated kernels are bitwise equal, but"
    if not compared:
        verdict = "no generated kernel writes a value with the batch as its first dimension, and"
    first = dict.fromkeys(f"{kernel.id} ({kernel.name})" for kernel in kernels)
    shown = ", ".join([*first][:3]) + (", …" if len(first) > 3 else "")
    are = "is a GPU library call" if len(first) == 1 else "are GPU library calls"
    return (
        f"{verdict} {shown} {are}, which may use a different kernel or split when the other rows "
        "change"
    )


def _explain(program: HostProgram, kernel: Kernel) -> str:
    """Why a kernel gives a row another value in other company, for which "{}" stands."""
    if not kernel.is_generated:
        return _LIBRARY
    nodes = program.stages.lowered.nodes
    names = (node.partition(":")[2] for node in kernel.nodes)
    cause = guess_rounding(name_operator(nodes[name]) for name in names if name in nodes).name
    return {REDUCTION: _SPLIT, FUNCTION: _TAIL}.get(cause, _OTHER)
