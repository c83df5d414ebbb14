"""Whether a program that was compiled with another budget gives what the original gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler.comparison.effects import Effects
from workbench.compiler.comparison.output_comparison import Comparison, find_largest_error
from workbench.compiler.comparison.trial import DRAWN
from workbench.device_kinds import TARGETS
from workbench.errors import WorkbenchError
from workbench.handles.compared_call import try_call
from workbench.number_text import join_words, number_text

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


def check_gradients(
    own: Any,
    made: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    is_sound: bool = True,
) -> GradientCheck:
    """Compare every effect of `made` with the original of `own`, as `verify` does.

    Where chance decides and eager draws other numbers, they are compared with those of `own`, if
    that `is_sound`: its backward draws none again.
    """
    if own.target not in TARGETS:
        return GradientCheck(None, _NOT_HERE)
    gone = own.recipe.gone()
    made_up = _MADE_UP.format(", ".join(gone)) if gone else ""
    inputs = args, dict(kwargs)
    with torch.enable_grad():
        both = try_call(own.original, own, inputs, made=made)
        try:
            expected = both.run_original()
        except RuntimeError as error:
            return GradientCheck(None, _FAILED.format(str(error).split("\n")[0]))
        if not any(bool(gradient.any()) for gradient in _gradients(expected)):
            return GradientCheck(None, _NOTHING)
        try:
            rows, who = both.judge(), own.report.request.name
            if drawn := {row.leaf for row in rows if row.reason == DRAWN}:
                if not is_sound:
                    return GradientCheck(None, _NO_REFERENCE)
                alike = try_call(own, own, inputs, made=made).judge()
                rows = [row for row in rows if row.leaf not in drawn]
                rows += [row for row in alike if row.leaf in drawn]
                who = f"the program with its own budget ({_BY_CHANCE})"
        except (RuntimeError, WorkbenchError) as error:
            return GradientCheck(False, f"It failed in a call: {str(error).splitlines()[0]}")
    verdict = _verdict(rows, len(_gradients(expected)), who)
    return replace(verdict, text=f"{verdict.text}{made_up}")


def _gradients(effects: Effects) -> list[torch.Tensor]:
    return [gradient for gradient in (effects.gradients or {}).values() if gradient is not None]


def _verdict(rows: Sequence[Comparison], count: int, who: str) -> GradientCheck:
    if wrong := [row for row in rows if row.verdict == "failed"]:
        row = wrong[0]
        how = row.reason or f"by up to {number_text(row.max_abs_error, 'difference')}"
        return GradientCheck(
            False, f"{row.leaf} differs from that of {who} ({how}), so that the budget must not be "
            "used."
        )  # fmt: skip
    if lost := [row for row in rows if row.verdict == "not checked"]:
        names = join_words([row.leaf for row in lost])
        return GradientCheck(None, f"Not compared with {who}: {names} ({lost[0].reason}).")
    error = find_largest_error(rows) or 0.0
    return GradientCheck(
        True,
        f"Its outputs and the gradients of {count} tensor{'s' if count != 1 else ''} are those of "
        f"{who}, within {error:.2g}.",
    )
