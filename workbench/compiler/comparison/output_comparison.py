"""What two runs gave, compared leaf by leaf: same inputs, same random state, or another seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any, Literal

import torch

from workbench.arguments import checked, shown
from workbench.compiler.call_state.call_leaves import has_equality
from workbench.errors import UsageError, describe_error
from workbench.number_text import plural
from workbench.report.presenter import FormerTable, presenter

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


def get_absolute_tolerance(dtype: torch.dtype) -> float:
    """The absolute tolerance of a dtype, for values of about 1."""
    return TOLERANCES.get(dtype, (0.0, 0.0))[1]


Verdict = Literal["passed", "failed", "not checked"]
"""What became of a comparison; "not checked" is what there was nothing to compare with."""


@dataclass(frozen=True)
class Comparison:
    """One leaf of the outputs (or one input that was written to)."""

    leaf: str  # the output, by its place in what is returned
    dtype: str  # its dtype
    shape: tuple[int, ...]  # its sizes
    max_abs_error: float  # the largest absolute difference
    max_rel_error: float  # the largest relative difference
    rtol: float  # the relative tolerance that holds
    atol: float  # the absolute tolerance that holds
    verdict: Verdict  # how the comparison ended
    reason: str = ""  # why it failed or was not checked

    @property
    def ok(self) -> bool:
        """Whether it was compared and agrees."""
        return self.verdict == "passed"


@dataclass(frozen=True)
class KernelComparison:
    """A result of a kernel or library call, compared with the captured graph.

    `value` is the variable of the generated program, `node` the node of the graph. Unchecked values
    have no errors (NaN); `reason` says why, or why the kernel failed.
    """

    kernel: str  # the kernel, by its id
    value: str = ""
    node: str = ""
    dtype: str = ""  # its dtype
    shape: tuple[int, ...] = ()  # its sizes
    max_abs_error: float = nan  # the largest absolute difference
    max_rel_error: float = nan  # the largest relative difference
    rtol: float = nan  # the relative tolerance that holds
    atol: float = nan  # the absolute tolerance that holds
    verdict: Verdict = "not checked"  # how the comparison ended
    graph: str = "forward"  # the graph that it belongs to, by its id
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was compared and agrees."""
        return self.verdict == "passed"


@dataclass(frozen=True)
class Verification:
    """Compare the compiled code with eager, leaf by leaf.

    `kernels` are compared if requested; `notes` list what a run on the CPU cannot show. `cause`
    names the stage that made a difference, and what was not checked.
    """

    rows: tuple[Comparison, ...]
    reference: str
    kernels: tuple[KernelComparison, ...] = ()
    notes: tuple[str, ...] = ()
    cause: str = ""

    @property
    def verdict(self) -> Verdict:
        """The word "failed" if a leaf or kernel differs, "passed" if every leaf was compared.

        "not checked" if there was nothing to compare with, or not for every leaf.
        """
        rows = {row.verdict for row in self.rows}
        kernels = {row.verdict for row in self.kernels}
        if "failed" in rows | kernels:
            return "failed"
        is_compared = rows == {"passed"} and (not kernels or "passed" in kernels)
        return "passed" if is_compared else "not checked"

    @property
    def ok(self) -> bool:
        """Whether every leaf was compared (and kernels, if requested) and none differs.

        Unchecked values are never ok: `unchecked` lists them.
        """
        return self.verdict == "passed"

    @property
    def wrong_kernel(self) -> str | None:
        """The first kernel or library call with a wrong value, or None."""
        return next((row.kernel for row in self.kernels if row.verdict == "failed"), None)

    @property
    def unchecked(self) -> Mapping[str, str]:
        """The leaves, kernels and library calls with an unchecked value, and why."""
        leaves = {row.leaf: row.reason for row in self.rows if row.verdict == "not checked"}
        return leaves | self._unchecked_kernels

    @property
    def _unchecked_kernels(self) -> dict[str, str]:
        return {row.kernel: row.reason for row in self.kernels if row.verdict == "not checked"}

    table = FormerTable()
    kernel_table = FormerTable("kernels")

    @checked
    def frame(self, name: str = "leaves") -> pandas.DataFrame:
        """Return the `leaves` or the `kernels` as a DataFrame, with errors and tolerances.

        A row of `leaves` is an output, or an input, a value of a module or a gradient that the call
        changed. A row of `kernels` is a result of a kernel or library call, in the order of the
        program. The `verdict` is "passed", "failed" or "not checked", with the `reason`. Raises
        `UsageError` for another name.
        """
        if name == "leaves":
            table = presenter().rows_frame(self.rows, Comparison)
        elif name == "kernels":
            table = presenter().rows_frame(self.kernels, KernelComparison)
        else:
            raise UsageError(f"{name!r} is not a table: expected 'leaves' or 'kernels'.")
        # "note" is what version 0.1.0 calls the reason
        return table.assign(ok=table["verdict"] == "passed", note=table["reason"])

    @property
    def sentence(self) -> str:
        """The verdict, what was not checked, and the cause of a difference."""
        by_reason: dict[str, list[str]] = {}
        for name, why in self.unchecked.items():
            by_reason.setdefault(why, []).append(name)
        lost = "; ".join(f"{', '.join(names)}: {why}" for why, names in by_reason.items())
        parts = [f"{self._summary}.", f"Not checked: {lost}." if lost else "", self.cause]
        return " ".join(filter(None, parts))

    def __repr__(self) -> str:
        """A short stable summary."""
        return f"Verification({self._summary})"

    @property
    def _summary(self) -> str:
        wrong = [row.leaf for row in self.rows if row.verdict == "failed"]
        if self.wrong_kernel is not None:
            wrong.insert(0, f"kernel {self.wrong_kernel}")
        compared = sum(row.verdict != "not checked" for row in self.rows)
        verdict = (
            f"differs in {', '.join(wrong)}"
            if wrong
            else "ok"
            if self.ok
            else "nothing was checked"
            if not compared or not self.rows or not self._has_kernels
            else "not everything was checked"
        )
        count = "1 leaf" if len(self.rows) == 1 else f"{len(self.rows) or 'no'} leaves"
        leaves_checked = count if compared == len(self.rows) else f"{compared} of {count} checked"
        notes = f", {plural(len(self.notes), 'note')}" if self.notes else ""
        parts = f"{verdict}, {leaves_checked}{self._kernels_said(wrong)}"
        return f"{parts} against {self.reference}{notes}"

    @property
    def _has_kernels(self) -> bool:
        return not self.kernels or any(row.verdict == "passed" for row in self.kernels)

    def _kernels_said(self, wrong: Sequence[str]) -> str:
        """How many kernels were compared; with the graph, whose own faults they share."""
        names = {row.kernel for row in self.kernels}
        if not names:
            return ""
        done = len(names) - len(self._unchecked_kernels)
        count = f"{done} of {plural(len(names), 'kernel')}"
        if wrong and self.wrong_kernel is None:
            agree = "agrees" if len(names) == 1 else "agree"
            return (
                f", {count} {agree} with the captured graph and could not be compared with eager,"
            )
        return f", {count} checked"


def report_not_checked(leaf: str, reason: str) -> Comparison:
    """A leaf that there is nothing to compare with, and why."""
    return Comparison(leaf, "", (), nan, nan, nan, nan, "not checked", reason)


def find_largest_error(rows: Sequence[Comparison]) -> float | None:
    """The largest absolute error; NaN where one is NaN, None without rows."""
    errors = [row.max_abs_error for row in rows]
    return nan if any(map(isnan, errors)) else max(errors, default=None)


def compare_objects(name: str, left: Any, right: Any) -> Comparison:
    """Compare what is no tensor by its own ==; a NaN agrees with a NaN."""
    kind = type(left)
    if kind is type(right) and not has_equality(left) and left is not right:
        reason = f"{kind.__name__} objects cannot be compared: the class does not define `__eq__`"
        return Comparison(name, kind.__name__, (), nan, nan, 0.0, 0.0, "not checked", reason)
    try:
        same = kind is type(right) and bool(left == right or (left != left and right != right))
    except Exception as raised:  # of its own ==, or of many values that are no single answer
        reason = f"{kind.__name__} objects cannot be compared: {describe_error(raised)}"
        return Comparison(name, kind.__name__, (), nan, nan, 0.0, 0.0, "not checked", reason)
    reason = "" if same else f"expected {shown(left)}, got {shown(right)}"
    error = 0.0 if same else inf
    verdict: Verdict = "passed" if same else "failed"
    return Comparison(name, kind.__name__, (), error, error, 0.0, 0.0, verdict, reason)


def compare_tensors(
    name: str,
    left: torch.Tensor,
    right: torch.Tensor,
    rtol: float | None,
    atol: float | None,
    scale: float = 1.0,
) -> Comparison:
    """Compare two tensors; the tolerance is that of the first one's dtype unless it is given.

    An atol that is not given is that of the dtype times `scale`.
    """
    dtype, shape = str(left.dtype).removeprefix("torch."), tuple(left.shape)
    default = TOLERANCES.get(left.dtype, (0.0, 0.0))
    limits = (default[0] if rtol is None else rtol, default[1] * scale if atol is None else atol)
    if _kind(left) != _kind(right):
        reason = f"expected {_words(left)}, got {_words(right)}"
        return Comparison(name, dtype, shape, inf, inf, *limits, "failed", reason)
    if left.is_meta or right.is_meta:
        reason = "it is on the meta device, which has no values"
        return Comparison(name, dtype, shape, nan, nan, *limits, "not checked", reason)
    wide = torch.complex128 if left.is_complex() else torch.float64
    a, b = left.to(wide), right.to(wide)
    error = (a - b).abs()
    if left.is_floating_point() or left.is_complex():
        same = (a == b) | (a.isnan() & b.isnan())
    else:  # double precision would not tell large integers apart
        same = left == right
        error = error.clamp_min(1.0)
    error = error.masked_fill(same, 0.0)
    worst = float(error.max()) if error.numel() else 0.0
    worst_relative = _largest_relative(error, a.abs(), left.dtype)
    ok = bool((error <= limits[1] + limits[0] * a.abs().nan_to_num()).all())
    verdict: Verdict = "passed" if ok else "failed"
    return Comparison(name, dtype, shape, worst, worst_relative, *limits, verdict)


def _largest_relative(error: torch.Tensor, size: torch.Tensor, dtype: torch.dtype) -> float:
    """The largest error beside what was expected there; NaN where that is zero, as next to it.

    A value below the last digit of the largest one is a zero that was rounded.
    """
    if not bool((error != 0).any()):
        return 0.0
    finite = size[size.isfinite()]
    is_float = dtype.is_floating_point or dtype.is_complex
    digit = torch.finfo(dtype).eps if is_float else 0.0
    least = digit * float(finite.max()) if finite.numel() else 0.0
    mask = (size > least) & (error != 0)
    return float((error / size)[mask].max()) if bool(mask.any()) else nan


def _kind(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.shape, tensor.dtype, tensor.device, tensor.layout


def _words(tensor: torch.Tensor) -> str:
    words = f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
    is_usual = tensor.device.type == "cpu" and tensor.layout is torch.strided
    return words if is_usual else f"{words} ({tensor.device}, {tensor.layout})"
