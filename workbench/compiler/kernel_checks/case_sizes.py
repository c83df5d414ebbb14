"""The calls of a kernel that are run: the given one, those of the user, one of other sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.errors import UsageError, WorkbenchError

ONLY_GIVEN = (
    "Only the sizes that were given were run: pass cases=[(args, …)] for others, such as sizes that "
    "are not multiples of the block"
)


@dataclass(frozen=True)
class Case:
    """One call, with what differs from the given one; `is_derived` where nobody asked for it."""

    name: str
    call: KernelCall
    is_derived: bool = False


def list_cases(call: KernelCall, cases: Sequence[Any] | None) -> tuple[list[Case], str]:
    """The calls to run, the given one first, and a sentence about those that are not run.

    Without `cases` one is derived where that is safe; None has the given call alone run. Raises
    `UsageError` for a case that is none.
    """
    given = Case("", call)
    if cases is None:
        return [given], f"{ONLY_GIVEN}."
    if cases:
        return [given, *(_make_case(call, case, n) for n, case in enumerate(cases, 1))], ""
    derived, why_not = _derive(call)
    if derived is None:
        return [given], f"{ONLY_GIVEN} ({why_not})."
    return [given, derived], ""


def _make_case(call: KernelCall, case: Any, number: int) -> Case:
    names = list(call.arguments)
    if isinstance(case, Mapping):
        changed = dict(case)
    elif isinstance(case, tuple | list):
        if len(case) > len(names):
            raise UsageError(
                f"{call.name}: case {number} has {len(case)} arguments, and the kernel takes "
                f"{len(names)} ({', '.join(names)})."
            )
        changed = dict(zip(names, case, strict=False))
    else:
        raise UsageError(
            f"{call.name}: case {number} is a {type(case).__name__}. Give a tuple of arguments, or "
            "a dict of those that differ by name; `grid` may be one of them."
        )
    grid = changed.pop("grid", call.grid)
    given = {**call.arguments, **call.meta, **changed}
    made = KernelCall.of(call.function, (), grid, given)
    return Case(_name_changes(call, made) or f"case {number}", made)


def _name_changes(call: KernelCall, made: KernelCall) -> str:
    """The numbers and sizes that are others, in short."""
    said = []
    for name, value in {**made.arguments, **made.meta}.items():
        old = call.arguments.get(name, call.meta.get(name))
        if isinstance(value, torch.Tensor):
            sizes = getattr(old, "shape", None)
            said += [f"{name} {list(value.shape)}"] if sizes != value.shape else []
        elif isinstance(value, bool | int | float | str) and value != old:
            said.append(f"{name} = {value}")
    return ", ".join(said[:4])


def _derive(call: KernelCall) -> tuple[Case | None, str]:
    """The call with one element less along a size that is a multiple of a block.

    What the sizes of a kernel mean cannot be known: a size is only taken that one argument has,
    that stands for nothing else, and of which the grid follows. Else the reason why none is.
    """
    try:
        meta = call.all_meta(call.configs[0].all_kwargs() if call.configs else {})
    except WorkbenchError:
        return None, "its constants cannot be computed"
    if any(not isinstance(value, torch.Tensor | int | float) for value in call.arguments.values()):
        return None, "what its descriptors mean for other sizes is not known"
    tensors = call.tensors()
    constants = [
        value for name, value in meta.items()
        if name in call.constants and isinstance(value, int) and not isinstance(value, bool)
    ]  # fmt: skip
    blocks = [value for value in constants if value > 1]
    if any(not tensor.is_contiguous() for tensor in tensors.values()):
        return None, "an argument is not contiguous"
    numbers = {
        name: value for name, value in call.arguments.items()
        if isinstance(value, int) and not isinstance(value, bool) and value > 2
    }  # fmt: skip
    why = "no argument is a size that is a multiple of a block"
    for name, size in numbers.items():
        holders = [each for each, tensor in tensors.items() if size in tensor.shape]
        if not holders or not any(size % block == 0 for block in blocks):
            continue
        if size in constants or list(numbers.values()).count(size) > 1:
            why = f"{name} = {size} may stand for something else, too"
        elif any(not t.is_floating_point() for t in tensors.values()):
            why = "its integers may be places in another argument"
        elif any(tensor.ndim > 1 for tensor in tensors.values()):
            why = f"whether {name} is a stride, too, is not known"
        elif len(holders) < len(tensors):
            why = f"not every argument has the size {name} = {size}"
        elif (grid := _follow(call, size, blocks)) is None:
            why = "the grid is a tuple that does not follow from a size"
        else:
            smaller = {
                each: tensor[: size - 1].clone() for each, tensor in tensors.items()
            }  # fmt: skip
            arguments = {**call.arguments, **smaller, name: size - 1}
            made = replace(call, arguments=arguments, grid=grid)
            return Case(f"{name} = {size - 1}", made, is_derived=True), ""
    return None, why


def _follow(
    call: KernelCall, size: int, blocks: Sequence[int]
) -> tuple[int, ...] | Callable[..., Any] | None:
    """The grid for one element less, None where it does not follow."""
    if callable(call.grid):
        return call.grid
    sizes = tuple(call.grid)
    if len([each for each in sizes if each > 1]) > 1:
        return None
    follows = any(max(sizes) == -(-size // block) == -(-(size - 1) // block) for block in blocks)
    return sizes if follows else None
