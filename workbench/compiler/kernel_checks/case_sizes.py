"""The calls of a kernel that are run: the given one, those of the user, one of other sizes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workbench.analysis.kernel_checks.kernel_check import UNTRIED
from workbench.compiler.kernel_checks.derived_sizes import derive_call, find_blocks
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


def list_cases(
    call: KernelCall, cases: Sequence[Any] | None, written: Collection[str] = ()
) -> tuple[list[Case], str]:
    """The calls to run, the given one first, and why no other one is made of it.

    Without `cases` one is derived where that is safe; None has the given call alone run. `written`
    are arguments that the kernel only writes to. Raises `UsageError` for a case that is none.
    """
    given = Case("", call)
    if cases:
        made = [_make_case(call, case, number) for number, case in enumerate(cases, 1)]
        return [given, *made], ""
    derived, why_not = (None, "") if cases is None else derive_call(call, written)
    if derived is not None:
        return [given, Case(*derived, is_derived=True)], ""
    return [given], f"{ONLY_GIVEN} ({why_not})." if why_not else f"{ONLY_GIVEN}."


def say_untried(cases: Sequence[Case]) -> str:
    """Along which sizes no case has a block that is not whole; "" where each was tried."""
    if not cases:
        return ""
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
    constants = {n: v for n, v in numbers.items() if n in call.constants}
    blocks = find_blocks(constants)
    fixed = {v for n, v in constants.items() if n not in blocks}  # compiled in, as a head's size
    fixed -= {v for n, v in numbers.items() if n in call.arguments}
    named = {v: n for n, v in reversed(numbers.items()) if "stride" not in n.lower()}
    return {
        (name, axis): f"{named[size]} = {size}" if size in named else f"{name}.shape[{axis}]"
        for name, tensor in call.tensors().items()
        for axis, size in enumerate(tensor.shape)
        if size not in fixed and any(size and size % block == 0 for block in blocks.values())
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
