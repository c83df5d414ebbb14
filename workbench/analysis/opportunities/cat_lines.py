"""A loop in which a tensor grows by `torch.cat`, rewritten to collect its parts in a list."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.analysis.breaks.broken_statement import (
    is_alone,
    parsed,
    read_whole_number,
    replace_nodes,
)

_CALLS = ("torch.cat", "torch.concat", "torch.concatenate")


@dataclass(frozen=True)
class _Growing:
    """`name = torch.cat([name, *added], dim)`."""

    statement: ast.Assign
    name: str
    added: list[ast.expr]
    dim: int

    @property
    def parts(self) -> str:
        return f"{self.name}_parts"


def rewrite_cat(
    lines: Sequence[str], number: int
) -> tuple[int, tuple[str, ...], tuple[str, ...]] | None:
    """The loop around a line of a function, before and after, and its place among the lines.

    The line has to be `x = torch.cat([x, …], dim)`, and the loop to read `x` nowhere else but for
    its last step, as in `x[:, -1:]`. None where it is written in another way, or where the loop
    changes something in place: a list would hold what was changed afterwards.
    """
    text = textwrap.dedent("\n".join(lines))
    plain, tree = text.split("\n"), parsed(text)
    if tree is None:
        return None
    for loop in ast.walk(tree):  # from the outside in
        if not isinstance(loop, ast.For | ast.While) or loop.orelse:
            continue
        growing = next((g for s in ast.walk(loop) if (g := _growing(s, number + 1))), None)
        if growing is None or loop.end_lineno is None or not _is_plain(tree, loop, growing):
            continue
        if not is_alone(growing.statement, text):
            continue
        steps = [s for node in _inside(loop) if (s := _last_step(node, growing)) is not None]
        if len(steps) != sum(_is_name(node, growing.name) for node in _inside(loop)) - 2:
            continue  # of the statement: what is assigned and what is joined
        first, end = loop.lineno - 1, loop.end_lineno
        made = _changed(plain, loop, growing, steps)
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        start = plain[first][: len(plain[first]) - len(plain[first].lstrip())]
        made = [
            f"{start}{growing.parts} = [{growing.name}]",
            *made,
            f"{start}{growing.name} = torch.cat({growing.parts}, {growing.dim})",
        ]
        shift = indent[len(start) :]
        after = tuple(f"{shift}{line}" if line.strip() else line for line in made)
        return first, tuple(lines[first:end]), after
    return None


def _growing(node: ast.AST, line: int) -> _Growing | None:
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(
                func=called,
                args=[ast.List(elts=elements) | ast.Tuple(elts=elements), *rest],
                keywords=words,
            ),
            lineno=first,
        ) if ast.unparse(called) in _CALLS and first <= line <= (node.end_lineno or first):
            named = {word.arg: word.value for word in words}
            dims = [*rest, *named.values()] or [ast.Constant(0)]
            if named.keys() - {"dim", "axis"} or len(dims) > 1 or len(elements) < 2:
                return None
            dim, added = read_whole_number(dims[0]), elements[1:]
            is_own = _is_name(elements[0], name)
            if dim is None or not is_own or any(isinstance(e, ast.Starred) for e in added):
                return None
            return _Growing(node, name, added, dim)
    return None


def _inside(loop: ast.For | ast.While) -> Iterator[ast.AST]:
    """What runs in each step: a `for` asks for its items once."""
    for part in (*loop.body, *([loop.test] if isinstance(loop, ast.While) else [])):
        yield from ast.walk(part)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_plain(tree: ast.Module, loop: ast.For | ast.While, growing: _Growing) -> bool:
    """Whether nothing in the loop changes a tensor in place, and no function reads the name."""
    for node in _inside(loop):
        match node:
            case ast.AugAssign() | ast.Global() | ast.Nonlocal() | ast.Lambda():
                return False
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return False
            case ast.Subscript(ctx=ast.Store()) | ast.keyword(arg="out"):
                return False
            case ast.Attribute(attr=name) if name.endswith("_") and not name.endswith("__"):
                return False
    taken = any(_is_name(node, growing.parts) for node in ast.walk(tree))
    return not taken and not (isinstance(loop, ast.For) and _is_name(loop.target, growing.name))


def _last_step(node: ast.AST, growing: _Growing) -> ast.expr | None:
    """The `x` of `x[:, -1]` or `x[:, -1:]`, at the dimension in which `x` grows."""
    if not isinstance(node, ast.Subscript) or not _is_name(node.value, growing.name):
        return None
    index = ast.unparse(node.slice).strip("()").replace(" ", "")
    whole = ":," * growing.dim if growing.dim >= 0 else "...,"
    is_last = growing.dim >= -1 and index in (f"{whole}-1", f"{whole}-1:")
    return node.value if is_last else None


def _changed(
    plain: list[str], loop: ast.For | ast.While, growing: _Growing, steps: list[ast.expr]
) -> list[str]:
    """The lines of the loop with the statement and the reads of the last step replaced."""
    statement, made, last = growing.statement, list(plain), f"{growing.parts}[-1]"
    for node in sorted(steps, key=lambda each: (each.lineno, each.col_offset), reverse=True):
        text = made[node.lineno - 1].encode()
        begin, end = node.col_offset, node.end_col_offset or 0
        made[node.lineno - 1] = (text[:begin] + last.encode() + text[end:]).decode()
    swapped: dict[ast.AST, ast.AST] = {step: ast.Name(last) for step in steps}
    added = [ast.unparse(replace_nodes(ast.Expr(each), swapped)) for each in growing.added]
    listed = ", ".join(added)
    call = f"append({listed})" if len(added) == 1 else f"extend([{listed}])"
    line = plain[statement.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    made[statement.lineno - 1 : statement.end_lineno] = [f"{indent}{growing.parts}.{call}"]
    removed = len(plain) - len(made)
    return made[loop.lineno - 1 : (loop.end_lineno or 0) - removed]
