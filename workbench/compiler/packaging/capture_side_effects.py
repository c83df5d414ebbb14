"""What a captured program would silently do differently: train mode, Python side effects."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import operator
import re
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_all_inputs, leaves_of, restore_state
from workbench.compiler.call_state.reachable import (
    Replaced,
    Snapshot,
    Variable,
    same_tensor,
    walk_reachable,
)
from workbench.compiler.comparison.judgement import Judge, pair_leaves
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.signatures import signature_of
from workbench.compiler.packaging.diagnosis import explain_refusal
from workbench.compiler.sources.sources import Places
from workbench.errors import CaptureError

_FLAGS = ("train", "training")
_CHANGES = frozenset(
    ("append", "extend", "insert", "add", "update", "pop", "remove", "clear", "setdefault")
)
_TRAIN_REASON = "the model is in train mode, but a package is compiled for inference"
_TRAIN_CURE = "call model.eval() before packaging, and model.train() after it to continue training"
_FROZEN = (
    "the line changes a Python value that the program reads; a package has no Python, so it would "
    "always use the value from capture"
)

Export = Callable[[], Any]
States = tuple[Snapshot, Snapshot]


@contextmanager
def enter_eval_mode(module: torch.nn.Module) -> Iterator[None]:
    """The module in eval mode, every part of it as it was afterwards."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def check_train_mode(module: torch.nn.Module, title: str, program: Any, export: Export) -> str:
    """Refuse a module in train mode whose program is another one than in eval mode.

    Returns a sentence for the report, empty for a module in eval mode.
    """
    if not any(part.training for part in module.modules()):
        return ""
    check_program_mode(title, program)
    with enter_eval_mode(module):
        other = export()
    if _text(other) != _text(program):
        more = f"{_TRAIN_REASON}, and the program in eval mode is different"
        raise CaptureError(explain_refusal(title, [], more, _TRAIN_CURE))
    return "the model was packaged in train mode; its program is the same in eval mode"


def check_program_mode(title: str, program: Any) -> None:
    """Raise `CaptureError` for a program with operators in train mode."""
    if lines := list(_training_lines(program)):
        raise CaptureError(explain_refusal(title, lines, _TRAIN_REASON, _TRAIN_CURE))


def _text(program: Any) -> str:
    return str(program.graph_module.code)


def _training_lines(program: Any) -> Iterator[str]:
    """The lines of operators in train mode."""
    places, lines = Places(), set()
    for node in program.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            continue
        values = {a.name: v for a, v in zip(schema.arguments, node.args, strict=False)}
        values.update(node.kwargs)
        share = values.get("dropout_p")
        drops = isinstance(share, float) and share > 0
        if not any(values.get(flag) is True for flag in _FLAGS) and not drops:
            continue
        frame = places.innermost(node.meta.get("stack_trace") or "")
        name = str(node.target).rpartition("aten.")[2].partition(".")[0]
        where = "" if frame is None else f"{places.shown(frame.file)}:{frame.line} "
        line = f"{where}({name} of {_owner(node)})"
        if line not in lines:
            lines.add(line)
            yield line


def _owner(node: Any) -> str:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = re.sub(r"^L\['self'\]\.?", "", str(stack[-1][0])) if stack else ""
    return path or "the model"


@contextmanager
def watch_state(module: torch.nn.Module) -> Iterator[list[Snapshot]]:
    """The Python state before and at the end of each forward: it is put back after a capture."""
    first = state_of(module)
    states = [first]
    handle = module.register_forward_hook(lambda *_: states.append(Snapshot.of(first.reached)))
    try:
        yield states
    finally:
        handle.remove()


def check_side_effects(
    module: torch.nn.Module,
    title: str,
    program: Any,
    states: States,
    export: Export,
    inputs: tuple[Sequence[Any], Mapping[str, Any]],
) -> tuple[str, ...]:
    """Refuse Python state that the program reads; returns a sentence for each effect lost.

    State that changed is put to the test: when a capture after it gives another program, and a
    second call of the model another result, the program has a passing value baked in.
    """
    before, after = states
    replaced = before.list_replaced(after)
    lines = {show_variable(one): _line(module, one.variable) for one in replaced}
    lines = dict(sorted(lines.items()))
    is_read = False
    if replaced:
        with holding(replaced):
            is_read = _differs(program, export)
        is_read = is_read and is_state_dependent(module, *inputs)
    if is_read:
        places = [line or f"{name} (its line was not found)" for name, line in lines.items()]
        raise CaptureError(explain_refusal(title, places, _FROZEN, KEEP))
    check_written(title, program)
    outer = list(_outer_effects(module))
    lost = [
        f"{name} is not updated by the package: {line or 'line unknown'}"
        for name, line in lines.items()
        if name.startswith("self.") or not outer
    ]
    return (*lost, *outer)


def _differs(program: Any, export: Export) -> bool:
    try:
        other = export()
    except CaptureError:  # it takes another way, which cannot be captured
        return True
    if _text(other) != _text(program):
        return True
    old, new = program.constants, other.constants
    return old.keys() != new.keys() or not all(_equal(old[name], new[name]) for name in old)


def _equal(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return type(a) is type(b)
    return a is b or same_tensor(a, b)


def _line(module: torch.nn.Module, variable: Variable) -> str | None:
    if variable.module is None:
        return None
    return _assignment(module.get_submodule(variable.module), variable.key)


@dataclass(frozen=True)
class _Method:
    """A method of a user's module as a syntax tree, with its file and first line."""

    name: str
    tree: ast.AST
    file: str
    first: int
    scope: Mapping[str, Any]
    owner: str  # what it calls its module, normally "self"

    def line(self, node: ast.AST) -> str:
        """The place of a part of it, with its text."""
        number = self.first + int(getattr(node, "lineno", 1)) - 1
        return f'{self.file}:{number}: "{ast.unparse(node)}"'


def _methods(part: torch.nn.Module) -> Iterator[_Method]:
    places = Places()
    for kind in type(part).__mro__:
        if not places.is_user(str(getattr(inspect.getmodule(kind), "__file__", "") or "")):
            continue
        for member in vars(kind).values():
            if not inspect.isfunction(member):
                continue
            try:
                source, first = inspect.getsourcelines(member)
                tree = ast.parse(textwrap.dedent("".join(source)))
            except (OSError, SyntaxError, TypeError):
                continue
            file = str(inspect.getsourcefile(member))
            owner = next(iter(signature_of(member).parameters), "self")
            yield _Method(member.__name__, tree, file, first, member.__globals__, owner)


def _assignment(part: torch.nn.Module, name: str) -> str | None:
    """The line outside of `__init__` that changes an attribute."""
    for method in _methods(part):
        if method.name == "__init__":
            continue
        for node in ast.walk(method.tree):
            if _changes(node, name, method.owner):
                return method.line(node)
    return None


def _changes(node: ast.AST, name: str, owner: str) -> bool:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        targets = [node.func] if node.func.attr in _CHANGES else []
    parts = (part for target in targets for part in ast.walk(target))
    return any(
        isinstance(part, ast.Attribute) and ast.unparse(part) == f"{owner}.{name}" for part in parts
    )


def _outer_effects(module: torch.nn.Module) -> Iterator[str]:
    """Prints and changed globals in the forwards of the user's own modules."""
    for part in {type(part): part for part in module.modules()}.values():
        for method in _methods(part):
            if method.name == "forward" and "site-packages" not in method.file:
                for node in ast.walk(method.tree):
                    if words := _effect(node, method.scope):
                        yield f"{words}: {method.line(node)}"


def _effect(node: ast.AST, scope: Mapping[str, Any]) -> str:
    outside = "a variable outside the model is not updated by the package"
    if isinstance(node, ast.Global | ast.Nonlocal):
        return outside
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Name) and node.func.id == "print":
        return "print ran while capturing and does not run in the package"
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        container = scope.get(node.func.value.id)
        if node.func.attr in _CHANGES and isinstance(container, list | dict | set):
            return outside
    return ""


KEEP = (
    "keep the value in a tensor: self.register_buffer('name', torch.zeros(())) and "
    "self.name.add_(1), which a package updates; or take it as an input"
)
_UNKEPT = (
    "the line writes to a tensor that is not a buffer; a package updates only buffers, so the "
    "program would always read the value from capture"
)
_STATISTICS = ("running_mean", "running_var")  # torch's schemas of batch norm leave the writes out
_STATISTICS_FLAGS = ("train", "training", "use_input_stats")


def check_written(title: str, program: Any) -> None:
    """Raise `CaptureError` for tensors that the program writes into, but are no buffers.

    AOTInductor keeps no such tensor: for some of the writes it raises an assertion of its own.
    """
    if written := [*dict.fromkeys(_written(program))]:
        raise CaptureError(explain_refusal(title, written, _UNKEPT, KEEP))


def _written(program: Any) -> Iterator[str]:
    """The lines that write in place into a tensor from outside of the code, or a view of one.

    A tensor that is made in the code is copied in each call (`lift_fresh_copy`), and is no such.
    """
    signature = program.graph_signature.inputs_to_lifted_tensor_constants
    roots: set[Any] = set()
    storages: set[int] = set()
    places = Places()
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in signature:
            roots.add(node)
            storages |= _storages(node)
        if roots.isdisjoint(node.all_input_nodes):
            continue
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            if node.target is operator.getitem and _storages(node) & storages:
                roots.add(node)
            continue
        values = list(_given(node, schema))
        is_write = any(roots & set(_nodes(value)) for value in _targets(schema, values))
        if is_write and not str(node.target).startswith("aten.detach_"):  # which changes no value
            frame = places.innermost(node.meta.get("stack_trace") or "")
            where = "a tensor" if frame is None else f"{frame.file}:{frame.line}"
            yield f"{where} ({node.target} writes into it)"
        is_view = any(one.alias_info is not None for one in schema.returns)
        if is_view and (not _storages(node) or _storages(node) & storages):
            roots.add(node)


def _given(node: Any, schema: Any) -> Iterator[tuple[Any, Any]]:
    """Each argument of an operator that was given, with its value."""
    for index, argument in enumerate(schema.arguments):
        if index < len(node.args):
            yield argument, node.args[index]
        elif argument.name in node.kwargs:
            yield argument, node.kwargs[argument.name]


def _targets(schema: Any, arguments: Sequence[tuple[Any, Any]]) -> Iterator[Any]:
    """The arguments that are written into, also those of which torch's schema does not say so."""
    flags = {one.name: value for one, value in arguments}
    keeps = any(flags.get(name) is True for name in _STATISTICS_FLAGS)
    for argument, value in arguments:
        is_written = argument.alias_info is not None and argument.alias_info.is_write
        if is_written or (keeps and argument.name in _STATISTICS):
            yield value


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _nodes(part)
    elif isinstance(value, torch.fx.Node):
        yield value


def _storages(node: Any) -> set[int]:
    """The memory of what a node gives: fake tensors share it as the real ones do."""
    value = node.meta.get("val")
    values = value if isinstance(value, list | tuple) else (value,)
    return {
        tp.storage_of(one)
        for one in values
        if isinstance(one, torch.Tensor) and one.layout is torch.strided
    }


_CALLED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_OUTSIDE = ("closure", "global")
_HELD = ("parameter", "buffer")
"""Kinds of places that a capture itself fills with fake tensors, and empties."""
_OWN = frozenset(vars(torch.nn.Module()))


def state_of(module: torch.nn.Module) -> Snapshot:
    """The values of every place; containers are noted, tensors are not copied."""
    reached = walk_reachable([("", module)]).without_values()
    holders = [holder for holder in reached.holders if holder.kind not in _HELD]
    return Snapshot.of(replace(reached, holders=holders))


def show_variable(one: Replaced) -> str:
    """The variable that holds a value, as the module's code names it."""
    kind, name, *_ = one.variable
    return f"self.{name}" if kind == "attribute" else name


def find_outer_functions(module: torch.nn.Module) -> list[Replaced]:
    """The places in variables outside of functions that hold functions."""
    return [
        Replaced(holder, key, value, value)
        for holder in walk_reachable([("", module)]).holders
        if holder.kind in _OUTSIDE
        for key, value in holder.read().items()
        if isinstance(value, _CALLED)
    ]


@contextmanager
def holding(replaced: Sequence[Replaced]) -> Iterator[None]:
    """The places with what they held after a call, real tensors in place of fake ones."""
    try:
        for one in replaced:
            one.put(_real(one.after))
        yield
    finally:
        for one in replaced:
            one.put(one.before)


def _real(value: Any) -> Any:
    if isinstance(value, tp.FAKE_TENSOR.get()):
        shape = [size if isinstance(size, int) else int(size.node.hint) for size in value.shape]
        count = torch.Size(shape).numel()
        numbers = torch.arange(count, device=value.device) % 89 + 3
        return numbers.reshape(shape).to(value.dtype)
    if isinstance(value, dict):
        return {key: _real(part) for key, part in value.items()}
    return type(value)(map(_real, value)) if type(value) in (list, tuple) else value


@contextmanager
def state_kept(module: torch.nn.Module) -> Iterator[None]:
    """Everything as it was before, also the fake tensors gone that a capture left behind."""
    before, hooks = state_of(module), [(table, dict(table)) for table in _hooks(module)]
    try:
        yield
    finally:
        before.restore()
        for now, then in hooks:
            if now.keys() != then.keys():
                now.clear()
                now.update(then)


def _hooks(module: torch.nn.Module) -> Iterator[dict[int, Any]]:
    """The dictionaries with the hooks of every part: a first call may install some."""
    for part in module.modules():
        yield from (value for key, value in vars(part).items() if "_hooks" in key and key in _OWN)
    yield tp.BUFFER_HOOKS.get()  # a failed export leaves one for every module


def is_state_dependent(
    module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether the model gives something else after a call with other inputs, as no cache does.

    It runs silently; its state, its buffers and the random state are as they were.
    """

    def call(*, other: bool = False) -> Any:
        inputs, named = copy_all_inputs(tuple(args), kwargs)
        if other:
            for _, leaf in leaves_of((inputs, named)):
                if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                    leaf.mul_(-0.5).add_(1)
        with restore_state(module):
            torch.manual_seed(0)
            return leaves_of(copy_all_inputs((module(*inputs, **named),), {}))

    with contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        with state_kept(module):
            first = call()
        with state_kept(module):
            call(other=True)
            second = call()
    rows = Judge().judge([*pair_leaves("output", first, second)])
    return any(row.verdict == "failed" for row in rows)
