"""Torch's message about an operator that refuses its inputs, in plain words with the shapes."""

from __future__ import annotations

import re

_RAISED = re.compile(
    r"with fake tensors: call_\w+ (.+?)\(\*\((.*)\), \*\*\{.*\}\): got (\w+)\((['\"])(.*?)\4\)",
    re.DOTALL,
)
_OPERATOR = re.compile(r"<(?:built-in )?(?:function|method) ([\w.]+)|([\w.]+)")
_TENSOR = re.compile(r"FakeTensor\(.*?size=\(([^)]*)\)(?:, dtype=torch\.(\w+))?")
_TENSORS = 4  # that are written out
_NO_KERNEL = re.compile(r"could not find kernel for ([\w.:]+) at dispatch key")


def explain_refused_inputs(message: str) -> str | None:
    """What an operator refuses and why, in one sentence; None for any other message.

    `linear does not take tensors of shapes [2, 7] and [4, 8]: a and b must have same …`.
    """
    found = _RAISED.search(message)
    if found is None or _NO_KERNEL.search(message):
        return None
    operator, given, kind, _, reason = found.groups()
    names = _OPERATOR.match(operator)
    shown = [
        f"[{size.rstrip(',')}]{f' of {dtype}' if dtype else ''}"
        for size, dtype in _TENSOR.findall(given)
    ]
    cause = reason.strip().rstrip(".")
    cause = cause if kind == "RuntimeError" else f"{kind}: {cause}"
    return f"{names[1] or names[2] if names else operator} does not take {_tensors(shown)}: {cause}"


def find_missing_kernel(message: str) -> str | None:
    """The operator of which this build of torch knows no result, what to do; else None."""
    found = _NO_KERNEL.search(message)
    if found is None:
        return None
    return (
        f"This build of torch has neither a kernel of {found[1]} nor a description of what it "
        "returns, which a virtual GPU needs. Compile for the host, or on a machine with "
        "the GPU, or write it with other operators."
    )


def _tensors(shown: list[str]) -> str:
    if not shown:
        return "what it is given"
    if len(shown) == 1:
        return f"a tensor of shape {shown[0]}"
    if len(shown) > _TENSORS:
        shown = [*shown[:_TENSORS], f"{len(shown) - _TENSORS} more"]
    return f"tensors of shapes {', '.join(shown[:-1])} and {shown[-1]}"
