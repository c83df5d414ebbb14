"""Loops that go on as long as a tensor says, as `torch.while_loop`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from workbench.analysis.source.branches import as_tensor, assignments, read_first
from workbench.analysis.source.broken_statement import Change, change_of

_LOOP = (
    "Condition and body become functions, and torch runs them as often as the tensor says; what "
    "goes through the loop has to keep its shape and dtype, and no gradient goes through it on "
    "every release."
)


def while_change(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Change | None:
    """`torch.while_loop` for a loop whose body is assignments of names."""
    if not isinstance(statement, ast.While) or statement.orelse:
        return None
    body = assignments(statement.body)
    if not body:
        return None
    made = {name for name, _ in body}
    before = _assigned_before(tree, statement)
    later = {name for name in _names(tree, after=statement.end_lineno or 0) if name in made}
    names = sorted((read_first(body) | _read(statement.test) | later) & made)
    if not names or not {*names} <= before:
        return None
    held = f"{', '.join(names)}{',' if len(names) == 1 else ''}"
    whole = f"({held})"
    code = [
        f"def goes_on({', '.join(names)}):",
        f"    return {ast.unparse(as_tensor(statement.test))}",
        f"def once({', '.join(names)}):",
        *(f"    {line}" for each in statement.body for line in ast.unparse(each).split("\n")),
        f"    return {whole}",
        f"{whole} = torch.while_loop(goes_on, once, {whole})",
    ]
    return change_of("Go on with torch.while_loop", _LOOP, statement, *code)


def _read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _names(tree: ast.AST, *, after: int) -> set[str]:
    """The names that are read below a line."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.lineno > after
    }


def _assigned_before(tree: ast.AST, statement: ast.stmt) -> set[str]:
    """The arguments, and the names that have a value above a statement."""
    found = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return found | {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.lineno < statement.lineno
    }
