"""`torch.autograd.Function` in a captured graph: its forward, with the backward that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

AUTOGRAD_FUNCTION = "autograd_function_apply"
_BEFORE_2_13 = "args_tensor_mask"


def apply_function(
    forward: Callable[..., Any], backward: Callable[..., Any], args: tuple[Any, ...],
    options: Mapping[str, Any],
) -> Any:  # fmt: skip
    """What the forward gives; gradients through it are those of the backward."""
    context = (None,) if _BEFORE_2_13 in options else ()
    learned = args[: sum(options[_BEFORE_2_13])] if context else args

    class Applied(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *given: Any) -> Any:
            output, ctx.kept = forward(*context, *given, *args[len(given) :])
            idle = set(options.get("non_differentiable_idx", ()))
            outputs = output if isinstance(output, tuple | list) else (output,)
            ctx.mark_non_differentiable(*(o for n, o in enumerate(outputs) if n in idle))
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward(*context, *grads, *ctx.kept)

    apply: Callable[..., Any] = Applied.apply
    return apply(*learned)
