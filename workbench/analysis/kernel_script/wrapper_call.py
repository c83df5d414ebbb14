"""How a generated program calls kernels, read from its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from workbench.errors import UsageError

_ALLOCATIONS = "empty_strided"
_CHECKS = ("assert_size_stride", "assert_tensor_metadata")  # the latter since torch 2.14


@dataclass(frozen=True)
class Layout:
    """Shape and strides of a variable in memory."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass(frozen=True)
class WrapperCalls:
    """The first calls of some kernels, in the order of the program.

    `definitions` are the expressions that make them, by name; `calls` a kernel and the expressions
    that it is called with; `tensors` the variables in those with their layouts, `layouts` those of
    all variables. `reused` names the variable whose memory another one takes over.
    """

    definitions: dict[str, ast.Call]
    calls: tuple[tuple[str, tuple[str, ...]], ...]
    tensors: dict[str, Layout]
    layouts: dict[str, Layout]
    reused: dict[str, str]

    def root(self, name: str) -> str:
        """The variable that the memory of another one was made for."""
        while name in self.reused:
            name = self.reused[name]
        return name


@dataclass
class _Known:
    layouts: dict[str, Layout] = field(default_factory=dict)
    reused: dict[str, str] = field(default_factory=dict)


def read_calls(text: str, kernels: Sequence[str]) -> WrapperCalls:
    """The first calls of kernels in a program; raises `UsageError` where they cannot be told."""
    tree = ast.parse(text)
    definitions = {kernel: _definition(tree, kernel) for kernel in kernels}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        known, found = _Known(), dict[str, ast.Call]()
        tensors: dict[str, Layout] = {}
        for statement in _flat(function.body):
            kernel, call = _call_of(statement)
            if call is None or kernel not in definitions or kernel in found:
                _learn(statement, known)
                continue
            found[kernel] = call
            tensors |= _tensors(call, known, kernel)
        if len(found) == len(definitions):
            calls = tuple(
                (name, tuple(map(ast.unparse, call.args))) for name, call in found.items()
            )
            return WrapperCalls(definitions, calls, tensors, known.layouts, known.reused)
    raise UsageError(f"The wrapper does not call {' and '.join(kernels)} by name.")


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


def _call_of(statement: ast.stmt) -> tuple[str | None, ast.Call | None]:
    """The name and the call of what may be a kernel, `k(...)` or `k.run(...)`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return None, None
    place = call.func
    if isinstance(place, ast.Attribute) and place.attr == "run":
        place = place.value
    return _name(place), call


def _learn(statement: ast.stmt, known: _Known) -> None:
    """What a statement says of the layout of a variable."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        for checked, sizes in _checked(statement.value):
            _put(known, checked, sizes)
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


def _checked(call: ast.Call) -> Iterator[tuple[str, list[ast.expr]]]:
    """The variables whose layout a call checks, with sizes and strides; since 2.14 several."""
    rows: list[tuple[ast.expr, ...]] = []
    if _name(call.func) in _CHECKS:
        rows = [tuple(call.args[:3])]
    elif _name(call.func) == "assert_size_stride_grouped":
        groups = (part.elts for part in call.args if isinstance(part, ast.Tuple))
        rows = list(zip(*groups, strict=True))
    for variable, *sizes in rows:
        if name := _name(variable):
            yield name, sizes


def _put(known: _Known, name: str, sizes: list[ast.expr]) -> None:
    try:
        shape, stride = (tuple(ast.literal_eval(part)) for part in sizes)
    except ValueError:
        known.layouts.pop(name, None)  # symbolic
        return
    known.layouts[name] = Layout(shape, stride)


def _tensors(call: ast.Call, known: _Known, kernel: str) -> dict[str, Layout]:
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
    return tensors


def _name(expression: ast.expr) -> str | None:
    return expression.id if isinstance(expression, ast.Name) else None
