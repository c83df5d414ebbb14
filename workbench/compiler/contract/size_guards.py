"""Which of torch's conditions on sizes a call breaks, and with which sizes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NOT_SO = ", which is not so: "
"""Between a condition and the sizes that break it."""

_COPY = "pass .clone(memory_format=torch.contiguous_format)"
_SIZES = ("size", "stride", "storage_offset")
_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp,
    ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Compare, ast.Eq, ast.NotEq,
    ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Name, ast.Load, ast.Constant, ast.Subscript,
    ast.Call, ast.Attribute,
)  # fmt: skip


def broken(conditions: Sequence[str], bound: Mapping[str, Any]) -> list[str]:
    """The conditions that these arguments break, each with the sizes it speaks of.

    Torch gives all conditions of a call as one guard, and so names also those that hold. One that
    says more than arithmetic on sizes is kept; so are all when none is found to be broken.
    """
    found = []
    for condition in conditions:
        tree = _arithmetic(condition)
        if tree is None:
            found.append(condition)
        elif _holds(tree, bound) is False:
            found.append(f"{condition}{NOT_SO}{', '.join(_sizes(tree, bound))}")
    return found or list(conditions)


def _arithmetic(condition: str) -> ast.Expression | None:
    try:
        tree = ast.parse(condition, mode="eval")
    except SyntaxError:
        return None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return tree if all(_is_plain(node, called) for node in ast.walk(tree)) else None


def _is_plain(node: ast.AST, called: set[int]) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "L"
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and not node.args and not node.keywords
    if isinstance(node, ast.Attribute):  # any other one could run code of the user's
        return node.attr in _SIZES and id(node) in called
    return isinstance(node, _ALLOWED)


def _holds(tree: ast.Expression, bound: Mapping[str, Any]) -> bool | None:
    """Whether the condition is true; None where an argument has no such size."""
    try:
        return bool(_value(tree, bound))
    except (ArithmeticError, AttributeError, LookupError, TypeError):
        return None


def _sizes(tree: ast.Expression, bound: Mapping[str, Any]) -> Iterator[str]:
    tensors = {
        ast.unparse(node.value): node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
    }
    layout = any(isinstance(n, ast.Attribute) and n.attr != "size" for n in ast.walk(tree))
    for text, node in tensors.items():
        tensor = _value(ast.Expression(node), bound)
        # .contiguous() is not enough: where a size is 1, torch takes any stride for contiguous
        how = f" with stride {list(tensor.stride())}: {_COPY}" if layout else ""
        yield f"{text} is {list(tensor.shape)}{how}"


def _value(tree: ast.Expression, bound: Mapping[str, Any]) -> Any:
    return eval(compile(tree, "<guard>", "eval"), {"__builtins__": {}}, {"L": bound})
