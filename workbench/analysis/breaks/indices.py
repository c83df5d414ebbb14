"""Rewrites of an index that is a tensor without dimensions, which AOTAutograd reads as a number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from workbench.analysis.breaks.broken_statement import (
    BrokenStatement,
    Rewrite,
    change_of,
    replace_expression,
    replace_nodes,
)

_TITLE = "Index with a tensor of one element"
_READ = "The index stays a tensor, and the dimension of size 1 is squeezed."
_WRITTEN = "The index stays a tensor, and the new value gets a dimension of size 1."


def rewrite_index(broken: BrokenStatement) -> Iterator[Rewrite]:
    """`value[:, at.view(1)]` for `value[:, at]`; `squeeze` for a read, `unsqueeze` for a write.

    One change for each index that may be a tensor; which of them is one shows when it is tried.
    """
    statement = broken.statement
    for node in ast.walk(statement):
        if not isinstance(node, ast.Subscript):
            continue
        for entry, place in _list_candidates(node):
            at = ast.Subscript(node.value, _replaced(node.slice, entry), node.ctx)
            if isinstance(node.ctx, ast.Load):
                squeezed = _call(at, "squeeze", place)
                if rewrite := replace_expression(_TITLE, _READ, statement, node, squeezed):
                    yield rewrite
            elif isinstance(statement, ast.Assign | ast.AugAssign):
                new = _call(statement.value, "unsqueeze", place)
                changed = replace_nodes(statement, {node: at, statement.value: new})
                yield change_of(_TITLE, _WRITTEN, statement, ast.unparse(changed))


def _list_candidates(node: ast.Subscript) -> Iterator[tuple[ast.expr, int]]:
    """The entries of an index that may be tensors, with the dimension that each would leave."""
    entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    constants = [e.value for e in entries if isinstance(e, ast.Constant)]
    if any(value is ... for value in constants):  # which dimension follows it is not written
        return
    picking = [n for n, entry in enumerate(entries) if not _keeps_dimension(entry)]
    is_adjacent = picking == list(range(picking[0], picking[-1] + 1)) if picking else True
    place = picking[0] if picking and is_adjacent else 0
    for n in picking:
        if isinstance(entries[n], ast.Name | ast.Attribute | ast.Subscript):
            yield entries[n], place


def _keeps_dimension(entry: ast.expr) -> bool:
    """Whether an entry is a slice or None, and so leaves a dimension of its own."""
    return isinstance(entry, ast.Slice) or (isinstance(entry, ast.Constant) and entry.value is None)


def _replaced(index: ast.expr, entry: ast.expr) -> ast.expr:
    one = _call(entry, "view", 1)
    if not isinstance(index, ast.Tuple):
        return one
    return ast.Tuple([one if e is entry else e for e in index.elts], ast.Load())


def _call(value: ast.expr, method: str, number: int) -> ast.expr:
    return ast.Call(ast.Attribute(value, method, ast.Load()), [ast.Constant(number)], [])
