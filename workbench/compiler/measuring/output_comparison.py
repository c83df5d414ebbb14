"""What two runs gave, compared leaf by leaf: same inputs, same random state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any, Literal

import torch

from workbench.arguments import checked
from workbench.compiler.measuring.call_leaves import has_equality, leaves_of
from workbench.errors import UsageError
from workbench.number_text import plural
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

Verdict = Literal["passed", "failed", "not checked"]
"""What became of a comparison; "not checked" is what there was nothing to compare with."""


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
    verdict: Verdict
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was compared and agrees."""
        return self.verdict == "passed"


@dataclass(frozen=True)
class KernelComparison:
    """A value that a kernel or library call gave, beside that of the captured graph.

    `value` is the variable of the generated program, `node` the node of the graph. What is not
    checked has no errors (NaN); `reason` says why, or why the kernel failed.
    """

    kernel: str
    value: str = ""
    node: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    max_abs_error: float = nan
    max_rel_error: float = nan
    rtol: float = nan
    atol: float = nan
    verdict: Verdict = "not checked"
    graph: str = "forward"
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was compared and agrees."""
        return self.verdict == "passed"


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
        """Whether leaves were compared (and kernels, where it was asked for) and none differs."""
        parts = (self.rows, self.kernels) if self.kernels else (self.rows,)
        return all(_agrees(rows) for rows in parts)

    @property
    def wrong_kernel(self) -> str | None:
        """The first kernel or library call that gave a wrong value, or None."""
        return next((row.kernel for row in self.kernels if row.verdict == "failed"), None)

    @property
    def unchecked(self) -> Mapping[str, str]:
        """The kernels and library calls with a value that was not checked, and why."""
        return {row.kernel: row.reason for row in self.kernels if row.verdict == "not checked"}

    table = FormerTable()
    kernel_table = FormerTable("kernels")

    @checked
    def frame(self, name: str = "leaves") -> pandas.DataFrame:
        """The `leaves` or the `kernels` as a DataFrame, with errors and tolerances.

        A row of `leaves` is an output (or an input that was written to), one of `kernels` a value
        that a kernel or library call gave, in the order of the program. The `verdict` is "passed",
        "failed" or "not checked", with the `reason`. Raises `UsageError` for another name.
        """
        if name == "leaves":
            found = presenter().rows_frame(self.rows, Comparison)
        elif name == "kernels":
            found = presenter().rows_frame(self.kernels, KernelComparison)
        else:
            raise UsageError(f"There is no table {name!r}. Take one of: leaves, kernels.")
        # "note" is what version 0.1.0 calls the reason
        return found.assign(ok=found["verdict"] == "passed", note=found["reason"])

    def __repr__(self) -> str:
        """A short stable summary."""
        wrong = [row.leaf for row in self.rows if row.verdict == "failed"]
        if self.wrong_kernel is not None:
            wrong.insert(0, f"kernel {self.wrong_kernel}")
        verdict = (
            "ok" if self.ok
            else f"differs in {', '.join(wrong)}" if wrong
            else "nothing was checked"
        )  # fmt: skip
        known = sum(row.verdict != "not checked" for row in self.rows)
        count = "1 leaf" if len(self.rows) == 1 else f"{len(self.rows) or 'no'} leaves"
        leaves_checked = count if known == len(self.rows) else f"{known} of {count} checked"
        names = {row.kernel for row in self.kernels}
        done = f"{len(names) - len(self.unchecked)} of {plural(len(names), 'kernel')} checked"
        notes = f", {plural(len(self.notes), 'note')}" if self.notes else ""
        parts = f"{verdict}, {leaves_checked}{f', {done}' if names else ''}"
        return f"Verification({parts} against {self.reference}{notes})"


def _agrees(rows: Sequence[Comparison] | Sequence[KernelComparison]) -> bool:
    verdicts = {row.verdict for row in rows}
    return "passed" in verdicts and "failed" not in verdicts


def largest_error(rows: Sequence[Comparison]) -> float | None:
    """The largest absolute error; NaN where one is NaN, None without rows."""
    errors = [row.max_abs_error for row in rows]
    return nan if any(map(isnan, errors)) else max(errors, default=None)


def compare(
    where: str, expected: Any, actual: Any, rtol: float | None, atol: float | None
) -> Iterator[Comparison]:
    """Compare leaf by leaf what `leaves_of` gave, or for "input" the inputs themselves."""
    if where == "input":
        expected, actual = leaves_of(expected), leaves_of(actual)
    names = [name for name, _ in expected]
    if names != [name for name, _ in actual]:
        reason = f"expected leaves {names}, got {[name for name, _ in actual]}"
        yield Comparison(where, "", (), inf, inf, 0.0, 0.0, "failed", reason)
        return
    for (name, left), (_, right) in zip(expected, actual, strict=True):
        shown = name.replace("out", where, 1)
        if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
            yield compare_tensors(shown, left, right, rtol, atol)
        else:
            yield _compare_objects(shown, left, right)


def _compare_objects(name: str, left: Any, right: Any) -> Comparison:
    """Compare what is no tensor by its own ==; a NaN agrees with a NaN."""
    kind = type(left)
    if kind is type(right) and not has_equality(left) and left is not right:
        reason = f"a {kind.__name__} cannot be compared with another: it has no == of its own"
        return Comparison(name, kind.__name__, (), nan, nan, 0.0, 0.0, "not checked", reason)
    same = kind is type(right) and bool(left == right or (left != left and right != right))
    reason = "" if same else f"expected {left!r}, got {right!r}"
    error = 0.0 if same else inf
    verdict: Verdict = "passed" if same else "failed"
    return Comparison(name, kind.__name__, (), error, error, 0.0, 0.0, verdict, reason)


def compare_tensors(
    name: str, left: torch.Tensor, right: torch.Tensor, rtol: float | None, atol: float | None
) -> Comparison:
    """Compare two tensors; the tolerance is that of the first one's dtype unless it is given."""
    dtype, shape = str(left.dtype).removeprefix("torch."), tuple(left.shape)
    default = TOLERANCES.get(left.dtype, (0.0, 0.0))
    limits = (default[0] if rtol is None else rtol, default[1] if atol is None else atol)
    if _kind(left) != _kind(right):
        reason = f"expected {_words(left)}, got {_words(right)}"
        return Comparison(name, dtype, shape, inf, inf, *limits, "failed", reason)
    wide = torch.complex128 if left.is_complex() else torch.float64
    a, b = left.to(wide), right.to(wide)
    error = (a - b).abs()
    if left.is_floating_point() or left.is_complex():
        same = (a == b) | (a.isnan() & b.isnan())
    else:  # double precision would not tell large integers apart
        same = left == right
        error = error.clamp_min(1.0)
    error = error.masked_fill(same, 0.0)
    relative = error / a.abs().clamp_min(torch.finfo(torch.float64).tiny)
    worst = float(error.max()) if error.numel() else 0.0
    worst_relative = float(relative.max()) if error.numel() else 0.0
    ok = bool((error <= limits[1] + limits[0] * a.abs().nan_to_num()).all())
    verdict: Verdict = "passed" if ok else "failed"
    return Comparison(name, dtype, shape, worst, worst_relative, *limits, verdict)


def _kind(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.shape, tensor.dtype, tensor.device, tensor.layout


def _words(tensor: torch.Tensor) -> str:
    words = f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
    is_usual = tensor.device.type == "cpu" and tensor.layout is torch.strided
    return words if is_usual else f"{words} ({tensor.device}, {tensor.layout})"
