"""What a captured program would silently do differently: train mode, Python side effects."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.packaging.diagnosis import refusal
from workbench.compiler.sources.sources import Places
from workbench.errors import CaptureError

_FLAGS = ("train", "training")
_CHANGES = frozenset(
    ("append", "extend", "insert", "add", "update", "pop", "remove", "clear", "setdefault")
)
_TRAIN_CURE = "call model.eval() before packaging, and model.train() after it to go on training"
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_DEEP = 10_000  # elements of a container that are compared

Export = Callable[[], Any]
State = Mapping[tuple[str, str], Any]
States = tuple[State, State]


@contextmanager
def in_eval_mode(module: torch.nn.Module) -> Iterator[None]:
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
    reason = "the model is in train mode, and a package is compiled for inference"
    if lines := list(_training_lines(program)):
        raise CaptureError(refusal(title, lines, reason, _TRAIN_CURE))
    with in_eval_mode(module):
        other = export()
    if _text(other) != _text(program):
        more = f"{reason}: its program is another one in eval mode"
        raise CaptureError(refusal(title, [], more, _TRAIN_CURE))
    return "the model was packaged in train mode, in which its program is that of eval mode"


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
def watched_state(module: torch.nn.Module) -> Iterator[list[State]]:
    """The plain attributes before and at the end of each forward: torch.export restores them."""
    states: list[State] = [plain_state(module)]
    handle = module.register_forward_hook(lambda *_: states.append(plain_state(module)))
    try:
        yield states
    finally:
        handle.remove()


def plain_state(module: torch.nn.Module) -> State:
    """The plain attributes of every part: numbers and texts, and the length of containers."""
    found: dict[tuple[str, str], Any] = {}
    for path, part in module.named_modules():
        for name, value in vars(part).items():
            if name.startswith("_") and name in vars(torch.nn.Module()):
                continue
            found[path, name] = _shadow(value)
    return found


def _shadow(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list | dict | set) and len(value) < _DEEP:
        parts = value.values() if isinstance(value, dict) else value
        return len(value), tuple(part if isinstance(part, _PLAIN) else None for part in parts)
    return type(value)


def check_side_effects(
    module: torch.nn.Module,
    title: str,
    program: Any,
    states: States,
    export: Export,
) -> tuple[str, ...]:
    """Refuse Python state that changes the program; returns a sentence for each effect lost.

    State that changed is put to the test: when a second capture gives another program, the first
    one has a passing value baked in.
    """
    before, after = states
    changed = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
    lines = {key: _assignment(module.get_submodule(key[0]), key[1]) for key in sorted(changed)}
    with _set(module, {key: after.get(key) for key in changed}):
        is_read = bool(changed) and _text(export()) != _text(program)
    if is_read:
        shown = [line or f"{_dotted(key)} (its line was not found)" for key, line in lines.items()]
        raise CaptureError(
            refusal(
                title,
                shown,
                "the line changes a Python value that the program reads: there is no Python in a "
                "package, so the value of the capture would be used for ever",
                "keep the value in a tensor: self.register_buffer('name', torch.zeros(())) and "
                "self.name.add_(1), which a package carries on; or take it as an input",
            )
        )
    lost = [
        f"{_dotted(key)} is not kept up by the package: {line or 'line unknown'}"
        for key, line in lines.items()
    ]
    return (*lost, *_outer_effects(module))


@contextmanager
def _set(module: torch.nn.Module, values: State) -> Iterator[None]:
    """Give attributes the values that they had after a call, numbers and texts only."""
    plain = {key: value for key, value in values.items() if isinstance(value, _PLAIN)}
    saved = {(path, name): vars(module.get_submodule(path)).get(name) for path, name in plain}
    try:
        for (path, name), value in plain.items():
            vars(module.get_submodule(path))[name] = value
        yield
    finally:
        for (path, name), value in saved.items():
            vars(module.get_submodule(path))[name] = value


def _dotted(key: tuple[str, str]) -> str:
    return ".".join(part for part in ("self", *key) if part)


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
            owner = next(iter(inspect.signature(member).parameters), "self")
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
        found = scope.get(node.func.value.id)
        if node.func.attr in _CHANGES and isinstance(found, list | dict | set):
            return outside
    return ""
