"""Loops that go on as long as a tensor says, as `torch.while_loop`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from workbench.analysis.breaks.branches import list_assignments, read_first, write_as_tensor
from workbench.analysis.breaks.broken_statement import Change, change_of

_LOOP = (
    "Condition and body become functions, and torch runs them as often as the tensor says; what "
    "goes through the loop has to keep its shape and dtype, and no gradient goes through it on "
    "every release."
)


def rewrite_while(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Change | None:
    """`torch.while_loop` for a loop whose body is assignments of names."""
    if not isinstance(statement, ast.While) or statement.orelse:
        return None
    body = list_assignments(statement.body)
    if not body:
        return None
    made = {name for name, _ in body}
    before = _assigned_before(tree, statement)
    later = {name for name in _names(tree, after=statement.end_lineno or 0) if name in made}
    names = sorted((read_first(body) | _read(statement.test) | later) & made)
    if not names or not {*names} <= before:
        return None
    whole = _in_parentheses(names)
    counters = _numbers_before(tree, statement)
    # a number would be a constant of the graph, and torch refuses a loop that changes one
    start = _in_parentheses([f"torch.as_tensor({n})" if n in counters else n for n in names])
    code = [
        f"def goes_on({', '.join(names)}):",
        f"    return {ast.unparse(write_as_tensor(statement.test))}",
        f"def once({', '.join(names)}):",
        *(f"    {line}" for each in statement.body for line in _in_new_name(each).split("\n")),
        f"    return {whole}",
        f"{whole} = torch.while_loop(goes_on, once, {start})",
    ]
    return change_of("Go on with torch.while_loop", _LOOP, statement, *code)


def _in_parentheses(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _in_new_name(statement: ast.stmt) -> str:
    """A statement of the body, `n = n + 1` for `n += 1`, which would change what goes in."""
    match statement:
        case ast.AugAssign(ast.Name(name) as target, operator, value):
            changed = ast.BinOp(ast.Name(name, ast.Load()), operator, value)
            return ast.unparse(ast.Assign([target], changed, lineno=statement.lineno))
        case _:
            return ast.unparse(statement)


def _numbers_before(tree: ast.AST, statement: ast.stmt) -> set[str]:
    """The names that were last given a number above a statement."""
    by_name: dict[str, bool] = {}
    above = [n for n in ast.walk(tree) if isinstance(n, ast.Assign) and n.lineno < statement.lineno]
    for node in sorted(above, key=lambda each: each.lineno):
        for target in node.targets:
            if isinstance(target, ast.Name):
                is_number = isinstance(node.value, ast.Constant) and type(node.value.value) in (
                    int,
                    float,
                )
                by_name[target.id] = is_number
    return {name for name, is_number in by_name.items() if is_number}


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
    names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return names | {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.lineno < statement.lineno
    }
