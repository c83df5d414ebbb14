"""A line that calls `topk` for one value, written with a maximum."""

from __future__ import annotations

import ast

_PARAMETERS = ("k", "dim", "largest", "sorted")


def rewrite_topk(line: str) -> str | None:
    """The line with `max` in place of its only `topk(x, 1, dim)`; None where it is not that.

    Both give values and indices by these names; among equal values the indices may differ.
    """
    text = line.strip()
    try:
        tree = ast.parse(f"def _():\n {text}")
    except SyntaxError:  # a part of a statement
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_topk(node)]
    made = _max(calls[0]) if len(calls) == 1 else None
    if made is None or calls[0].end_col_offset is None:
        return None
    whole = f" {text}".encode()
    start, end = calls[0].col_offset, calls[0].end_col_offset
    changed = whole[:start] + ast.unparse(made).encode() + whole[end:]
    return line[: len(line) - len(line.lstrip())] + changed.decode()[1:]


def _is_topk(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "topk"


def _max(call: ast.Call) -> ast.Call | None:
    assert isinstance(call.func, ast.Attribute)
    owner, args = call.func.value, list(call.args)
    is_function = isinstance(owner, ast.Name) and owner.id == "torch"
    first = args[:1] if is_function else []
    if (is_function and not first) or any(isinstance(arg, ast.Starred) for arg in args):
        return None
    given = dict(zip(_PARAMETERS, args[len(first) :], strict=False))
    given |= {word.arg: word.value for word in call.keywords if word.arg is not None}
    is_plain = given.keys() <= set(_PARAMETERS) and all(word.arg for word in call.keywords)
    if not is_plain or not _is(given.get("k"), 1) or not _is(given.get("largest"), True):
        return None
    dim = given.get("dim", ast.Constant(-1))
    func = ast.Attribute(owner, "max", ast.Load())
    return ast.Call(func, [*first, dim], [ast.keyword("keepdim", ast.Constant(True))])


def _is(value: ast.expr | None, wanted: int) -> bool:
    """Whether it is this constant; what is not given is the default, which `largest` is True."""
    if value is None:
        return wanted is True
    return isinstance(value, ast.Constant) and value.value == wanted
