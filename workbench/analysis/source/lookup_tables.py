"""Tensors that a value of another tensor picks from a list or a dict, picked in the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from workbench.analysis.source.branches import write_as_tensor
from workbench.analysis.source.broken_statement import (
    BrokenStatement,
    Change,
    parse_expression,
    replace_expression,
)

_TITLE = "Pick with index_select"
_PICKED = (
    "All of them are stacked, and the index picks one while the code runs: right where they have "
    "one shape and one dtype and the index is not negative."
)


def rewrite_table_lookup(broken: BrokenStatement) -> Iterator[Change]:
    """`torch.stack(…).index_select(…)` for `table[index]`, where the table is written out."""
    for node in ast.walk(broken.statement):
        match node:
            case ast.Subscript(ast.Name(name), index) if not isinstance(index, ast.Constant):
                table = _table(broken.tree, name)
            case _:
                continue
        if table is None or isinstance(index, ast.Slice | ast.Tuple):
            continue
        picked = f"({ast.unparse(_kept(index))}).long().reshape(1)"
        new = parse_expression(f"torch.stack({table}).index_select(0, {picked}).squeeze(0)")
        made = replace_expression(_TITLE, _PICKED, broken.statement, node, new)
        if made is not None:
            yield made
        return


def _kept(index: ast.expr) -> ast.expr:
    """An index as a tensor, without what makes it a number."""
    match index:
        case ast.Call(ast.Name("int" | "bool"), [value], []):
            return _kept(value)
        case ast.Call(ast.Attribute(value, "item"), [], []):
            return _kept(value)
        case ast.BinOp(left, sign, right):
            return ast.BinOp(_kept(left), sign, _kept(right))
    return write_as_tensor(index)


def _table(tree: ast.AST, name: str) -> str | None:
    """The values of a table as a sequence; None where it is given anything else somewhere."""
    stored = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    values = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and stored and node.targets == stored
    ]
    match values:
        case [ast.List(items) | ast.Tuple(items)] if items and len(stored) == 1:
            return name
        case [ast.Dict(keys, items)] if items and len(stored) == 1:
            numbers = [key.value for key in keys if isinstance(key, ast.Constant)]
            is_counted = numbers == list(range(len(items)))  # False and True are 0 and 1
            return f"list({name}.values())" if is_counted else None
    return None
