"""Branches on the value of a tensor, as operations that need no branch."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass

_BOTH = "Both sides are worked out, and the condition picks: right where both are safe to compute."
_CLAMP = "A bound is an operation of its own: it needs no branch, and stays in the graph."
_COND = (
    "Both sides become functions that torch.cond chooses from while it runs; they have to return "
    "tensors of the same shapes and dtypes."
)
_FLIPPED = {ast.Gt: "max", ast.GtE: "max", ast.Lt: "min", ast.LtE: "min"}


@dataclass(frozen=True)
class Change:
    """Lines `first` to `last` (from 1) of a source become `code`, without indentation."""

    title: str
    why: str
    first: int
    last: int
    code: tuple[str, ...]


def branch_change(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Change | None:
    """`torch.clamp`, `torch.where` or `torch.cond` for an `if`, whichever is the smallest."""
    if not isinstance(statement, ast.If):
        return None
    return _clamped(statement) or _chosen(statement, rest) or _as_functions(statement)


def expression_change(
    statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST
) -> Change | None:
    """`torch.where` for the only `a if condition else b` of a simple statement."""
    found = [node for node in ast.walk(statement) if isinstance(node, ast.IfExp)]
    if len(found) != 1 or not isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
        return None
    old = found[0]
    if not _is_value(old.body) or not _is_value(old.orelse):
        return None
    new = where(old.test, old.body, old.orelse)
    code = ast.unparse(replaced(statement, old, new))
    return _change("Choose with torch.where", _BOTH, statement, statement, [code])


def where(test: ast.expr, a: ast.expr, b: ast.expr) -> ast.expr:
    """`torch.where(test, a, b)`, the test as a tensor."""
    return _call("where", [as_tensor(test), a, b])


def as_tensor(test: ast.expr) -> ast.expr:
    """A condition without what turns it into a Python value: `bool(…)`, `.item()`, `not`, `and`."""
    if isinstance(test, ast.Call) and not test.keywords:
        name = test.func
        if isinstance(name, ast.Name) and name.id == "bool" and len(test.args) == 1:
            return as_tensor(test.args[0])
        if isinstance(name, ast.Attribute) and name.attr == "item" and not test.args:
            return as_tensor(name.value)
    if isinstance(test, ast.Compare):
        plain = copy.copy(test)
        plain.left = as_tensor(test.left)
        plain.comparators = [as_tensor(part) for part in test.comparators]
        return plain
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _call("logical_not", [as_tensor(test.operand)])
    return test


def replaced(statement: ast.stmt, old: ast.AST, new: ast.AST) -> ast.stmt:
    """A statement with one node of it replaced; the statement itself is left as it is."""

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    memory = {id(old): old}  # the copy keeps the node that is looked for
    swapped = Swap().visit(copy.deepcopy(statement, memory))
    assert isinstance(swapped, ast.stmt)
    return ast.fix_missing_locations(swapped)


def _call(name: str, args: list[ast.expr], **keywords: ast.expr) -> ast.expr:
    function = ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load())
    return ast.Call(function, args, [ast.keyword(k, v) for k, v in keywords.items()])


def _change(title: str, why: str, first: ast.stmt, last: ast.stmt, code: Sequence[str]) -> Change:
    lines = tuple(line for part in code for line in part.split("\n"))
    return Change(title, why, first.lineno, last.end_lineno or last.lineno, lines)


def _clamped(statement: ast.If) -> Change | None:
    """`if x > 1: x = 1`, for a number."""
    test, body = statement.test, statement.body
    if statement.orelse or len(body) != 1 or not isinstance(test, ast.Compare):
        return None
    assigned = _assigned(body[0])
    bound = test.comparators[0]
    if assigned is None or len(test.ops) != 1 or not isinstance(bound, ast.Constant):
        return None
    name, value = assigned
    side = _FLIPPED.get(type(test.ops[0]))
    is_same = isinstance(test.left, ast.Name) and test.left.id == name
    if side is None or not is_same or ast.dump(value) != ast.dump(bound):
        return None
    new = _call("clamp", [ast.Name(name, ast.Load())], **{side: bound})
    code = f"{name} = {ast.unparse(new)}"
    return _change("Bound it with torch.clamp", _CLAMP, statement, statement, [code])


def _chosen(statement: ast.If, rest: Sequence[ast.stmt]) -> Change | None:
    """`torch.where` for two values of one name, or two values to return."""
    if len(statement.body) != 1:
        return None
    first, other, last = statement.body[0], statement.orelse[:1], statement
    if isinstance(first, ast.Return):
        follows = list(other) or list(rest[:1])
        if len(statement.orelse) > 1 or len(follows) != 1:
            return None
        second = follows[0]
        if not isinstance(second, ast.Return) or first.value is None or second.value is None:
            return None
        if not _is_value(first.value) or not _is_value(second.value):
            return None
        code = f"return {ast.unparse(where(statement.test, first.value, second.value))}"
        end = last if other else second
        return _change("Choose with torch.where", _BOTH, statement, end, [code])
    assigned = _assigned(first)
    if assigned is None or len(statement.orelse) > 1:
        return None
    name, value = assigned
    against: ast.expr = ast.Name(name, ast.Load())
    if other:
        also = _assigned(other[0])
        if also is None or also[0] != name:
            return None
        against = also[1]
    if not _is_value(value) or not _is_value(against):
        return None
    code = f"{name} = {ast.unparse(where(statement.test, value, against))}"
    return _change("Choose with torch.where", _BOTH, statement, statement, [code])


def _is_value(value: ast.expr) -> bool:
    """Whether an expression can be a tensor or a number: no tuple, text, None or function."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float)
    kinds = ast.Tuple | ast.List | ast.Dict | ast.Set | ast.JoinedStr | ast.Lambda
    return not isinstance(value, kinds)


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """The name that a statement assigns, and the value."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return (target.id, statement.value) if isinstance(target, ast.Name) else None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        name = statement.target.id
        value = ast.BinOp(ast.Name(name, ast.Load()), statement.op, statement.value)
        return name, value
    return None


def _as_functions(statement: ast.If) -> Change | None:
    """`torch.cond` for blocks of assignments to the same names."""
    sides = [statement.body, statement.orelse]
    names = [_names(side) for side in sides]
    if names[0] is None or names[0] != names[1]:
        return None
    made = sorted(names[0])
    used = sorted({name for side in sides for name in _read_first(side)} & set(made))
    results = ", ".join(made)
    code: list[str] = []
    for label, side in zip(("when_true", "when_false"), sides, strict=True):
        code.append(f"def {label}({', '.join(used)}):")
        code += [f"    {line}" for part in side for line in ast.unparse(part).split("\n")]
        code.append(f"    return {results}")
    operands = f"({', '.join(used)}{',' if len(used) == 1 else ''})"
    test = ast.unparse(as_tensor(statement.test))
    code.append(f"{results} = torch.cond({test}, when_true, when_false, {operands})")
    return _change("Choose with torch.cond", _COND, statement, statement, code)


def _names(side: Sequence[ast.stmt]) -> frozenset[str] | None:
    """The names that a block assigns, or None when it does anything else."""
    found = [_assigned(part) for part in side]
    if not found or any(part is None for part in found):
        return None
    return frozenset(part[0] for part in found if part is not None)


def _read_first(side: Sequence[ast.stmt]) -> set[str]:
    """Names that a block reads before it assigns them."""
    assigned: set[str] = set()
    read: set[str] = set()
    for part in side:
        found = _assigned(part)
        assert found is not None
        name, value = found
        loads = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
        read |= loads - assigned
        assigned.add(name)
    return read
