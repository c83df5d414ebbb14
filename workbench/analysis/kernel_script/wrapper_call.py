"""How a generated program calls a kernel, read from its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.errors import UsageError

_ALLOCATIONS = "empty_strided"


@dataclass(frozen=True)
class Layout:
    """Shape and strides of a variable in memory."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass(frozen=True)
class WrapperCall:
    """The first call of a kernel.

    `definition` is the expression that makes it; `arguments` are the expressions that it is called
    with, `tensors` the variables in them with their layouts. `reused` names the variable whose
    memory another one takes over.
    """

    definition: ast.Call
    arguments: tuple[str, ...]
    tensors: dict[str, Layout]
    reused: dict[str, str]


@dataclass
class _Known:
    layouts: dict[str, Layout] = field(default_factory=dict)
    reused: dict[str, str] = field(default_factory=dict)


def read_call(text: str, kernel: str) -> WrapperCall:
    """The first call of a kernel in a program; raises `UsageError` where it cannot be told."""
    tree = ast.parse(text)
    definition = _definition(tree, kernel)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        known = _Known()
        for statement in _flat(function.body):
            call = _call_of(statement, kernel)
            if call is not None:
                return _read(definition, call, known, kernel)
            _learn(statement, known)
    raise UsageError(f"The wrapper does not call {kernel} by its name.")


def _definition(tree: ast.Module, kernel: str) -> ast.Call:
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and _name(statement.targets[0]) == kernel:
            value = statement.value
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                return value
    raise UsageError(f"The wrapper does not define {kernel}: it cannot be built alone.")


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        for inner in ("body", "orelse"):
            if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                yield from _flat(getattr(statement, inner, []))


def _call_of(statement: ast.stmt, kernel: str) -> ast.Call | None:
    """The call of the kernel, `k(...)` or `k.run(...)`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return None
    place = call.func
    if isinstance(place, ast.Attribute) and place.attr == "run":
        place = place.value
    return call if _name(place) == kernel else None


def _learn(statement: ast.stmt, known: _Known) -> None:
    """What a statement says of the layout of a variable."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if _name(call.func) == "assert_size_stride" and (name := _name(call.args[0])):
            _put(known, name, call.args[1:3])
    if not isinstance(statement, ast.Assign) or not (name := _name(statement.targets[0])):
        return
    value = statement.value
    if (other := _name(value)) and other in known.layouts:
        known.layouts[name], known.reused[name] = known.layouts[other], other
    elif isinstance(value, ast.Call):
        made = _name(value.func) or ""
        if made.startswith(_ALLOCATIONS):
            _put(known, name, value.args[0:2])
        elif made == "reinterpret_tensor" and (other := _name(value.args[0])):
            _put(known, name, value.args[1:3])
            known.reused[name] = other


def _put(known: _Known, name: str, sizes: list[ast.expr]) -> None:
    try:
        shape, stride = (tuple(ast.literal_eval(part)) for part in sizes)
    except ValueError:
        known.layouts.pop(name, None)  # symbolic
        return
    known.layouts[name] = Layout(shape, stride)


def _read(definition: ast.Call, call: ast.Call, known: _Known, kernel: str) -> WrapperCall:
    tensors: dict[str, Layout] = {}
    for argument in call.args:
        for part in ast.walk(argument):
            if not isinstance(part, ast.Name) or part.id == "reinterpret_tensor":
                continue
            if part.id not in known.layouts:
                raise UsageError(
                    f"{kernel} is called with {ast.unparse(argument)}, whose size is symbolic or "
                    "not written in the wrapper: compile with fixed sizes to make a script of it."
                )
            tensors[part.id] = known.layouts[part.id]
    return WrapperCall(definition, tuple(map(ast.unparse, call.args)), tensors, dict(known.reused))


def _name(expression: ast.expr) -> str | None:
    return expression.id if isinstance(expression, ast.Name) else None
