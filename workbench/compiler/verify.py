"""Comparing what was compiled with the original: same inputs, same random state."""

from __future__ import annotations

import contextlib
import copy
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.compiled import Compiled
from workbench.compiler.paths import Path, leaves
from workbench.errors import UsageError

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
class Verification:
    """Whether the compiled code and the original agree, leaf by leaf."""

    rows: tuple[Comparison, ...]
    reference: str

    @property
    def ok(self) -> bool:
        """Whether every leaf agrees within its tolerance."""
        return bool(self.rows) and all(row.ok for row in self.rows)

    @property
    def table(self) -> pandas.DataFrame:
        """One row per leaf with its errors and the tolerance that was used."""
        import pandas

        return pandas.DataFrame([vars(row) for row in self.rows])

    def __repr__(self) -> str:
        """A short stable summary."""
        wrong = [row.leaf for row in self.rows if not row.ok]
        verdict = "ok" if self.ok else f"differs in {', '.join(wrong) or 'nothing: no outputs'}"
        return f"Verification({verdict}, {len(self.rows)} leaves against {self.reference})"


def verify(
    compiled: Compiled,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Run the original and the compiled code on copies of the inputs and compare.

    The reference is the live function or module, else the importable one that the file names,
    else `reference=`; without any `UsageError` is raised. Buffers of a module and the random state
    are restored afterwards.
    """
    original, name = _reference(compiled, reference)
    expected_args, actual_args = _copies(args, kwargs), _copies(args, kwargs)
    module = compiled.module
    with _restored(module):
        actual = compiled(*actual_args[0], **actual_args[1])
        actual = _detached(actual)
    with _restored(module), _grad_of(compiled):
        expected = _detached(original(*expected_args[0], **expected_args[1]))
    pairs = [("output", expected, actual)]
    pairs += [("input", expected_args, actual_args)] if _wrote(args, kwargs, expected_args) else []
    rows = [row for pair in pairs for row in _compare(*pair, rtol, atol)]
    return Verification(tuple(rows), name)


def _reference(
    compiled: Compiled, reference: Callable[..., Any] | None
) -> tuple[Callable[..., Any], str]:
    if reference is not None:
        return reference, getattr(reference, "__name__", type(reference).__name__)
    if compiled.original is not None:
        return compiled.original, compiled.name
    place = compiled.reference_name
    if place is not None:
        module, _, qualified = place.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in qualified.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"The original {place} cannot be imported ({error}). Pass it: "
                "verify(x, args, reference=function)."
            ) from error
        return found, place
    raise UsageError(
        f"There is nothing to compare {compiled.name} with: the original is not alive and has no "
        "importable name. Pass it: verify(x, args, reference=function)."
    )


def _copies(
    args: tuple[Any, ...], kwargs: Mapping[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    memo: dict[int, Any] = {}
    for _, leaf in leaves((args, dict(kwargs or {})), Path("call")):
        if isinstance(leaf, torch.Tensor):
            twin = leaf.detach().clone(memory_format=torch.preserve_format)
            memo[id(leaf)] = twin.requires_grad_(leaf.requires_grad)
        elif isinstance(leaf, torch.nn.Module):
            memo[id(leaf)] = leaf
    copied: tuple[tuple[Any, ...], dict[str, Any]] = copy.deepcopy((args, dict(kwargs or {})), memo)
    return copied


def _wrote(args: Any, kwargs: Any, after: Any) -> bool:
    before = list(leaves((args, dict(kwargs or {})), Path("call")))
    return any(
        isinstance(old, torch.Tensor) and not torch.equal(old, new)
        for (_, old), (_, new) in zip(before, leaves(after, Path("call")), strict=True)
    )


@contextlib.contextmanager
def _restored(module: torch.nn.Module | None) -> Iterator[None]:
    """Put the random state and the module's buffers back afterwards."""
    buffers = [(b, b.detach().clone()) for b in module.buffers()] if module is not None else []
    with torch.random.fork_rng():
        try:
            yield
        finally:
            for buffer, before in buffers:
                with torch.no_grad():
                    buffer.copy_(before)


def _grad_of(compiled: Compiled) -> contextlib.AbstractContextManager[Any]:
    return torch.no_grad() if compiled.enters_no_grad else contextlib.nullcontext()


def _detached(value: Any) -> Any:
    return [
        (str(path), leaf.detach() if isinstance(leaf, torch.Tensor) else leaf)
        for path, leaf in leaves(value, Path("out"))
    ]


def _compare(
    where: str, expected: Any, actual: Any, rtol: float | None, atol: float | None
) -> Iterator[Comparison]:
    if where == "input":
        expected, actual = _detached(expected), _detached(actual)
    names = [name for name, _ in expected]
    if names != [name for name, _ in actual]:
        note = f"expected leaves {names}, got {[name for name, _ in actual]}"
        yield Comparison(where, "", (), float("inf"), float("inf"), 0.0, 0.0, False, note)
        return
    for (name, left), (_, right) in zip(expected, actual, strict=True):
        shown = name.replace("out", where, 1)
        if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
            yield _compare_tensors(shown, left, right, rtol, atol)
        else:
            same = type(left) is type(right) and bool(left == right)
            note = "" if same else f"expected {left!r}, got {right!r}"
            yield Comparison(shown, type(left).__name__, (), 0.0, 0.0, 0.0, 0.0, same, note)


def _compare_tensors(
    name: str, left: torch.Tensor, right: torch.Tensor, rtol: float | None, atol: float | None
) -> Comparison:
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
