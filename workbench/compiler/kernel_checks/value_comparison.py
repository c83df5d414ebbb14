"""What a kernel computed beside what a function of the user says it should."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from workbench.compiler.comparison.judgement import (
    Again,
    Dice,
    InDouble,
    Judge,
    LeafPair,
    Tolerance,
    follow,
)
from workbench.compiler.interpreter.watched.watched_call import (
    AccessLog,
    Held,
    Place,
    Watched,
    list_grains,
)
from workbench.compiler.kernel_checks.fault_words import FaultWords
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.errors import UsageError
from workbench.number_text import number_text, plural
from workbench.report.machine_rows import KernelFinding

_SEED = 20
_TOLERANCE = Tolerance(grows=True, is_sharp=False)


class NotCompared(Exception):
    """Why values cannot be compared, in a sentence."""


def compare_values(
    call: KernelCall,
    watched: Watched,
    reference: Callable[..., Any],
    writes: Sequence[str],
    words: FaultWords,
) -> list[KernelFinding]:
    """A finding for each argument of `writes` that is not what the reference gives.

    Values are held to the tolerance of their dtype, which grows with their size; what is outside of
    it is held to the reference in double precision, where that can be computed. Raises
    `NotCompared`.
    """
    expected = run_reference(call, reference, writes)
    runs: dict[Dice | None, InDouble] = {}

    def run_again(dice: Dice | None) -> InDouble:
        if dice not in runs:
            runs[dice] = _run_in_double(call, reference, writes, dice)
        return runs[dice]

    findings = []
    for name in writes:
        held = next(argument for argument in watched.log.arguments if name in argument.names)
        is_written = held.name in watched.values
        actual = read_written(call, watched, name) if is_written else call.tensors()[name].cpu()
        same, actual = expected[name].detach().cpu(), actual.detach()
        if same.numel() != actual.numel():
            raise NotCompared(
                f"the reference returns {list(same.shape)} for {name}, which is "
                f"{list(actual.shape)}"
            )
        same = same.reshape(actual.shape).to(actual.dtype)
        mask = watched.written.get(held.name)
        reached = None  # of a sample: what its programs wrote
        if watched.written and mask is not None:
            reached = torch.as_strided(torch.from_numpy(mask), actual.shape, actual.stride())
            same = torch.where(reached, same, actual)
        judge = Judge(_TOLERANCE, partial(_give, run_again, name, actual, reached))
        (row,) = judge.judge([LeafPair(name, same, actual)])
        if row.verdict == "failed":
            limits = row.rtol, row.atol
            findings.append(_describe(call, name, same, actual, limits, watched.log, words))
    return findings


def run_reference(
    call: KernelCall,
    reference: Callable[..., Any],
    writes: Sequence[str],
    change: Callable[[torch.Tensor], torch.Tensor] = torch.clone,
) -> Mapping[str, torch.Tensor]:
    """What it gives, by the names of `writes`, called with copies of the call's arguments.

    It may return a tensor, several in the order of `writes`, a dict by name, or change its
    arguments in place and return None. Raises `NotCompared`.
    """
    arguments = {
        name: change(base.detach())
        if isinstance(base := getattr(v, "base", v), torch.Tensor)
        else v
        for name, v in call.arguments.items()
    }
    args, named = _bind(call, reference, arguments)
    try:
        result = reference(*args, **named)
    except Exception as error:  # it is the user's
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise NotCompared(f"the reference raised {type(error).__name__}: {reason}") from error
    if result is None:
        result = {name: arguments[name] for name in writes}
    if not isinstance(result, Mapping | tuple | list):
        result = (result,)
    by_name = result if isinstance(result, Mapping) else dict(zip(writes, result, strict=False))
    lacking = [name for name in writes if not isinstance(by_name.get(name), torch.Tensor)]
    if not writes:
        raise NotCompared("the kernel wrote nothing")
    if lacking or (not isinstance(result, Mapping) and len(result) != len(writes)):
        raise NotCompared(
            f"the reference must return a tensor for each of {', '.join(writes)}; name the "
            "kernel's outputs with writes=(…)"
        )
    return by_name


def refuse_constant(call: KernelCall, reference: Callable[..., Any], writes: Sequence[str]) -> None:
    """Raise `NotCompared` where a reference does not depend on what the call holds.

    One that computes with tensors of its own says nothing of a call with other sizes.
    """
    results = run_reference(call, reference, writes)
    other = run_reference(call, reference, writes, _draw_like)
    for name in writes:
        one, two = results[name].detach(), other[name].detach()
        if one.shape == two.shape and torch.allclose(one, two, 0.0, 0.0, equal_nan=True):
            raise NotCompared(f"the reference returns the same {name} for different inputs")


def _draw_like(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.is_floating_point():
        return tensor.clone()
    dice = torch.Generator().manual_seed(_SEED)
    return torch.rand(tensor.shape, generator=dice).to(tensor)


def _bind(
    call: KernelCall, reference: Callable[..., Any], arguments: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """All arguments of the call, or those that the reference takes by name."""
    try:
        signature = inspect.signature(reference)
    except ValueError:  # that of a function in C is not known
        return tuple(arguments.values()), {}
    try:
        bound = signature.bind(*arguments.values())
    except TypeError:
        values = {**call.all_meta(), **arguments}
        chosen = {name: values[name] for name in signature.parameters if name in values}
        try:
            bound = signature.bind(**chosen)
        except TypeError as error:
            raise UsageError(
                f"{call.name}: the reference takes "
                f"{', '.join(signature.parameters) or 'nothing'}. It is called with "
                f"{', '.join(arguments)}, or only with those that its parameters name."
            ) from error
    return bound.args, bound.kwargs


def _run_in_double(
    call: KernelCall, reference: Callable[..., Any], writes: Sequence[str], dice: Dice | None = None
) -> InDouble:
    """The reference beside itself in double precision, its casts to other dtypes too.

    A reference that leaves torch (numpy) is called with wide arguments.
    """
    try:
        followed = follow(lambda: run_reference(call, reference, writes))(dice)
        if not followed.foreign:
            return followed
        widened = run_reference(call, reference, writes, _widen) if dice is None else {}
    except NotCompared:
        return InDouble()
    better = {
        name: value
        for name, value in widened.items()
        if name in followed.foreign and value.dtype is torch.float64
    }
    return replace(followed, exact={**followed.exact, **better})


def _give(
    run_again: Again,
    name: str,
    actual: torch.Tensor,
    mask: torch.Tensor | None,
    dice: Dice | None,
) -> InDouble:
    """What a run gives for one argument, as that lies; of a sample, where the mask is set."""
    in_double = run_again(dice)
    value = in_double.exact.get(name)
    if value is None or value.numel() != actual.numel():
        return InDouble()
    value = value.detach().reshape(actual.shape)
    value = value if actual.is_floating_point() else value.to(actual.dtype)
    value = value if mask is None else torch.where(mask, value, actual.to(value.dtype))
    return InDouble({name: value})


def _widen(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor.clone()


def read_written(call: KernelCall, watched: Watched, name: str) -> torch.Tensor:
    """An argument as the kernel left it."""
    tensors = call.tensors()
    held = next(argument for argument in watched.log.arguments if name in argument.names)
    tensor = tensors[name]
    content = torch.frombuffer(bytearray(watched.values[held.name]), dtype=torch.uint8)
    content = content[find_start(call, held, name) :]
    size = tensor.element_size()
    whole = content[: len(content) // size * size].view(tensor.dtype)
    return torch.as_strided(whole, tensor.shape, tensor.stride())


def find_start(call: KernelCall, held: Held, name: str) -> int:
    """Where an argument begins in memory that it shares with others, in bytes."""
    tensors = call.tensors()
    return tensors[name].data_ptr() - min(tensors[other].data_ptr() for other in held.names)


def _describe(
    call: KernelCall,
    name: str,
    expected: torch.Tensor,
    actual: torch.Tensor,
    limits: tuple[float, float],
    log: AccessLog,
    words: FaultWords,
) -> KernelFinding:
    """The first element that differs, by how much, and the line that wrote it last."""
    wide = (expected.double(), actual.double())
    off = (wide[0] - wide[1]).abs()
    wrong = ~(off <= limits[1] + limits[0] * wide[0].abs()) & ~(wide[0].isnan() & wide[1].isnan())
    wrong &= wide[0] != wide[1]
    index = tuple(map(int, wrong.nonzero()[0])) if wrong.any() else ()
    held = next(argument for argument in log.arguments if name in argument.names)
    start = find_start(call, held, name) // actual.element_size()
    step = sum(n * stride for n, stride in zip(index, actual.stride(), strict=False))
    place, programs, first = _find_writer(log, name, start, step, wrong, actual)
    count = int(wrong.sum())
    values = [_name_value(tensor[index]) for tensor in (expected, actual)]
    who = f"line {place.line} wrote {values[1]}"
    if first < 0:
        who = f"it holds {values[1]}, which no program wrote"
    verb = "differs" if count == 1 else "differ"
    text = (
        f"Differs: {words.name_element(held, index, name)} should be {values[0]} ({who}), and "
        f"{number_text(count, 'whole')} of {plural(actual.numel(), 'element')} {verb}"
    )
    return words.make_row(
        "differs",
        text,
        place,
        argument=name,
        index=index,
        shape=tuple(actual.shape),
        program=words.cut_program(first),
        count=count,
        programs=programs,
    )


def _name_value(value: torch.Tensor) -> str:
    """A number as its type has it: all digits of an integer, the significant ones of a float."""
    if value.dtype.is_floating_point:
        return f"{float(value):.7g}"
    return str(value.item())


def _find_writer(
    log: AccessLog, name: str, start: int, element: int, wrong: torch.Tensor, actual: torch.Tensor
) -> tuple[Place, tuple[int, ...], int]:
    """The line that wrote an element last, the programs that wrote wrong ones, and the first."""
    size = actual.element_size()
    last = sum((n - 1) * step for n, step in zip(actual.shape, actual.stride(), strict=True))
    flat = np.zeros(last + 1, dtype=bool)
    view = torch.as_strided(torch.from_numpy(flat), actual.shape, actual.stride())
    for axis, step in enumerate(actual.stride()):
        if not step:  # torch writes to no element that has several places
            view, wrong = view.narrow(axis, 0, 1), wrong.any(axis, keepdim=True)
    view.copy_(wrong)
    place, latest, programs, first = None, Place("", 0), set[int](), -1
    for access in log.select(name):
        if access.kind == "read" or access.size < size:
            continue
        latest = log.places[access.place]
        at = list_grains(access, size) - start
        inside = (at >= 0) & (at < len(flat))
        who = np.repeat(access.list_programs(), access.size // size)
        if len(programs) < 256:
            programs.update(np.unique(who[inside][flat[at[inside]]])[:256].tolist())
        hit = np.flatnonzero(at == element)
        if len(hit):
            place, first = latest, int(who[hit[-1]])
    return place or latest, tuple(sorted(programs)[:256]), first


def choose_writes(
    call: KernelCall, watched: Watched, writes: str | Sequence[str] | None
) -> tuple[str, ...]:
    """The arguments that are compared: those named, else those that the kernel wrote to.

    Raises `UsageError` for a name that is no tensor of the call.
    """
    if writes is None:
        return tuple(name for name in call.tensors() if name in watched.values)
    chosen = (writes,) if isinstance(writes, str) else tuple(writes)
    refuse_unknown(call, chosen, "writes")
    return chosen


def find_unnamed(
    call: KernelCall,
    watched: Watched,
    writes: str | Sequence[str] | None,
    fresh: str | Sequence[str],
    words: FaultWords,
) -> tuple[list[KernelFinding], list[str]]:
    """What the kernel changes and `writes` does not name: inputs as findings, the rest in words.

    An input is what is read before it is written; the rest may be room to work in, as what is
    `fresh` is. What is as before afterwards, such as a lock, is unchanged.
    """
    if writes is None:
        return [], []
    named = {*((writes,) if isinstance(writes, str) else writes)}
    named |= {*((fresh,) if isinstance(fresh, str) else fresh)}
    findings, lost, tensors = [], [], call.tensors()
    for held in watched.log.arguments:
        if held.name not in watched.values or named & {*held.names}:
            continue
        name = held.name
        before, after = tensors[name].detach().cpu(), read_written(call, watched, name)
        wrong = (before != after) & ~((before != before) & (after != after))
        if not wrong.any():
            continue
        stores = any(True for _ in watched.log.select(name, kind="write"))
        if not stores or not {*held.names} & {*watched.ask_fresh}:
            lost.append(
                f"its writes to {name}: name it in writes=, or in fresh= if it is scratch memory"
            )
            continue
        index = tuple(map(int, wrong.nonzero()[0]))
        start = find_start(call, held, name) // after.element_size()
        step = sum(n * stride for n, stride in zip(index, after.stride(), strict=False))
        place, programs, first = _find_writer(watched.log, name, start, step, wrong, after)
        element = words.name_element(held, index, name)
        text = (
            f"Unnamed write: line {place.line} writes {_name_value(after[index])} to {element}, "
            f"which held {_name_value(before[index])}, but writes= does not name {name}"
        )
        findings.append(
            words.make_row(
                "unnamed write",
                text,
                place,
                argument=name,
                index=index,
                shape=tuple(after.shape),
                program=words.cut_program(first),
                count=int(wrong.sum()),
                programs=programs,
            )
        )
    return findings, lost


def refuse_unknown(call: KernelCall, names: Sequence[str], what: str) -> None:
    """Raise `UsageError` for a name that is no tensor among the arguments."""
    tensors = call.tensors()
    for name in names:
        if name not in tensors:
            raise UsageError(
                f"{call.name}: {what} names {name}, but its tensors are {', '.join(tensors)}."
            )
