"""What a captured program would silently do differently: train mode, Python side effects."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.call_state.reachable import Snapshot, Variable, same_tensor
from workbench.compiler.internals.signatures import signature_of
from workbench.compiler.packaging.diagnosis import explain_refusal
from workbench.compiler.packaging.python_state import (
    holding,
    is_state_dependent,
    show_variable,
    state_of,
)
from workbench.compiler.packaging.written_constants import KEEP, check_written
from workbench.compiler.sources.sources import Places
from workbench.errors import CaptureError

_FLAGS = ("train", "training")
_CHANGES = frozenset(
    ("append", "extend", "insert", "add", "update", "pop", "remove", "clear", "setdefault")
)
_TRAIN_REASON = "the model is in train mode, and a package is compiled for inference"
_TRAIN_CURE = "call model.eval() before packaging, and model.train() after it to go on training"
_FROZEN = (
    "the line changes a Python value that the program reads: there is no Python in a package, so "
    "the value of the capture would be used for ever"
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
        more = f"{_TRAIN_REASON}: its program is another one in eval mode"
        raise CaptureError(explain_refusal(title, [], more, _TRAIN_CURE))
    return "the model was packaged in train mode, in which its program is that of eval mode"


def check_program_mode(title: str, program: Any) -> None:
    """Raise `CaptureError` for a program with operators in train mode."""
    if lines := list(_training_lines(program)):
        raise CaptureError(explain_refusal(title, lines, _TRAIN_REASON, _TRAIN_CURE))


def _text(program: Any) -> str:
    return str(program.graph_module.code)


def _training_lines(program: Any) -> Iterator[str]:
    """The lines of operators in train mode."""
    places, seen = Places(), set()
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
        if line not in seen:
            seen.add(line)
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
        shown = [line or f"{name} (its line was not found)" for name, line in lines.items()]
        raise CaptureError(explain_refusal(title, shown, _FROZEN, KEEP))
    check_written(title, program)
    outer = list(_outer_effects(module))
    lost = [
        f"{name} is not kept up by the package: {line or 'line unknown'}"
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
    outside = "a variable outside of the model is not kept up by the package"
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
