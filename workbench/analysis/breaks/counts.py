"""Counts and lists that Python takes out of tensors, kept as tensors of a known shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from workbench.analysis.breaks.broken_statement import BrokenStatement, Rewrite, change_of, replaced

_COUNTED = (
    "Its shape is known before it runs, where bincount's depends on the data: right where no "
    "value is {} or more."
)
_KEPT = (
    "A tensor computes like the list of its numbers, and stays in the graph; detached, no gradient "
    "goes through it, as through no list."
)
_SCALARS = "capture_scalar_outputs"
_TO_HOST = ("tolist", "numpy", "cpu")


def list_changes(broken: BrokenStatement) -> Iterator[Rewrite]:
    """What keeps counts a tensor, or else lists of numbers."""
    changes = list(_count_changes(broken))
    yield from changes or _list_changes(broken)


def _count_changes(broken: BrokenStatement) -> Iterator[Rewrite]:
    """`one_hot(…).sum(0)` for `bincount(…, minlength=…)`: as a tensor, or with its `.tolist()`."""
    statement = broken.statement
    calls = [(node, counted) for node in ast.walk(statement) if (counted := _counted(node))]
    if len(calls) != 1 or hasattr(statement, "body"):
        return
    call, (values, length) = calls[0]
    title = "Count with one_hot(…).sum(0)"
    why = _COUNTED.format(ast.unparse(length))
    hot = ast.parse("torch.nn.functional.one_hot", mode="eval").body
    new = _method(ast.Call(hot, [values, length], []), "sum", ast.Constant(0))
    whole = _to_host(statement, call)
    yield change_of(title, why, statement, ast.unparse(replaced(statement, whole, new)))
    if whole is not call:
        code = ast.unparse(replaced(statement, call, new))
        yield change_of(title, why, statement, code, options=(_SCALARS,))


def _list_changes(broken: BrokenStatement) -> Iterator[Rewrite]:
    """The tensor itself in place of `.tolist()`, or its parts where they get names."""
    statement = broken.statement
    lists = [node for node in ast.walk(statement) if _is_list(node)]
    if len(lists) != 1 or not isinstance(statement, ast.Assign | ast.Return):
        return
    (call,) = lists
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    new = _method(call.func.value, "detach")
    match statement:
        case ast.Assign([ast.Tuple() | ast.List()], value) if value is call:
            new = _method(new, "unbind")
    code = ast.unparse(replaced(statement, call, new))
    yield change_of("Keep the values a tensor", _KEPT, statement, code)


def _is_list(node: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Attribute(_, "tolist"), [], []):
            return True
    return False


def _counted(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """What a call of bincount counts, and the smallest length of what it gives."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("torch"), "bincount"), [values, *rest], keywords):
            pass
        case ast.Call(ast.Attribute(values, "bincount"), [*rest], keywords):
            pass
        case _:
            return None
    named = {keyword.arg: keyword.value for keyword in keywords}
    length = named.pop("minlength", rest[1] if len(rest) == 2 else None)
    weights = named.pop("weights", rest[0] if rest else None)
    is_counting = weights is None or (isinstance(weights, ast.Constant) and weights.value is None)
    return (values, length) if is_counting and length is not None and not named else None


def _to_host(statement: ast.stmt, call: ast.AST) -> ast.AST:
    """The call with `.cpu()`, `.tolist()` and `.numpy()` behind it."""
    while True:
        outer = next((node for node in ast.walk(statement) if _is_moved(node, call)), None)
        if outer is None:
            return call
        call = outer


def _is_moved(node: ast.AST, inner: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Attribute(value, name), [], []):
            return value is inner and name in _TO_HOST
    return False


def _method(value: ast.expr, name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(value, name, ast.Load()), list(args), [])
