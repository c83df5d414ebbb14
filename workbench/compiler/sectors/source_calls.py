"""Which call of the source an access of the compiled code is: Triton notes one of its arguments."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from workbench.compiler.interpreter.watched.watched_call import Kind

_WORDS: dict[str, tuple[str, ...]] = {
    "read": ("load", "gather"),
    "write": ("store", "scatter"),
    "atomic": ("atomic",),
}


@dataclass(frozen=True)
class SourceCall:
    """A call that reaches memory, by where it begins, from 1; `is_nested`: with another in it.

    What is noted of the outer of two may lie in the inner one.
    """

    line: int
    column: int
    is_nested: bool = False


def find_call(file: str, line: int, column: int, kind: Kind) -> SourceCall:
    """The innermost call of that kind around a place of TTGIR; the place itself without any.

    Columns of TTGIR are those of the function without its indentation.
    """
    tree = _parse("".join(linecache.getlines(file)))
    if tree is None:
        return SourceCall(line, column)
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    indents = [node.col_offset for node in functions if node.lineno <= line <= _end(node)[0]]
    place = line, column - 1 + max(indents, default=0)
    around = [call for call in _list_calls(tree, kind) if _begin(call) <= place < _end(call)]
    if not around:
        return SourceCall(line, column)
    inner = max(around, key=_begin)
    has_inner = any(
        call is not inner and _begin(inner) <= _begin(call) < _end(inner)
        for call in _list_calls(tree, kind)
    )
    return SourceCall(inner.lineno, inner.col_offset + 1, len(around) > 1 or has_inner)


@lru_cache(maxsize=16)
def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:  # a cell with magics: lines are compared as they are
        return None


def _list_calls(tree: ast.Module, kind: Kind) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if any(word in name for word in _WORDS[kind]):
                yield node


def _begin(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
