"""Suggested rewrites of lines that break the graph, where a small change does what was meant."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from workbench.analysis.source.branches import (
    Change,
    branch_change,
    change_of,
    expression_change,
    replaced,
    where,
)
from workbench.analysis.source.numbers import number_change
from workbench.report import Break, Report

_VALUE = ("Data-dependent branching", "Unsupported Tensor.item() call")
_SHAPE = ("Dynamic shape operator",)
_Rule = Callable[[ast.stmt, Sequence[ast.stmt], ast.AST], Change | None]


_MESSAGE = "The message is left out of the compiled code; without compiling it still appears."
_MASKED = "Zeros do not change the sum, and the shape no longer depends on the data."
_LOGGING = {"debug", "info", "warning", "warn", "error", "critical", "exception", "log"}


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
    for broken in broken_statements(report, item):
        for rule in _rules(item):
            if change := rule(broken.statement, broken.rest, broken.tree):
                return _rewritten(change, broken.lines, broken.first_line)
    return None


@dataclass(frozen=True)
class BrokenStatement:
    """The statement at a break, what follows it in its block, and the source that holds it.

    Lines of the tree count from 1; line 1 is line `first_line` of the file.
    """

    statement: ast.stmt
    rest: Sequence[ast.stmt]
    tree: ast.Module
    lines: Sequence[str]
    first_line: int


def broken_statements(report: Report, item: Break) -> Iterator[BrokenStatement]:
    """The innermost statement at a break, in each source of the report that has its line."""
    for source in report.sources:
        text = report.texts.get(source.text or "")
        if source.file != item.file or text is None:
            continue
        lines = text.split("\n")
        at = item.line - source.first_line + 1
        tree = _parsed(text) if 1 <= at <= len(lines) else None
        found = None if tree is None else _statement(tree, at)
        if tree is not None and found is not None and _is_alone(found[0], text):
            yield BrokenStatement(*found, tree, lines, source.first_line)


def _is_alone(statement: ast.stmt, text: str) -> bool:
    """Whether its lines hold nothing else, so that others can stand in their place."""
    lines = textwrap.dedent(text).split("\n")
    end = (statement.end_lineno or statement.lineno) - 1
    head = lines[statement.lineno - 1].encode()[: statement.col_offset]
    tail = lines[end].encode()[statement.end_col_offset :].strip()
    is_elif = lines[statement.lineno - 1].lstrip().startswith("elif ")
    return not head.strip() and not is_elif and (not tail or tail.startswith(b"#"))


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


def message_change(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Change | None:
    """Print and log only where nothing is compiled."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    if not is_message(statement.value.func):
        return None
    code = (
        f"if not torch.compiler.is_compiling():\n{textwrap.indent(ast.unparse(statement), '    ')}"
    )
    return change_of("Keep the message out of the compiled code", _MESSAGE, statement, code)


def is_message(function: ast.expr) -> bool:
    """Whether a function prints or logs, by its name."""
    match function:
        case ast.Name(name):
            return name in ("print", "breakpoint")
        case ast.Attribute(value, name) if name in _LOGGING:
            owner = ast.unparse(value).lower()
            return "log" in owner or owner == "warnings"
    return False


def masked_sum_change(
    statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST
) -> Change | None:
    """`torch.where(x > 0, x, 0).sum()` for `x[x > 0].sum()`."""
    found = [(node, picked) for node in ast.walk(statement) if (picked := _summed(node))]
    if len(found) != 1 or not isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
        return None
    call, picked = found[0]
    zero = where(picked.slice, picked.value, ast.Constant(0))
    total = ast.Call(ast.Attribute(zero, "sum", ast.Load()), [], [])
    code = ast.unparse(replaced(statement, call, total))
    return change_of("Sum with zeros in place of the rest", _MASKED, statement, code)


def _summed(node: ast.AST) -> ast.Subscript | None:
    """What a node such as `x[x > 0].sum()` adds up."""
    match node:
        case ast.Call(ast.Attribute(ast.Subscript(_, ast.Compare()) as picked, "sum"), [], []):
            return picked
    return None
