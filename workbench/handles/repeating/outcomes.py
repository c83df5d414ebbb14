"""All that one call gives and changes, and whether two calls gave and changed the same."""

from __future__ import annotations

import contextlib
import copy
import functools
import random
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import (
    STRIDES,
    Forms,
    copy_all_inputs,
    find_learning_tensors,
    leaves_of,
    restore_state,
)
from workbench.compiler.call_state.random_states import moved, read_random_states
from workbench.compiler.call_state.reachable import Snapshot, list_tensors, walk_reachable
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.cold_start.compile_cache import start_fast
from workbench.compiler.comparison.judgement import GRADIENT, Judge, Tolerance, follow, pair_leaves
from workbench.compiler.comparison.output_comparison import Comparison
from workbench.compiler.comparison.trial import (
    compute_gradients,
)
from workbench.compiler.internals.dynamo_state import preserved
from workbench.compiler.internals.patches import hold_torch_warnings
from workbench.compiler.measuring.silence import silent
from workbench.compiler.request.callables import resolve

_NUMBERS = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
_PRINTED = "what is printed"
_SHARED = "what shares memory"
_STATE = "the value of "
_AS_BEFORE = "what it was before"
Leaves = list[tuple[str, Any]]


@dataclass(frozen=True)
class Inputs:
    """The arguments of a call, copied for every run."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def private(target: Any) -> Any:
    """Copy a module, so that a call cannot change the user's module."""
    if isinstance(target, functools.partial):
        return functools.partial(private(target.func), *target.args, **target.keywords)
    if isinstance(target, types.MethodType) and isinstance(target.__self__, torch.nn.Module):
        return types.MethodType(target.__func__, copy.deepcopy(target.__self__))
    return copy.deepcopy(target) if isinstance(target, torch.nn.Module) else target


def outcome(target: Any, inputs: Inputs, call: Callable[..., Any] | None = None) -> Leaves:
    """Run a call and return its results by name: outputs, gradients, printed text and effects.

    Effects are the inputs and buffers after the call. The call runs silently. Random state, buffers
    and other values that the callable reads are restored. If `call` is given, it runs instead of
    the target, and printed text is not captured.
    """
    args, kwargs = copy_all_inputs(inputs.args, inputs.kwargs)
    with restore_unchanged(target) as state:
        at_first = read_random_states()
        with silent() as printed, _warned(call is None) as warned:
            result = (target if call is None else call)(*args, **kwargs)
        drawn = moved(at_first, read_random_states())
        effects = effects_of(target, result, (args, kwargs))
        effects += [(name, drawn.get(name)) for name in at_first]
        effects += _collect_written(state)
    if call is not None:
        return effects
    warnings_text = "".join(
        f"{warning.category.__name__}: {warning.message}\n" for warning in warned
    )
    # a copy of an object stands elsewhere
    return [*effects, (_PRINTED, _ADDRESS.sub("0x…", f"{printed.getvalue()}{warnings_text}"))]


@contextlib.contextmanager
def _warned(is_asked: bool) -> Iterator[list[warnings.WarningMessage]]:
    """What is warned of, without the place, which a change moves; nothing where it is not asked.

    A line warns once in a process; `catch_warnings` has every line begin anew, so that a second
    run warns, too. What is ignored, and what is raised as an error, stays so.
    """
    if not is_asked:
        yield []
        return
    with warnings.catch_warnings(record=True) as caught:
        yield caught


def effects_of(
    target: Any, result: Any, inputs: tuple[Any, Any], objects: Iterable[Any] = ()
) -> Leaves:
    """Return a call's outputs and its effects on inputs, buffers, gradients and shared memory.

    `objects` are further modules whose buffers belong to the callable.
    """
    effects: Leaves = list(leaves_of(result))
    input_leaves = list(leaves_of(inputs))
    shared = _shared(effects, input_leaves)
    effects = [(name, _held(leaf)) for name, leaf in effects]
    effects += [(name.replace("out", "input", 1), _held(leaf)) for name, leaf in input_leaves]
    effects += _buffers(target)
    for number, module in enumerate(objects):
        if isinstance(module, torch.nn.Module):
            effects += [(f"module {number} {name}", leaf) for name, leaf in _buffers(module)]
    effects += _gradients(target, result, inputs)
    strides = Forms.of(result, inputs, {}).tensors
    effects += [(f"{STRIDES}{name}", str(list(form.strides))) for name, form in strides.items()]
    return [*effects, (_SHARED, shared)]


def run_compiled_outcome(target: Any, inputs: Inputs, *, fullgraph: bool) -> Leaves:
    """Run a callable under torch.compile with Inductor and return its results, as `outcome` does.

    Random numbers match eager's. Dynamo's existing compiled code is kept. Errors from compiling or
    running propagate.
    """
    options: dict[str, Any] = {"fallback_random": True}
    with preserved(), start_fast(), hold_torch_warnings(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"torch(\.|$)")
        compiled = torch.compile(target, fullgraph=fullgraph, options=options)
        return outcome(target, inputs, compiled)


def judge_by_original(target: Any, inputs: Inputs) -> Judge:
    """Return a judge that runs eager in double precision once `difference` needs it."""
    return Judge(again=follow(lambda: dict(outcome(target, inputs))))


def difference(
    expected: Leaves,
    again: Leaves,
    actual: Leaves,
    rounded: Leaves | None = None,
    *,
    judge: Judge | None = None,
) -> tuple[bool | None, str]:
    """Return whether the results match the expected ones, and a sentence on the comparison.

    A leaf that differs between two eager runs, `expected` and `again`, is not checked. If printed
    text differs between them, its numbers are ignored. `rounded` holds the results of compiling the
    unchanged code. If these differ from eager by as much, the difference is not attributed to the
    change. `judge` decides which differences are due to rounding in eager. Without it, only the
    dtype's tolerance applies.
    """
    rows = _complete([expected, again, actual], 2)
    notes = ""
    texts = [dict(side).get(_PRINTED) for side in rows]
    if None not in texts and texts[0] != texts[1]:
        rows = [[(name, _words(name, leaf)) for name, leaf in side] for side in rows]
        notes = " Numbers in the printed text vary between runs and were left out."
    expected, again, actual = rows
    present = {name for name, _ in actual}
    expected, again = (
        [row for row in side if row[0] in present or row[0] != _PRINTED]
        for side in (expected, again)
    )
    compared = (judge or _judge_plainly()).judge([*pair_leaves("out", expected, actual)])
    moving = {row.leaf for row in _compare(expected, again) if not row.ok}
    limits = {(row.rtol, row.atol) for row in compared if row.verdict != "not checked"}
    tolerance = "rtol {:.2g}, atol {:.2g}".format(*max(limits, default=(0.0, 0.0)))
    own = {} if rounded is None else _errors(expected, rounded)
    allowed = {row.leaf for row in compared if row.max_abs_error <= 2 * own.get(row.leaf, -1.0)}
    laid, usual = dict(actual), dict(rounded or [])
    layouts = {name for name in laid if STRIDES in name}  # a session puts the call before
    allowed |= {name for name in layouts if usual.get(name) == laid[name]}
    excused = {*moving, *allowed, *layouts}  # torch may choose strides: never wrong, never right
    wrong = [row for row in compared if row.verdict == "failed" and row.leaf not in excused]
    if wrong:
        why = f": {wrong[0].reason}" if wrong[0].reason else ""
        return False, f"Differs in {', '.join(row.leaf for row in wrong)} ({tolerance}){why}."
    unknown = [row.leaf for row in compared if not row.ok and row.leaf not in allowed - moving]
    if unknown:
        why = " (two eager runs differ)" if moving.issuperset(unknown) else ""
        names = ", ".join(unknown)
        return None, f"Not comparable: {names}{why}. The rest agrees ({tolerance}).{notes}"
    if any(row.leaf in allowed and not row.ok for row in compared):
        notes += " The call compiled with its breaks rounds the same way."
    text = f"Outputs, gradients, inputs and buffers after the call agree ({tolerance}).{notes}"
    return True, text


def _judge_plainly() -> Judge:
    return Judge(Tolerance(is_sharp=False))


def _compare(expected: Leaves, actual: Leaves) -> list[Comparison]:
    """By the tolerance of each dtype alone."""
    return _judge_plainly().compare([*pair_leaves("out", expected, actual)])


def _words(name: str, leaf: Any) -> Any:
    """What is printed without its numbers; other leaves as they are."""
    return _NUMBERS.sub("#", leaf) if name == _PRINTED else leaf


def _errors(expected: Leaves, rounded: Leaves) -> dict[str, float]:
    """By leaf that is a number or a tensor of them: how much it differs when it is compiled."""
    expected, rounded = _complete([expected, rounded], 1)
    rows = _compare(expected, rounded)
    return {row.leaf: row.max_abs_error for row in rows if row.max_abs_error < inf}


@contextlib.contextmanager
def restore_unchanged(target: Any) -> Iterator[Snapshot]:
    """Restore the RNG state, buffers, gradients, and all tensors and values changed by the call.

    Yields the original values of Python objects: lists, dicts, attributes, globals and closures.
    """
    module = resolve(target).module
    tensors = () if module is not None else tuple(list_tensors(target, code=True))
    grads = [(tensor, tensor.grad) for tensor in tensors if tensor.is_leaf]
    for tensor, grad in grads:
        tensor.grad = None if grad is None else grad.clone()
    state, numpy = random.getstate(), sys.modules.get("numpy")
    drawn = None if numpy is None else numpy.random.get_state()
    reached = walk_reachable([("", target)]).without_values()
    values = Snapshot.of(reached)
    try:
        with restore_state(module, held=tensors):
            yield values
    finally:
        values.restore()
        random.setstate(state)
        if numpy is not None:
            numpy.random.set_state(drawn)
        for tensor, grad in grads:
            tensor.grad = grad


def _collect_written(before: Snapshot) -> Leaves:
    """The values beside the inputs that a call wrote, by where they stand."""
    written: Leaves = []
    for name, change in before.changes().items():
        place = f"{_STATE}{name}"
        written += [(leaf.replace("out", place, 1), part) for leaf, part in leaves_of(change.value)]
    return written


def _complete(sides: Sequence[Leaves], own: int) -> list[Leaves]:
    """The runs with what the first `own` wrote, in one order; where another did not, it says so.

    What only compiled code writes is torch's: it notes on a module that it is compiled.
    """
    names = sorted({name for side in sides[:own] for name, _ in side if name.startswith(_STATE)})
    return [
        [*(row for row in side if not row[0].startswith(_STATE))]
        + [(name, dict(side).get(name, _AS_BEFORE)) for name in names]
        for side in sides
    ]


def _held(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, torch.Tensor) else leaf


def _buffers(target: Any) -> Leaves:
    module = resolve(target).module
    named = () if module is None else module.named_buffers()
    return [(f"buffer {name}", _held(value.detach())) for name, value in named]


def _shared(out: Leaves, inputs: Leaves) -> str:
    """Which outputs share memory with an input or with another output."""
    named = [(f"input{name.removeprefix('out')}", leaf) for name, leaf in inputs]
    sharing: dict[int, list[str]] = {}
    for name, leaf in (*out, *named):
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and leaf.numel():
            sharing.setdefault(leaf.untyped_storage().data_ptr(), []).append(name)
    groups = [names for names in sharing.values() if len(names) > 1 and names[0].startswith("out")]
    return "; ".join(" and ".join(names) for names in groups)


def _gradients(target: Any, result: Any, inputs: Any) -> Leaves:
    """The gradients of the sum of the outputs, where they have one."""
    tensors = (leaf for _, leaf in leaves(result, Path("out")) if isinstance(leaf, torch.Tensor))
    count = sum(leaf.requires_grad for leaf in tensors)
    flags: Leaves = [("outputs with a gradient", count)]
    if not count:
        return flags
    learning = find_learning_tensors(target, resolve(target).module, inputs)
    return flags + [
        (f"{GRADIENT}{name}", torch.zeros_like(learning[name]) if grad is None else grad)
        for name, grad in compute_gradients(result, learning).items()
    ]
