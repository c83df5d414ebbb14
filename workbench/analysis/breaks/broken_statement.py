"""The statement at a graph break, with the source that holds it, and cures that change it."""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.analysis.changes.change import Change, Edit, split_text
from workbench.report import Break, Report

CureKind = Literal["rewrite", "move", "option", "explicit"]


@dataclass(frozen=True)
class Cure:
    """One change that may take a break away, in a sentence or two.

    `outside` is a function that its lines call by another name, which leaves it to Python.
    """

    kind: CureKind
    text: str
    change: Change
    outside: str | None = None

    @property
    def title(self) -> str:
        """What it does, in a few words."""
        return split_text(self.text)[0]

    @property
    def why(self) -> str:
        """The rest of the text, with what it takes or costs."""
        return split_text(self.text)[1]


@dataclass(frozen=True)
class Rewrite:
    """Lines `first` to `last` (from 1) of a source become `code`, without indentation.

    `above` stands over the definition that holds them. `options` are those of Dynamo that the
    change needs too.
    """

    title: str
    why: str
    first: int
    last: int
    code: tuple[str, ...]
    above: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class BrokenStatement:
    """The statement at a break, what follows it in its block, and the source that holds it.

    Lines of the tree count from 1; line 1 is line `first_line` of the file. `is_elif`: it is an
    `elif`, so that what stands in its place goes on with the `if` before it.
    """

    statement: ast.stmt
    rest: Sequence[ast.stmt]
    tree: ast.Module
    lines: Sequence[str]
    first_line: int
    is_elif: bool = False

    def edit(self, file: str, first: int, last: int, code: Sequence[str]) -> Edit:
        """Lines of the tree become `code`, which takes their indentation."""
        before = self.lines[first - 1 : last]
        indent = before[0][: len(before[0]) - len(before[0].lstrip())]
        after = textwrap.indent("\n".join(code), indent).split("\n") if code else []
        return Edit(file, first + self.first_line - 1, tuple(before), tuple(after))


def find_broken_statements(report: Report, item: Break) -> Iterator[BrokenStatement]:
    """The innermost statement at a break, in each source of the report that has its line."""
    for source in report.sources:
        text = report.texts.get(source.text or "")
        if source.file != item.file or text is None:
            continue
        lines = text.split("\n")
        at = item.line - source.first_line + 1
        tree = parsed(text) if 1 <= at <= len(lines) else None
        innermost = None if tree is None else _statement(tree, at)
        if tree is not None and innermost is not None and is_alone(innermost[0], text):
            is_elif = lines[innermost[0].lineno - 1].lstrip().startswith("elif ")
            yield BrokenStatement(*innermost, tree, lines, source.first_line, is_elif)


def parsed(text: str) -> ast.Module | None:
    """The tree of a piece of code; None for what is no whole statement."""
    try:
        return ast.parse(textwrap.dedent(text))
    except SyntaxError:  # such as the end of an expression
        return None


def is_alone(statement: ast.stmt, text: str) -> bool:
    """Whether its lines hold nothing else, so that others can stand in their place."""
    lines = textwrap.dedent(text).split("\n")
    end = (statement.end_lineno or statement.lineno) - 1
    head = lines[statement.lineno - 1].encode()[: statement.col_offset]
    tail = lines[end].encode()[statement.end_col_offset :].strip()
    return not head.strip() and (not tail or tail.startswith(b"#"))


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


def replaced(statement: ast.stmt, old: ast.AST, new: ast.AST) -> ast.stmt:
    """A statement with one node of it replaced; the statement itself is left as it is."""
    return replace_nodes(statement, {old: new})


def replace_nodes(statement: ast.stmt, changed: Mapping[ast.AST, ast.AST]) -> ast.stmt:
    """A statement with some of its nodes replaced; the statement itself is left as it is."""

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return changed[node] if node in changed else self.generic_visit(node)

    memory = {id(old): old for old in changed}  # the copy keeps the nodes that are looked for
    swapped = Swap().visit(copy.deepcopy(statement, memory))
    assert isinstance(swapped, ast.stmt)
    return ast.fix_missing_locations(swapped)


def read_whole_number(node: ast.expr) -> int | None:
    """The integer that an expression writes; None for every other expression."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None


def find_own_names(tree: ast.AST) -> set[str]:
    """The names that belong to a function: its arguments, and what it gives a value."""
    stored = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    return stored | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def change_of(
    title: str,
    why: str,
    first: ast.stmt,
    *code: str,
    last: ast.stmt | None = None,
    above: Sequence[str] = (),
    options: Sequence[str] = (),
) -> Rewrite:
    """The change of a statement, or of those from `first` to `last`, to pieces of code."""
    end = last or first
    lines = tuple(line for part in code for line in part.split("\n"))
    stop = end.end_lineno or end.lineno
    return Rewrite(title, why, first.lineno, stop, lines, tuple(above), tuple(options))


def replace_expression(
    title: str,
    why: str,
    statement: ast.stmt,
    old: ast.expr,
    new: ast.expr,
    above: Sequence[str] = (),
) -> Rewrite | None:
    """One expression of a statement becomes another: in its whole text, or that of its head.

    The body of a loop or an `if` keeps its lines. None for a head that its body shares a line with.
    """
    rewritten = replaced(statement, old, new)
    head = {ast.For: "iter", ast.If: "test", ast.While: "test"}.get(type(statement))
    if head is None:
        code = ast.unparse(rewritten)
        return (
            None
            if hasattr(rewritten, "body")
            else change_of(title, why, statement, code, above=above)
        )
    part: ast.expr = getattr(statement, head)
    last = part.end_lineno or part.lineno
    body: list[ast.stmt] = getattr(rewritten, "body")  # noqa: B009 - a union of three kinds
    if body[0].lineno <= last or old not in set(ast.walk(part)):
        return None
    body[:] = [ast.Pass()]
    getattr(rewritten, "orelse").clear()  # noqa: B009
    lines = ast.unparse(rewritten).split("\n")[:-1]
    return Rewrite(title, why, statement.lineno, last, tuple(lines), tuple(above))


def parse_expression(text: str) -> ast.expr:
    """The tree of one expression."""
    return ast.parse(text, mode="eval").body
