"""Lines that leave the graph for a number, a message or a shape that depends on data."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from workbench.analysis.source.branches import Change, _change, replaced, where

_NUMBER = "A tensor without dimensions computes like a number, and stays in the graph."
_MESSAGE = "The message is left out of the compiled code; without compiling it still appears."
_MASKED = "Zeros do not change the sum, and the shape no longer depends on the data."
_LOGGING = {"debug", "info", "warning", "warn", "error", "critical", "exception", "log"}
_NUMBERS = {"float", "int"}


def number_change(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Change | None:
    """Leave out `.item()` where only arithmetic is done with the number."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and _taken(node)]
    if len(calls) != 1 or not isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
        return None
    call = calls[0]
    value = _taken(call)
    assert value is not None
    if not _is_operand(statement, call) and not _only_computes(statement, call, tree):
        return None
    code = ast.unparse(replaced(statement, call, value))
    return _change("Keep the value a tensor", _NUMBER, statement, statement, [code])


def _taken(call: ast.Call) -> ast.expr | None:
    """The tensor that a call such as `x.item()` or `float(x)` makes a number of."""
    if call.keywords:
        return None
    name = call.func
    if isinstance(name, ast.Attribute) and name.attr == "item" and not call.args:
        return name.value
    if isinstance(name, ast.Name) and name.id in _NUMBERS and len(call.args) == 1:
        return call.args[0] if isinstance(call.args[0], ast.Call | ast.Name) else None
    return None


def _is_operand(root: ast.AST, node: ast.AST) -> bool:
    """Whether a value is only an operand of arithmetic."""
    for parent in ast.walk(root):
        if node in ast.iter_child_nodes(parent):
            return isinstance(parent, ast.BinOp | ast.UnaryOp)
    return False


def _only_computes(statement: ast.stmt, call: ast.Call, tree: ast.AST) -> bool:
    """Whether the statement names the number, and every use of the name is an operand."""
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return False
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name):
        return False
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == target.id]
    read = [node for node in uses if isinstance(node.ctx, ast.Load)]
    return len(uses) == len(read) + 1 and all(_is_operand(tree, node) for node in read)


def message_change(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Change | None:
    """Print and log only where nothing is compiled."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    if not _is_message(statement.value.func):
        return None
    code = ["if not torch.compiler.is_compiling():"]
    code += [f"    {line}" for line in ast.unparse(statement).split("\n")]
    return _change(
        "Keep the message out of the compiled code", _MESSAGE, statement, statement, code
    )


def _is_message(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in ("print", "breakpoint")
    if not isinstance(function, ast.Attribute) or function.attr not in _LOGGING:
        return False
    owner = ast.unparse(function.value).lower()
    return "log" in owner or owner == "warnings"


def masked_sum_change(
    statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST
) -> Change | None:
    """`torch.where(x > 0, x, 0).sum()` for `x[x > 0].sum()`."""
    found = [node for node in ast.walk(statement) if _is_masked_sum(node)]
    if len(found) != 1 or not isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
        return None
    call = found[0]
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    picked = call.func.value
    assert isinstance(picked, ast.Subscript)
    zero = where(picked.slice, picked.value, ast.Constant(0))
    total = ast.Call(ast.Attribute(zero, "sum", ast.Load()), [], [])
    code = ast.unparse(replaced(statement, call, total))
    return _change("Sum with zeros in place of the rest", _MASKED, statement, statement, [code])


def _is_masked_sum(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr != "sum":
        return False
    picked = function.value
    return isinstance(picked, ast.Subscript) and isinstance(picked.slice, ast.Compare)
