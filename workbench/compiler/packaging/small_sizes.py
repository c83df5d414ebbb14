"""Sizes of 0 and 1, which torch assumes away while it compiles, tried on the compiled library."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler import torch_private as tp
from workbench.compiler.comparing import TOLERANCES
from workbench.compiler.dims import Dynamic
from workbench.compiler.packaging.compiling import Built
from workbench.compiler.packaging.constants import tensors_by_name
from workbench.compiler.packaging.contracts import ExportedContract
from workbench.compiler.packaging.exporting import Exportable, Exported

_SAFE = 2  # the least size that torch assumes nothing about


def honest_ranges(
    found: Exportable, exported: Exported, built: Built, contract: ExportedContract
) -> tuple[ExportedContract, tuple[str, ...]]:
    """The contract with the least sizes that the library is right for, and what to tell the user.

    Where torch captured the program for any size there is nothing to try. Else the library is run
    with each size below 2 that was declared, and its result compared with the module's.
    """
    small = {name: low for name, (low, _) in contract.ranges.items() if low < _SAFE}
    if exported.any_size or not small:
        return contract, ()
    trial = _Trial(found, contract, _runner(exported.program, built))
    lows = {name: trial.lowest(name, low) for name, low in small.items()}
    if len(lows) > 1 and not trial.agrees(lows):
        lows = dict.fromkeys(lows, _SAFE)
    said = {dim.name: dim.min for dim in found.declared.values()}
    notes = tuple(
        f"{name} starts at {low}, not {said[name]}: for {low - 1} the compiled code does not give "
        "what the model gives, because torch specialises the sizes 0 and 1; package another model "
        "for that size"
        for name, low in lows.items()
        if said.get(name) == 1 and low > 1
    )
    return contract.starting_at(lows), notes


def _runner(program: Any, built: Built) -> Any:
    """The library with its weights, without any check of its own, called with the flat inputs."""
    path = str(built.files[built.named(".so") or ""])
    if built.library.device == "cpu":
        runner = tp.AOTI_RUNNER_CPU.get()(path, 1)
    else:
        runner = tp.AOTI_RUNNER_CUDA.get()(path, 1, built.library.device, "")
    if not built.has_weights:
        runner.update_constant_buffer(tensors_by_name(built.library, program), False, True)
    return runner


@dataclass(frozen=True)
class _Trial:
    """Runs of library and module with the example inputs cut to other sizes."""

    found: Exportable
    contract: ExportedContract
    runner: Any

    def lowest(self, name: str, declared: int) -> int:
        """The least size, not below the declared one, down to which both give the same."""
        low = _SAFE
        while low > declared and self.agrees({name: low - 1}):
            low -= 1
        return low

    def agrees(self, sizes: Mapping[str, int]) -> bool:
        """Whether library and module give the same for inputs of these sizes."""
        leaves = list(self._cut(sizes))
        request = self.found.request
        _, spec = tp.TREE_FLATTEN.get()((tuple(request.args), dict(request.kwargs)))
        args, kwargs = tp.TREE_UNFLATTEN.get()(leaves, spec)
        flat = [leaf.clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]
        try:
            with torch.no_grad(), _unchanged(self.found.module):
                expected = tp.TREE_LEAVES.get()(self.found.module(*args, **kwargs))
            actual = self.runner.run(flat)
        except (RuntimeError, ValueError, IndexError, TypeError):
            return False  # the module cannot do it either, or the library refuses it
        return len(expected) == len(actual) and all(map(_same, expected, actual))

    def _cut(self, sizes: Mapping[str, int]) -> Iterator[Any]:
        rows = self.contract.contract.leaves or ()
        for leaf, (_, value) in zip(rows, self.found.inputs.leaves, strict=True):
            if not isinstance(value, torch.Tensor):
                yield value
                continue
            for index, size in enumerate(leaf.shape):
                wanted = sizes.get(size.name or "") if isinstance(size, Dynamic) else None
                if isinstance(size, Dynamic) and wanted is not None:
                    value = value.narrow(index, 0, size.size(wanted))
            yield value.clone()


@contextlib.contextmanager
def _unchanged(module: torch.nn.Module) -> Iterator[None]:
    """Buffers and random state as they were, whatever a call does to them."""
    saved = [(buffer, buffer.clone()) for buffer in module.buffers()]
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        with torch.no_grad():
            for buffer, value in saved:
                buffer.copy_(value)


def _same(expected: Any, actual: Any) -> bool:
    """Equal but for rounding: a wrong decision by size shows in shapes or in whole values."""
    if not isinstance(expected, torch.Tensor):
        return actual is None if expected is None else float(actual) == float(expected)
    if not isinstance(actual, torch.Tensor) or expected.shape != actual.shape:
        return False
    if not expected.is_floating_point() and not expected.is_complex():
        return torch.equal(expected, actual)
    loose = 10 * max(TOLERANCES.get(expected.dtype, (0.0, 0.0)))
    scale = float(expected.abs().nan_to_num(0, 0, 0).max()) if expected.numel() else 0.0
    return torch.allclose(expected, actual, loose, loose * max(1.0, scale), equal_nan=True)
