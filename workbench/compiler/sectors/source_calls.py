"""Which call of the source an access of the compiled code is: Triton notes one of its arguments."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from workbench.compiler.interpreter.watched.watched_call import Kind

_WORDS: Mapping[Kind, tuple[str, ...]] = {
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


class _Span(NamedTuple):
    """Where a part of a source begins and ends, each as its line and column in bytes."""

    begin: tuple[int, int]
    end: tuple[int, int]


class _Source(NamedTuple):
    """The functions of a file, and its calls that reach memory."""

    functions: tuple[_Span, ...]
    calls: Mapping[Kind, tuple[_Span, ...]]


def find_call(file: str, line: int, column: int, kind: Kind) -> SourceCall:
    """The innermost call of that kind around a place of TTGIR; the place itself without any.

    Columns of TTGIR are those of the function without its indentation.
    """
    source = _read("".join(linecache.getlines(file)))
    if source is None:
        return SourceCall(line, column)
    indents = (part.begin[1] for part in source.functions if part.begin[0] <= line <= part.end[0])
    place, calls = (line, column - 1 + max(indents, default=0)), source.calls[kind]
    around = [call for call in calls if call.begin <= place < call.end]
    if not around:
        return SourceCall(line, column)
    inner = max(around, key=lambda call: call.begin)
    has_inner = any(call is not inner and inner.begin <= call.begin < inner.end for call in calls)
    return SourceCall(inner.begin[0], inner.begin[1] + 1, len(around) > 1 or has_inner)


@lru_cache(maxsize=16)
def _read(text: str) -> _Source | None:
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except SyntaxError:  # a cell with magics: lines are compared as they are
        return None
    functions = tuple(_find_span(node) for node in nodes if isinstance(node, ast.FunctionDef))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return _Source(functions, {kind: tuple(_list_calls(calls, kind)) for kind in _WORDS})


def _list_calls(calls: list[ast.Call], kind: Kind) -> Iterator[_Span]:
    for node in calls:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if any(word in name for word in _WORDS[kind]):
            yield _find_span(node)


def _find_span(node: ast.stmt | ast.expr) -> _Span:
    end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return _Span((node.lineno, node.col_offset), end)
