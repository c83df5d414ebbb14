"""Suggested rewrites of lines that break the graph, where a small change does what was meant."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.analysis.source.branches import Change, branch_change, expression_change
from workbench.analysis.source.scalars import masked_sum_change, message_change, number_change
from workbench.report import Break, Report

_VALUE = ("Data-dependent branching", "Unsupported Tensor.item() call")
_SHAPE = ("Dynamic shape operator",)
_Rule = Callable[[ast.stmt, Sequence[ast.stmt], ast.AST], Change | None]


@dataclass(frozen=True)
class Rewrite:
    """A change of a few lines: what it does in a sentence, the lines before and after.

    `before` are the lines from `first_line` of the break's file; `after` stand in their place.
    """

    title: str
    why: str
    first_line: int
    before: tuple[str, ...]
    after: tuple[str, ...]


def rewrite_of(report: Report, item: Break) -> Rewrite | None:
    """A change that takes this break away, or None where none is known to be right."""
    for source in report.sources:
        text = None if source.text is None else report.texts.get(source.text)
        if source.file != item.file or text is None:
            continue
        lines = text.split("\n")
        at = item.line - source.first_line + 1
        if not 1 <= at <= len(lines):
            continue
        tree = _parsed(text)
        if tree is None:
            continue
        change = _change(tree, at, item)
        if change is not None:
            return _rewritten(change, lines, source.first_line)
    return None


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(textwrap.dedent(text))
    except SyntaxError:  # such as the end of an expression
        return None


def _rules(item: Break) -> list[_Rule]:
    if item.kind.startswith(_VALUE):
        return [branch_change, expression_change, number_change]
    if item.kind.startswith(_SHAPE):
        return [masked_sum_change]
    return [message_change]


def _change(tree: ast.Module, at: int, item: Break) -> Change | None:
    found = _statement(tree, at)
    if found is None:
        return None
    statement, rest = found
    for rule in _rules(item):
        change = rule(statement, rest, tree)
        if change is not None:
            return change
    return None


def _statement(tree: ast.AST, at: int) -> tuple[ast.stmt, Sequence[ast.stmt]] | None:
    """The innermost statement on a line, with the statements that follow it in its block."""
    best: tuple[ast.stmt, Sequence[ast.stmt]] | None = None
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            for index, inner in enumerate(block):
                last = inner.end_lineno or inner.lineno
                is_inside = best is None or inner.lineno >= best[0].lineno
                if inner.lineno <= at <= last and is_inside:
                    best = inner, block[index + 1 :]
    return best


def _rewritten(change: Change, lines: Sequence[str], first: int) -> Rewrite | None:
    before = lines[change.first - 1 : change.last]
    head = before[0]
    indent = head[: len(head) - len(head.lstrip())]
    after = textwrap.indent("\n".join(change.code), indent).split("\n")
    if _parsed("\n".join(["def f():", *(f"    {line}" for line in change.code)])) is None:
        return None
    return Rewrite(change.title, change.why, change.first + first - 1, tuple(before), tuple(after))
