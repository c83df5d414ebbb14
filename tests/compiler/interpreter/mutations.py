"""Changes one constant, operator, mask or index of a generated kernel, at a seeded place.

What would change nothing is left out by construction: the constants of shapes, hints for caches,
statements whose result nobody stores, the wrapping of negative indices, which no input has, a
slightly other constant in a kernel that normalises, which evens it out.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass

KINDS = ("constant", "subtle constant", "operator", "mask", "index")
_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.Gt,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_NORMALISING = ("norm", "softmax", "var")
_INDEX_NAMES = ("index", "offset", "numel", "mask", "_base")


@dataclass(frozen=True)
class Mutation:
    """One change: which kind, the line as it was and as it is."""

    kind: str
    before: str
    after: str
    source: str


def mutations(source: str, name: str) -> list[Mutation]:
    """Every change of a kernel's source that this knows how to make."""
    tree = ast.parse(source)
    function = next(
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name
    )
    live = _live(function) - _wrapped(function)
    evens_out = any(part in name for part in _NORMALISING)
    found = []
    for statement in _statements(function):
        if not (isinstance(statement, ast.Expr) or _targets(statement) & live):
            continue
        for kind, place, replacement in _changes(statement):
            if kind == "subtle constant" and evens_out:
                continue
            before = ast.unparse(statement)
            changed = _with(statement, place, replacement)
            after = ast.unparse(changed)
            if after != before:
                text = _replaced(source, statement, after)
                found.append(Mutation(kind, before, after, text))
    return found


def chosen(source: str, name: str, seed: float) -> Mutation | None:
    """One of the changes: first its kind, then its place, both by the seed."""
    by_kind: dict[str, list[Mutation]] = {}
    for mutation in mutations(source, name):
        by_kind.setdefault(mutation.kind, []).append(mutation)
    if not by_kind:
        return None
    dice = random.Random(seed)
    return dice.choice(by_kind[dice.choice(sorted(by_kind))])


def _statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
            yield node


def _targets(statement: ast.stmt) -> set[str]:
    parts = statement.targets if isinstance(statement, ast.Assign) else []
    parts = [statement.target] if isinstance(statement, ast.AugAssign) else parts
    return {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}


def _live(function: ast.FunctionDef) -> set[str]:
    """The variables that something stored depends on."""
    live: set[str] = set()
    before = -1
    while len(live) != before:
        before = len(live)
        for node in ast.walk(function):
            uses: ast.AST | None = None
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                uses = node
            elif isinstance(node, ast.For):
                uses = node.iter
            elif isinstance(node, ast.If | ast.While):
                uses = node.test
            elif isinstance(node, ast.Assign | ast.AugAssign) and _targets(node) & live:
                uses = node
            if uses is not None:
                live |= {part.id for part in ast.walk(uses) if isinstance(part, ast.Name)}
    return live


def _wrapped(function: ast.FunctionDef) -> set[str]:
    """The variables that stand for a negative index: `where(i < 0, wrapped, i)`."""
    signs = {
        next(iter(_targets(node))): ast.unparse(node.value.left)
        for node in _statements(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Compare)
        and ast.unparse(node.value).endswith("< 0")
    }
    found = set(signs)
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.where":
            condition, wrapped, index = map(ast.unparse, node.args)
            if signs.get(condition) == index:
                found.add(wrapped)
    return found


def _changes(statement: ast.stmt) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """Kind, the node that is replaced, what replaces it."""
    value = getattr(statement, "value", None)
    call = value if isinstance(value, ast.Call) else None
    text = ast.unparse(call.func) if call is not None else ""
    if call is not None and text in ("tl.load", "tl.store"):
        yield from _of_access(call, text)
    elif call is not None and text == "tl.full":
        yield from _of_constant(call.args[1])
    elif value is not None and isinstance(statement, ast.Assign):
        name = next(iter(_targets(statement)), "")
        if name.endswith("mask"):
            yield from _of_comparison(value, "mask")
        elif not any(part in name for part in _INDEX_NAMES) and name.startswith("tmp"):
            for node in _outside_shapes(value):
                yield from _of_operator(node)


def _outside_shapes(value: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression that are computed, not shapes or options of a call."""
    yield value
    if isinstance(value, ast.Call):
        inner: list[ast.AST] = list(value.args[:1])
        if isinstance(value.func, ast.Attribute):
            inner.append(value.func.value)
        if ast.unparse(value.func).startswith(("tl.where", "triton_helpers.m", "libdevice")):
            inner = list(value.args)
    elif isinstance(value, ast.BinOp):
        inner = [value.left, value.right]
    elif isinstance(value, ast.Compare):
        inner = [value.left, *value.comparators]
    elif isinstance(value, ast.UnaryOp):
        inner = [value.operand]
    else:
        inner = []
    for part in inner:
        yield from _outside_shapes(part)


def _of_operator(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    if isinstance(node, ast.BinOp) and type(node.op) in _SWAPPED:
        swapped = _SWAPPED[type(node.op)]()
        yield "operator", node, ast.BinOp(node.left, swapped, node.right)  # type: ignore[arg-type]
    yield from _of_comparison(node, "operator")


def _of_comparison(node: ast.AST, kind: str) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPPED:
        if kind == "mask":  # half of the elements
            less = ast.BinOp(node.comparators[0], ast.FloorDiv(), ast.Constant(2))
            yield kind, node, ast.Compare(node.left, node.ops, [less])
        else:
            swapped = _SWAPPED[type(node.ops[0])]()
            yield kind, node, ast.Compare(node.left, [swapped], node.comparators)  # type: ignore[list-item]


def _of_constant(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        if isinstance(node.value, bool):
            return
        changed = node.value + 1 if isinstance(node.value, int) else node.value * 1.5 + 0.25
        yield "constant", node, ast.Constant(changed)
        if isinstance(node.value, float) and 0.01 <= abs(node.value) < float("inf"):
            yield "subtle constant", node, ast.Constant(node.value * 1.02)


def _of_access(call: ast.Call, text: str) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    pointer = call.args[0]
    if isinstance(pointer, ast.BinOp):
        moved = ast.BinOp(pointer.right, ast.Add(), ast.Constant(1))
        yield "index", pointer.right, moved
        for node in ast.walk(pointer.right):
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 1:
                yield "index", node, ast.Constant(node.value - 1)
    mask = call.args[2 if text == "tl.store" else 1] if len(call.args) > 1 else None
    if text == "tl.store" and isinstance(mask, ast.Name):
        yield "mask", mask, ast.parse(f"{mask.id} & (tl.program_id(0) > 0)", mode="eval").body


def _with(statement: ast.stmt, place: ast.AST, replacement: ast.AST) -> ast.AST:
    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return replacement if node is place else self.generic_visit(_copied(node))

    return ast.fix_missing_locations(Swap().visit(statement))


def _copied(node: ast.AST) -> ast.AST:
    """The node with its own lists of children, so that the original stays as it is."""
    made = type(node)(
        **{
            name: list(value) if isinstance(value, list) else value
            for name, value in ast.iter_fields(node)
        }
    )
    return ast.copy_location(made, node)


def _replaced(source: str, statement: ast.stmt, text: str) -> str:
    lines = source.split("\n")
    start, end = statement.lineno - 1, statement.end_lineno or statement.lineno
    indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    return "\n".join([*lines[:start], indent + text, *lines[end:]])
