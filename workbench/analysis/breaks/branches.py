"""Branches on the value of a tensor, as operations that need no branch."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from workbench.analysis.breaks.broken_statement import Rewrite, change_of, replaced

_BOTH = (
    "Both sides are computed, and the condition selects one result. Both must be safe to compute."
)
_CLAMP = "torch.clamp needs no branch and stays in the graph."
_COND = (
    "Both sides become functions, and torch.cond runs one of them. They must return tensors of the "
    "same shapes and dtypes."
)
_FLIPPED = {ast.Gt: "max", ast.GtE: "max", ast.Lt: "min", ast.LtE: "min"}


def rewrite_branch(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Rewrite | None:
    """`torch.clamp`, `torch.where` or `torch.cond` for an `if`, whichever is the smallest."""
    if not isinstance(statement, ast.If):
        return None
    return _clamped(statement) or _chosen(statement, rest) or _as_functions(statement)


def rewrite_expression(
    statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST
) -> Rewrite | None:
    """`torch.where` for the only `a if condition else b` of a simple statement."""
    choices = [node for node in ast.walk(statement) if isinstance(node, ast.IfExp)]
    if len(choices) != 1 or not isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
        return None
    old = choices[0]
    if not _is_value(old.body) or not _is_value(old.orelse):
        return None
    new = where(old.test, old.body, old.orelse)
    code = ast.unparse(replaced(statement, old, new))
    return change_of("Choose with torch.where", _BOTH, statement, code)


def where(test: ast.expr, a: ast.expr, b: ast.expr) -> ast.expr:
    """`torch.where(test, a, b)`, the test as a tensor."""
    return _call("where", [write_as_tensor(test), a, b])


def write_as_tensor(test: ast.expr) -> ast.expr:
    """A condition as a tensor: without `bool(…)`, `.item()`, `not`, `and`, `or` and the like."""
    match test:
        case ast.Call(ast.Name("bool"), [value], []) | ast.Call(
            ast.Attribute(value, "item"), [], []
        ):
            return write_as_tensor(value)
        case ast.Compare(left, [ast.In() as sign], [held]):
            return _method(ast.Compare(held, [ast.Eq()], [left]), "any")
        case ast.Compare(left, [sign], [right]):
            return ast.Compare(write_as_tensor(left), [sign], [write_as_tensor(right)])
        case ast.Compare(left, signs, others):
            pairs = zip([left, *others], signs, others, strict=False)
            parts = [write_as_tensor(ast.Compare(a, [sign], [b])) for a, sign, b in pairs]
            return _joined(ast.BitAnd(), parts)
        case ast.UnaryOp(ast.Not(), operand):
            value = write_as_tensor(operand)
            is_truth = _is_truth(value)
            return ast.UnaryOp(ast.Invert(), value) if is_truth else _call("logical_not", [value])
        case ast.BoolOp(sign, values):
            bits = ast.BitAnd() if isinstance(sign, ast.And) else ast.BitOr()
            return _joined(bits, [_truth(write_as_tensor(value)) for value in values])
        case ast.Call(ast.Attribute(ast.Name("torch"), "equal"), [left, right], []):
            return _method(ast.Compare(left, [ast.Eq()], [right]), "all")
        case ast.Call(ast.Attribute(ast.Name("torch") as owner, "allclose"), args, keywords):
            close = ast.Call(ast.Attribute(owner, "isclose", ast.Load()), args, keywords)
            return _method(close, "all")
        case ast.Call(
            ast.Name("any" | "all" as name),
            [ast.GeneratorExp(value, [ast.comprehension(ast.Name(item), whole, [], 0)])],
            [],
        ):
            return _method(_with_name(value, item, whole), name)
    return test


def negated(test: ast.expr) -> ast.expr:
    """The opposite of a condition."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return operand
    return ast.UnaryOp(ast.Not(), test)


def _joined(sign: ast.operator, parts: Sequence[ast.expr]) -> ast.expr:
    joined = parts[0]
    for part in parts[1:]:
        joined = ast.BinOp(joined, sign, part)
    return joined


def _is_truth(value: ast.expr) -> bool:
    """Whether a condition is a tensor of booleans, by its look."""
    match value:
        case ast.Compare() | ast.UnaryOp(ast.Invert()) | ast.BinOp(_, ast.BitAnd() | ast.BitOr()):
            return True
        case ast.Call(ast.Attribute(_, name)):
            return name in ("any", "all") or name.startswith(("is", "logical_"))
    return False


def _truth(value: ast.expr) -> ast.expr:
    return value if _is_truth(value) else ast.Compare(value, [ast.NotEq()], [ast.Constant(0)])


def _with_name(value: ast.expr, name: str, new: ast.expr) -> ast.expr:
    """An expression with another one in place of a name."""

    class Swap(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return new if node.id == name else node

    swapped = Swap().visit(copy.deepcopy(value))
    assert isinstance(swapped, ast.expr)
    return swapped


def _method(value: ast.expr, name: str) -> ast.expr:
    return ast.Call(ast.Attribute(value, name, ast.Load()), [], [])


def _call(name: str, args: list[ast.expr], **keywords: ast.expr) -> ast.expr:
    function = ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load())
    return ast.Call(function, args, [ast.keyword(k, v) for k, v in keywords.items()])


def _clamped(statement: ast.If) -> Rewrite | None:
    """`if x > 1: x = 1`, for a number."""
    match statement:
        case ast.If(ast.Compare(ast.Name(name), [sign], [ast.Constant() as bound]), [body], []):
            own = _assigned(body)
            is_bound = own is not None and (own[0], ast.dump(own[1])) == (name, ast.dump(bound))
            if is_bound and (side := _FLIPPED.get(type(sign))):
                new = _call("clamp", [ast.Name(name, ast.Load())], **{side: bound})
                code = f"{name} = {ast.unparse(new)}"
                return change_of("Bound it with torch.clamp", _CLAMP, statement, code)
    return None


def _chosen(statement: ast.If, rest: Sequence[ast.stmt]) -> Rewrite | None:
    """`torch.where` for two values of one name, or two values to return."""
    last: ast.stmt = statement
    match statement.body, statement.orelse or [*rest[:1]]:
        case [ast.Return(ast.expr() as a)], [ast.Return(ast.expr() as b) as second]:
            head, last = "return", statement if statement.orelse else second
        case [first], _ if (own := _assigned(first)) and len(statement.orelse) < 2:
            name, a = own
            other = _assigned(statement.orelse[0]) if statement.orelse else None
            if statement.orelse and (other is None or other[0] != name):
                return None
            head, b = f"{name} =", other[1] if other else ast.Name(name, ast.Load())
        case _:
            return None
    if not _is_value(a) or not _is_value(b):
        return None
    code = f"{head} {ast.unparse(where(statement.test, a, b))}"
    return change_of("Choose with torch.where", _BOTH, statement, code, last=last)


def _is_value(value: ast.expr) -> bool:
    """Whether an expression can be a tensor or a number: not a tuple, text, None or function."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float)
    kinds = ast.Tuple | ast.List | ast.Dict | ast.Set | ast.JoinedStr | ast.Lambda
    return not isinstance(value, kinds)


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """The name that a statement assigns, and the value."""
    match statement:
        case ast.Assign([ast.Name(name)], value):
            return name, value
        case ast.AugAssign(ast.Name(name), sign, value):
            return name, ast.BinOp(ast.Name(name, ast.Load()), sign, value)
    return None


def _as_functions(statement: ast.If) -> Rewrite | None:
    """`torch.cond` for blocks of assignments to the same names."""
    sides = [statement.body, statement.orelse]
    assigned = [list_assignments(side) for side in sides]
    names = [{name for name, _ in parts} for parts in assigned]
    if not names[0] or names[0] != names[1]:
        return None
    outputs = sorted(names[0])
    used = sorted({name for parts in assigned for name in read_first(parts)} & names[0])
    results = ", ".join(outputs)
    code: list[str] = []
    for label, side in zip(("when_true", "when_false"), sides, strict=True):
        code.append(f"def {label}({', '.join(used)}):")
        code += [f"    {line}" for part in side for line in ast.unparse(part).split("\n")]
        code.append(f"    return {results}")
    operands = f"({', '.join(used)}{',' if len(used) == 1 else ''})"
    test = ast.unparse(write_as_tensor(statement.test))
    code.append(f"{results} = torch.cond({test}, when_true, when_false, {operands})")
    return change_of("Choose with torch.cond", _COND, statement, *code)


def list_assignments(side: Sequence[ast.stmt]) -> list[tuple[str, ast.expr]]:
    """Names and values that a block assigns; nothing when it does anything else."""
    assignments = [part for statement in side if (part := _assigned(statement))]
    return assignments if len(assignments) == len(side) else []


def read_first(block: Sequence[tuple[str, ast.expr]]) -> set[str]:
    """Names that a block reads before it assigns them."""
    assigned: set[str] = set()
    read: set[str] = set()
    for name, value in block:
        read |= {n.id for n in ast.walk(value) if isinstance(n, ast.Name)} - assigned
        assigned.add(name)
    return read
