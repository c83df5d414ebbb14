"""The calls of a kernel that are run: the given one, those of the user, one of other sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.analysis.kernel_checks.kernel_check import UNTRIED
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.errors import UsageError, WorkbenchError
from workbench.number_text import join_words, plural

ONLY_GIVEN = "Only the given sizes were run; cases=[(args, …)] runs others, too"
_MOST = 4  # sizes that are named


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
    if cases:
        made = [given, *(_make_case(call, case, n) for n, case in enumerate(cases, 1))]
        return made, say_untried(made)
    derived, why_not = (None, "") if cases is None else _derive(call)
    made = [given] if derived is None else [given, derived]
    said = f"{ONLY_GIVEN} ({why_not})" if why_not else ONLY_GIVEN
    return made, " ".join(filter(None, (f"{said}." * (derived is None), say_untried(made))))


def say_untried(cases: Sequence[Case]) -> str:
    """Along which sizes no case has a block that is not whole; "" where each was tried."""
    whole = [_list_whole(case.call) for case in cases]
    untried = [name for place, name in whole[0].items() if all(place in each for each in whole)]
    if not untried:
        return ""
    names = list(dict.fromkeys(untried))
    shown = join_words(names) if len(names) <= _MOST else f"{join_words(names[:_MOST])}, …"
    return f"{UNTRIED} {shown}: these are multiples of a block in each call."


def _list_whole(call: KernelCall) -> dict[tuple[str, int], str]:
    """The axes of arguments that are multiples of a block, with what they are called."""
    try:
        meta = call.all_meta(call.configs[0].all_kwargs() if call.configs else {})
    except WorkbenchError:
        return {}
    numbers = {n: v for n, v in {**call.arguments, **meta}.items() if type(v) is int}
    blocks = [v for n, v in numbers.items() if n in call.constants and v > 1]
    named = {v: n for n, v in reversed(numbers.items()) if "stride" not in n.lower()}
    return {
        (name, axis): f"{named[size]} = {size}" if size in named else f"{name}.shape[{axis}]"
        for name, tensor in call.tensors().items()
        for axis, size in enumerate(tensor.shape)
        if any(size and size % block == 0 for block in blocks)
    }


def _make_case(call: KernelCall, case: Any, number: int) -> Case:
    names = list(call.arguments)
    if isinstance(case, Mapping):
        changed = dict(case)
    elif isinstance(case, tuple | list):
        if len(case) > len(names):
            raise UsageError(
                f"{call.name}: case {number} has {plural(len(case), 'argument')}, and the kernel "
                f"takes {len(names)} ({', '.join(names)})."
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

    What the sizes of a kernel mean cannot be known: a size is only taken that all arguments have,
    that stands for nothing else, and of which the grid follows. Else the reason why none is, empty
    where no size is a multiple of a block.
    """
    if call.generated:
        return None, "sizes of the program stand in its text"
    try:
        meta = call.all_meta(call.configs[0].all_kwargs() if call.configs else {})
    except WorkbenchError:
        return None, "its constants cannot be computed"
    constants = [
        value for name, value in meta.items() if name in call.constants and type(value) is int
    ]
    blocks = [value for value in constants if value > 1]
    tensors = call.tensors()
    numbers = {n: v for n, v in call.arguments.items() if type(v) is int and v > 2}
    why = ""
    for name, size in numbers.items():
        is_size = any(size in tensor.shape for tensor in tensors.values())
        if not is_size or not any(size % block == 0 for block in blocks):
            continue
        grid = _follow(call, size, blocks)
        why = _refuse(call, name, size, [*constants, *numbers.values()])
        if not why and grid is None:
            why = "the grid is a tuple that does not follow from a size"
        if not why and grid is not None:
            smaller = {each: tensor[: size - 1].clone() for each, tensor in tensors.items()}
            arguments = {**call.arguments, **smaller, name: size - 1}
            made = replace(call, arguments=arguments, grid=grid)
            return Case(f"{name} = {size - 1}", made, is_derived=True), ""
    return None, why


def _refuse(call: KernelCall, name: str, size: int, numbers: Sequence[int]) -> str:
    """Why one element less might not be a call that its author had in mind; empty for one."""
    tensors = call.tensors().values()
    known = torch.Tensor | int | float | None
    if any(not isinstance(value, known) for value in call.arguments.values()):
        return "what its descriptors and tuples mean for other sizes is not known"
    if any(not tensor.is_contiguous() for tensor in tensors):
        return "an argument is not contiguous"
    if numbers.count(size) > 1:
        return f"{name} = {size} may stand for something else, too"
    if any(not tensor.is_floating_point() for tensor in tensors):
        return "its integers may be places in another argument"
    if any(tensor.ndim > 1 for tensor in tensors):
        return f"whether {name} is a stride, too, is not known"
    if any(size not in tensor.shape for tensor in tensors):
        return f"not every argument has the size {name} = {size}"
    return ""


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
