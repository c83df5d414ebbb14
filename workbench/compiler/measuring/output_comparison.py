"""What two runs gave, compared leaf by leaf: same inputs, same random state."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.contract.paths import Path, leaves
from workbench.errors import UsageError
from workbench.report.presenting import FormerTable, presenter

if TYPE_CHECKING:
    import pandas

TOLERANCES: Mapping[torch.dtype, tuple[float, float]] = {
    torch.float16: (1e-3, 1e-3),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-3),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
"""(rtol, atol) by dtype, as in torch.testing.assert_close, except that the 16-bit types get an atol
of 1e-3 and 1e-2: a fused kernel keeps intermediates in float32 and rounds once. Other dtypes have
to be equal."""


@dataclass(frozen=True)
class Comparison:
    """One leaf of the outputs (or one input that was written to)."""

    leaf: str
    dtype: str
    shape: tuple[int, ...]
    max_abs_error: float
    max_rel_error: float
    rtol: float
    atol: float
    ok: bool
    note: str = ""


@dataclass(frozen=True)
class KernelComparison:
    """A value that a kernel or library call gave, beside that of the captured graph.

    `value` is the variable of the generated program, `node` the node of the graph; a row that has
    no node says in its note why there is nothing to compare with, or why the kernel failed.
    """

    kernel: str
    value: str
    node: str
    dtype: str
    shape: tuple[int, ...]
    max_abs_error: float
    max_rel_error: float
    rtol: float
    atol: float
    ok: bool
    graph: str = "forward"
    note: str = ""


@dataclass(frozen=True)
class Verification:
    """Whether the compiled code and the original agree, leaf by leaf.

    `kernels` are compared when it was asked for; `notes` say what a run on the CPU cannot show.
    """

    rows: tuple[Comparison, ...]
    reference: str
    kernels: tuple[KernelComparison, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every leaf, and every value of a kernel, agrees within its tolerance."""
        return bool(self.rows) and all(r.ok for r in self.rows) and all(k.ok for k in self.kernels)

    @property
    def wrong_kernel(self) -> str | None:
        """The first kernel or library call that gave a wrong value, or None."""
        return next((row.kernel for row in self.kernels if not row.ok), None)

    table = FormerTable()
    kernel_table = FormerTable("kernels")

    def frame(self, name: str = "leaves") -> pandas.DataFrame:
        """The `leaves` or the `kernels` as a DataFrame, with errors and tolerances.

        A row of `leaves` is an output (or an input that was written to), one of `kernels` a value
        that a kernel or library call gave, in the order of the program. Raises `UsageError` for
        another name.
        """
        if name == "leaves":
            return presenter().rows_frame(self.rows, Comparison)
        if name == "kernels":
            return presenter().rows_frame(self.kernels, KernelComparison)
        raise UsageError(f"There is no table {name!r}. Take one of: leaves, kernels.")

    def __repr__(self) -> str:
        """A short stable summary."""
        wrong = [row.leaf for row in self.rows if not row.ok]
        if self.wrong_kernel is not None:
            wrong.insert(0, f"kernel {self.wrong_kernel}")
        verdict = "ok" if self.ok else f"differs in {', '.join(wrong) or 'nothing: no outputs'}"
        count = "1 leaf" if len(self.rows) == 1 else f"{len(self.rows) or 'no'} leaves"
        kernels = f", {len(self.kernels)} values of kernels" if self.kernels else ""
        notes = f", {len(self.notes)} notes" if self.notes else ""
        return f"Verification({verdict}, {count}{kernels} against {self.reference}{notes})"


def copies(
    args: tuple[Any, ...], kwargs: Mapping[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same inputs again: tensors of their own, modules shared."""
    memo: dict[int, Any] = {}
    for _, leaf in leaves((args, dict(kwargs or {})), Path("call")):
        if isinstance(leaf, torch.Tensor):
            twin = leaf.detach().clone(memory_format=torch.preserve_format)
            memo[id(leaf)] = twin.requires_grad_(leaf.requires_grad)
        elif isinstance(leaf, torch.nn.Module):
            memo[id(leaf)] = leaf
    copied: tuple[tuple[Any, ...], dict[str, Any]] = copy.deepcopy((args, dict(kwargs or {})), memo)
    return copied


def wrote(args: Any, kwargs: Any, after: Any) -> bool:
    """Whether a call changed the copies of the inputs that it was given."""
    before = list(leaves((args, dict(kwargs or {})), Path("call")))
    return any(
        isinstance(old, torch.Tensor) and not torch.equal(old, new)
        for (_, old), (_, new) in zip(before, leaves(after, Path("call")), strict=True)
    )


@contextlib.contextmanager
def restored(module: torch.nn.Module | None) -> Iterator[None]:
    """Put the random state and the module's buffers back afterwards."""
    buffers = [(b, b.detach().clone()) for b in module.buffers()] if module is not None else []
    with torch.random.fork_rng():
        try:
            yield
        finally:
            for buffer, before in buffers:
                with torch.no_grad():
                    buffer.copy_(before)


def leaves_of(value: Any) -> Any:
    """The leaves of an output with their names, without gradients."""
    return [
        (str(path), leaf.detach() if isinstance(leaf, torch.Tensor) else leaf)
        for path, leaf in leaves(value, Path("out"))
    ]


def compare(
    where: str, expected: Any, actual: Any, rtol: float | None, atol: float | None
) -> Iterator[Comparison]:
    """Compare leaf by leaf what `leaves_of` gave, or for "input" the inputs themselves."""
    if where == "input":
        expected, actual = leaves_of(expected), leaves_of(actual)
    names = [name for name, _ in expected]
    if names != [name for name, _ in actual]:
        note = f"expected leaves {names}, got {[name for name, _ in actual]}"
        yield Comparison(where, "", (), float("inf"), float("inf"), 0.0, 0.0, False, note)
        return
    for (name, left), (_, right) in zip(expected, actual, strict=True):
        shown = name.replace("out", where, 1)
        if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
            yield compare_tensors(shown, left, right, rtol, atol)
        else:
            same = type(left) is type(right) and bool(left == right)
            note = "" if same else f"expected {left!r}, got {right!r}"
            yield Comparison(shown, type(left).__name__, (), 0.0, 0.0, 0.0, 0.0, same, note)


def compare_tensors(
    name: str, left: torch.Tensor, right: torch.Tensor, rtol: float | None, atol: float | None
) -> Comparison:
    """Compare two tensors; the tolerance is that of the first one's dtype unless it is given."""
    dtype, shape = str(left.dtype).removeprefix("torch."), tuple(left.shape)
    default = TOLERANCES.get(left.dtype, (0.0, 0.0))
    limits = (default[0] if rtol is None else rtol, default[1] if atol is None else atol)
    if (left.shape, left.dtype, left.device) != (right.shape, right.dtype, right.device):
        note = f"expected {dtype} {list(shape)}, got {right.dtype} {list(right.shape)}"
        return Comparison(name, dtype, shape, float("inf"), float("inf"), *limits, False, note)
    wide = torch.complex128 if left.is_complex() else torch.float64
    a, b = left.to(wide), right.to(wide)
    error = (a - b).abs()
    error = error.masked_fill((a == b) | (a.isnan() & b.isnan()), 0.0)
    relative = error / a.abs().clamp_min(torch.finfo(torch.float64).tiny)
    worst = float(error.max()) if error.numel() else 0.0
    worst_relative = float(relative.max()) if error.numel() else 0.0
    ok = bool((error <= limits[1] + limits[0] * a.abs().nan_to_num()).all())
    return Comparison(name, dtype, shape, worst, worst_relative, *limits, ok)
