"""What a tensor is besides its dtype, device and sizes: why compiled code cannot read its memory.

torch's guards read sizes and strides in C++ functions that cannot raise. A nested tensor of strided
layout has neither and raises: the process ends (torch 2.13, "terminate called … NestedTensorImpl
doesn't support strides"). So such a tensor is found before the guards see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp

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
        return "it has no memory yet: run the lazy module once, which gives it its sizes"
    if value.is_nested:
        return (
            "expected a dense tensor, got a nested tensor: pad it with "
            "torch.nested.to_padded_tensor(x, 0.0), or pass its parts"
        )
    if type(value) not in PLAIN_TENSORS:
        return f"expected a plain tensor, got {type(value).__name__}{_cure(value)}"
    if value.layout is not torch.strided:
        return f"expected a dense tensor, got {value.layout}: call .to_dense()"
    if tp.IS_TRANSFORMED.get()(value):
        return "it belongs to a transform of torch.func, where compiled code cannot run"
    if value.is_conj():
        return "its conjugation is not carried out yet: call .resolve_conj()"
    if value.is_neg():
        return "its negation is not carried out yet: call .resolve_neg()"
    if value.is_quantized:
        return "it is quantized: call .dequantize()"
    if value.device.type != "meta" and value.numel() and not _address(value):
        return "it has no memory of its own inside torch: call .clone() outside of what made it so"
    return None


def explain_inference(name: str, *, was_inside: bool) -> str:
    """What is said where one of example and call belongs to inference_mode, and how they meet.

    torch's guards (2.13) compare the dispatch keys of a tensor, which differ inside for a tensor of
    either side: only a call outside, with tensors made there, fits what was compiled there.
    """
    if was_inside:
        return (
            "it was compiled inside inference_mode, and this call or its tensors are not: compile "
            "it under torch.no_grad() in place of inference_mode, and call it there"
        )
    return (
        "it was compiled outside inference_mode, and this call or its tensors are inside: call it "
        "under `with torch.inference_mode(False), torch.no_grad():`, with "
        f"{name}.clone() made there; what the code writes is then in the clone"
    )


def _address(value: torch.Tensor) -> int:
    """Where a tensor lies; 0 for one that torch only stands in for, such as a functional one."""
    try:
        return value.data_ptr()
    except RuntimeError:
        return 0


def _cure(value: torch.Tensor) -> str:
    if isinstance(value, tp.FAKE_TENSOR.get()):
        return ", which has no values: compiled code runs on real tensors"
    return ": call .as_subclass(torch.Tensor), or compile with such an example"


def explain_kinds(leaves: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    """A sentence for each tensor among the leaves (path, value) that has no plain memory."""
    for path, value in leaves:
        problem = explain_kind(value) if isinstance(value, torch.Tensor) else None
        if problem is not None:
            yield f"{path}: {problem}"
