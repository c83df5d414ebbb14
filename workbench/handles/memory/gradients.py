"""Whether a program that was compiled with another budget gives the gradients of the original."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import (
    copy_all_inputs,
    find_held_inputs,
    find_learning_tensors,
    restore_state,
)
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.comparison.effects import compute_gradients
from workbench.device_kinds import TARGETS
from workbench.errors import WorkbenchError

_SEEDS = (3, 20)
_NOISE = 4  # times what the program with the own budget differs from eager by
_NOT_HERE = "Its gradients were not compared: the GPU is not here."
_MADE_UP = " The example inputs are gone: numbers between 0 and 1 stood in for {}."
_NOTHING = "Its gradients were not compared: with these inputs all of them are zero."
_FAILED = "Its gradients were not compared: the original failed ({})."
_NO_REFERENCE = (
    "Its gradients were not compared: eager draws other random numbers, and the gradients of the "
    "program with its own budget are wrong."
)
_BY_CHANCE = "eager draws other random numbers"


@dataclass(frozen=True)
class GradientCheck:
    """What a comparison of gradients found; `ok` is None where there was none."""

    ok: bool | None
    text: str


@dataclass(frozen=True)
class _Outcome:
    """What a call gave and wrote, and the gradients of all that learns, by name.

    `outputs` are those, the inputs after the call, and the buffers of the module.
    """

    outputs: dict[str, torch.Tensor]
    gradients: dict[str, torch.Tensor]


def check_gradients(
    own: Any,
    made: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    is_sound: bool = True,
) -> GradientCheck:
    """Compare what `made` gives with the original of `own`, from the same random state.

    Where chance decides and eager draws other numbers, they are compared with those of `own`, if
    that `is_sound`: its backward draws none again.
    """
    if own.target not in TARGETS:
        return GradientCheck(None, _NOT_HERE)
    gone = own.recipe.gone()
    made_up = _MADE_UP.format(", ".join(gone)) if gone else ""
    original = own.original

    def run(function: Callable[..., Any], seed: int = _SEEDS[0]) -> _Outcome:
        return _outcome(function, original, own.module, (args, kwargs), seed)

    try:
        expected, other = run(original), run(original, _SEEDS[1])
    except RuntimeError as error:
        return GradientCheck(None, _FAILED.format(str(error).split("\n")[0]))
    before = run(own)
    by_chance = _worst(expected, other, {})[0] > 0
    who = own.report.request.name
    noise: dict[str, float] = {}
    if by_chance and not is_sound:
        return GradientCheck(None, _NO_REFERENCE)
    if by_chance:
        expected, who = before, f"the program with its own budget ({_BY_CHANCE})"
    else:
        noise = dict(_errors(expected, before))
    if not any(bool(gradient.any()) for gradient in expected.gradients.values()):
        return GradientCheck(None, _NOTHING)
    try:
        actual = run(made)
    except (RuntimeError, WorkbenchError) as error:
        return GradientCheck(False, f"It failed in a call: {str(error).splitlines()[0]}")
    verdict = _verdict(expected, actual, noise, who)
    return replace(verdict, text=f"{verdict.text}{made_up}")


def _verdict(
    expected: _Outcome, actual: _Outcome, noise: Mapping[str, float], who: str
) -> GradientCheck:
    excess, name, error = _worst(expected, actual, noise)
    count = len(expected.gradients)
    if excess > 0:
        return GradientCheck(
            False, f"{name} differs from that of {who} by {error:.2g} of its size, so that the "
            "budget must not be used."
        )  # fmt: skip
    return GradientCheck(
        True,
        f"Its outputs and the gradients of {count} tensor{'s' if count != 1 else ''} are those of "
        f"{who}, within {error:.2g}.",
    )


def _worst(
    expected: _Outcome, actual: _Outcome, noise: Mapping[str, float]
) -> tuple[float, str, float]:
    """How far the worst tensor is above its tolerance, its name, and its error."""
    excesses = [
        (error - max(_NOISE * noise.get(name, 0.0), _tolerance(expected, name)), name, error)
        for name, error in _errors(expected, actual)
    ]
    return max(excesses, default=(0.0, "", 0.0))


def _tolerance(outcome: _Outcome, name: str) -> float:
    """The root of the precision: sums over a batch are made in another order."""
    return sqrt(torch.finfo(_named(outcome)[name].dtype).eps)


def _named(outcome: _Outcome) -> dict[str, torch.Tensor]:
    gradients = {f"the gradient of {name}": t for name, t in outcome.gradients.items()}
    return {**outcome.outputs, **gradients}


def _errors(expected: _Outcome, actual: _Outcome) -> Iterator[tuple[str, float]]:
    """The relative error of each tensor in its norm; of tiny ones in that of the largest."""
    left, right = _named(expected), _named(actual)
    sizes = {name: float(tensor.abs().double().norm()) for name, tensor in left.items()}
    floor = 1e-4 * max((size for size in sizes.values() if size == size), default=0.0)
    for name, tensor in left.items():
        other = right.get(name)
        if other is None or other.shape != tensor.shape:
            yield name, float("inf")
            continue
        is_finite = tensor.isfinite()
        if not torch.equal(is_finite, other.isfinite()):
            yield name, float("inf")
            continue
        apart = torch.where(is_finite, other.to(tensor.dtype) - tensor, 0)
        size = max(float(torch.where(is_finite, tensor, 0).abs().double().norm()), floor)
        error = float(apart.abs().double().norm())
        yield name, error / size if error else 0.0


def _outcome(
    function: Callable[..., Any],
    original: Any,
    module: torch.nn.Module | None,
    call: tuple[tuple[Any, ...], Mapping[str, Any]],
    seed: int,
) -> _Outcome:
    held = find_held_inputs(original, *call)
    with restore_state(module, held=held), torch.enable_grad():
        torch.manual_seed(seed)
        given = copy_all_inputs(*call, held)
        learning = find_learning_tensors(original, module, given)
        output = function(*given[0], **given[1])
        outputs = dict(_tensors(output, Path("output"))) | dict(_tensors(given, Path("input")))
        outputs |= {} if module is None else dict(module.named_buffers())
        by_name = compute_gradients(output, learning)
        gradients = {name: g.clone() for name, g in by_name.items() if g is not None}
        kept = {name: t.detach().clone() for name, t in outputs.items() if _can_differ(t)}
    return _Outcome(kept, gradients)


def _can_differ(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _tensors(value: Any, path: Path) -> Iterator[tuple[str, torch.Tensor]]:
    for name, leaf in leaves(value, path):
        if isinstance(leaf, torch.Tensor):
            yield str(name), leaf
