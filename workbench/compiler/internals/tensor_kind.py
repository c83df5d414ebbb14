"""What a tensor is besides its dtype, device and sizes: why compiled code cannot read its memory.

torch's guards read sizes and strides in C++ functions that cannot raise. A nested tensor of strided
layout has neither and raises: the process ends (torch 2.13, "terminate called … NestedTensorImpl
doesn't support strides"). So such a tensor is found before the guards see it.

A tensor subclass is taken apart into its inner tensors, as those of torchao for quantised weights:
see "tensor subclasses" in torch's documentation of `__tensor_flatten__`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_like import PLAIN, TensorLike
from workbench.errors import UsageError

PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
NESTED = "nested tensor"
NO_MEMORY_YET = "uninitialized parameter"


def explain_no_sizes(value: Any) -> str | None:
    """What a tensor is whose sizes cannot be read, or None."""
    if not isinstance(value, torch.Tensor):
        return None
    if torch.nn.parameter.is_lazy(value):
        return NO_MEMORY_YET
    return NESTED if value.is_nested else None


def explain_kind(value: torch.Tensor) -> str | None:
    """Why a tensor has no plain memory that compiled code could read, or None."""
    if torch.nn.parameter.is_lazy(value):
        return "it has no memory yet: run the lazy module once, which sets its sizes"
    if value.is_nested:
        return (
            "expected a dense tensor, got a nested tensor: pad it with "
            "torch.nested.to_padded_tensor(x, 0.0), or pass its component tensors"
        )
    if type(value) not in PLAIN_TENSORS:
        return f"expected a plain tensor, got {type(value).__name__}{_cure(value)}"
    if value.layout is not torch.strided:
        return f"expected a dense tensor, got {value.layout}: call .to_dense()"
    if tp.IS_TRANSFORMED.get()(value):
        return "it belongs to a torch.func transform, where compiled code cannot run"
    if value.is_conj():
        return "its conjugation is lazy: call .resolve_conj()"
    if value.is_neg():
        return "its negation is lazy: call .resolve_neg()"
    if value.is_quantized:
        return "it is quantized: call .dequantize()"
    if value.device.type != "meta" and value.numel() and not _address(value):
        return "it has no storage inside torch: call .clone() outside the code that made it so"
    return None


def explain_inference(name: str, *, was_inside: bool) -> str:
    """What is said where one of example and call belongs to inference_mode, and how they meet.

    torch's guards (2.13) compare the dispatch keys of a tensor, which differ inside for a tensor of
    either side: only a call outside, with tensors made there, fits what was compiled there.
    """
    if was_inside:
        return (
            "it was compiled inside inference_mode, but this call runs outside it or passes "
            "ordinary tensors: compile and call it under torch.no_grad() instead"
        )
    return (
        "it was compiled outside inference_mode, but this call runs inside it or passes inference "
        "tensors. Call it under `with torch.inference_mode(False), torch.no_grad():` with a "
        f"{name}.clone() made there; writes then go to the clone"
    )


def _address(value: torch.Tensor) -> int:
    """Where a tensor lies; 0 for one that torch only stands in for, such as a functional one."""
    try:
        return value.data_ptr()
    except RuntimeError:
        return 0


def _cure(value: torch.Tensor) -> str:
    if isinstance(value, tp.FAKE_TENSOR.get()):
        return ", which has no values: compiled code needs real tensors"
    return ": call .as_subclass(torch.Tensor), or compile with an example of this type"


def explain_kinds(leaves: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    """A sentence for each tensor among the leaves (path, value) that has no plain memory."""
    for path, value in leaves:
        problem = explain_kind(value) if isinstance(value, torch.Tensor) else None
        if problem is not None:
            yield f"{path}: {problem}"


def is_flattenable(value: torch.Tensor) -> bool:
    """Whether a tensor is of a subclass that says what it is made of."""
    kind = type(value)
    return kind not in PLAIN and all(
        hasattr(kind, name) for name in ("__tensor_flatten__", "__tensor_unflatten__")
    )


def find_dense_parts(value: Any) -> Iterator[torch.Tensor]:
    """The tensors that a tensor is made of: its inner ones, or itself where it has none."""
    if not is_flattenable(value):
        yield value
        return
    for name in value.__tensor_flatten__()[0]:
        # that of a DTensor names its mesh too, from torch 2.13 on
        if isinstance(part := getattr(value, name), torch.Tensor):
            yield from find_dense_parts(part)


@dataclass(frozen=True)
class Flattened:
    """A tensor subclass: its class, what is in it by name, the rest of it, its outer layout."""

    kind: type
    inner: Mapping[str, Any]
    context: Any
    outer: TensorLike

    @classmethod
    def of(cls, value: Any) -> Flattened:
        """A tensor of a subclass, taken apart; its inner tensors are those of the value."""
        names, context = value.__tensor_flatten__()
        inner = {name: getattr(value, name) for name in names}
        return cls(type(value), inner, context, TensorLike.of(value))

    def rebuilt(self, device: str | None = None) -> torch.Tensor:
        """A tensor of the subclass from its inner tensors, which are on `device` if it is given.

        Raises `UsageError` where the subclass stays on another device.
        """
        outer = self.outer
        context = self.context if device is None else _moved(self.context, device)
        kind: Any = self.kind
        value = kind.__tensor_unflatten__(dict(self.inner), context, outer.shape, outer.stride)
        if type(value) is not kind or (device is not None and value.device.type != device):
            raise UsageError(
                f"A {kind.__name__} cannot be moved to {device}, because its inner tensors cannot "
                "be rebuilt there. Replace it by a plain (dequantized) tensor, or compile with "
                "target='host'."
            )
        return outer.dressed(value)


def mapped(value: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A tensor of the same class, made of what `change` gives for each of its dense parts."""
    if not is_flattenable(value):
        return change(value)
    flattened = Flattened.of(value)
    inner = {
        name: mapped(part, change) if isinstance(part, torch.Tensor) else part
        for name, part in flattened.inner.items()
    }
    return replace(flattened, inner=inner).rebuilt()


def _moved(context: Any, device: str) -> Any:
    """The same context with every device in it replaced."""
    if isinstance(context, torch.device):
        return torch.device(device)
    if type(context) in (tuple, list):
        return type(context)(_moved(part, device) for part in context)
    if type(context) is dict:
        return {key: _moved(part, device) for key, part in context.items()}
    return context
