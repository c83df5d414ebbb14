"""What became of each source line: captured, broken, folded, or left to Python."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from workbench.analysis.fusion.kinds import fallen_places
from workbench.analysis.fusion.traffic import LineTraffic, line_traffic
from workbench.analysis.source.calls import Callers, callers
from workbench.report import Report

State = Literal["plain", "captured", "break", "fallback", "folded", "outside"]
Place = tuple[str, int]
_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_SILENT = (*_NESTED, ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)


def line_states(
    report: Report,
    traffic: Mapping[str, LineTraffic] | None = None,
    calls: Callers | None = None,
) -> dict[Place, State]:
    """By file and line; a worse state wins. Lines that nobody can tell are not in it.

    A line ends in a kernel (captured, fallback), breaks the graph, or was worked out while
    compiling (folded): so is a statement without a trace that was surely run. A block without a
    trace under a line that breaks the graph is outside: Python runs it, if anything does.
    """
    traffic = line_traffic(report) if traffic is None else traffic
    states = _recorded(report, traffic)
    broken = {(item.file, item.line) for item in report.breaks}
    traced = set(states)
    for source in report.sources:
        text = None if source.text is None else report.texts.get(source.text)
        if text is None:
            continue
        shift = source.first_line - 1
        known = {line - shift for file, line in traced if file == source.file}
        breaking = {line - shift for file, line in broken if file == source.file}
        for line, state in _untraced(text, known, breaking):
            states.setdefault((source.file, line + shift), state)
    _raise_callers(report, states, calls)
    return states


def call_sites(
    report: Report, states: Mapping[Place, State], calls: Callers | None = None
) -> dict[str, list[str]]:
    """By line id: the lines that were run and that its function was inlined into.

    `calls` are the `callers` of the report, when they are at hand.
    """
    place_of = _places(report)
    return {
        line: [caller for caller in found if place_of(caller) in states]
        for line, found in (callers(report) if calls is None else calls).items()
    }


def _places(report: Report) -> Callable[[str], Place]:
    files = {source.id: source.file for source in report.sources}

    def place_of(line: str) -> Place:
        _, source, number = line.split(":")
        return files.get(source, ""), int(number)

    return place_of


def _raise_callers(report: Report, states: dict[Place, State], calls: Callers | None) -> None:
    """A line that only calls a captured function was captured, not worked out."""
    place_of = _places(report)
    for line, found in call_sites(report, states, calls).items():
        if states.get(place_of(line)) in ("captured", "fallback"):
            for caller in found:
                if states[place_of(caller)] == "folded":
                    states[place_of(caller)] = "captured"


def _recorded(report: Report, traffic: Mapping[str, LineTraffic]) -> dict[Place, State]:
    place_of = _places(report)
    states: dict[Place, State] = {}
    columns = report.nodes.columns
    untraced: State = "folded" if len(report.kernels) else "captured"
    parts = (columns.get(name, ()) for name in ("file", "line", "op"))
    for file, line, op in set(zip(*parts, strict=True)):
        if file is not None and line is not None and op.startswith("call_"):
            states[file, line] = untraced
    states.update({place_of(line): "captured" for line in traffic})
    states.update(dict.fromkeys(fallen_places(report), "fallback"))
    for item in report.breaks:
        states[item.file, item.line] = "break"
    return states


def _untraced(text: str, known: set[int], breaking: set[int]) -> Iterator[tuple[int, State]]:
    """First lines of statements that no graph knows, from 1, with what became of them."""
    try:
        tree = ast.parse(textwrap.dedent(text))
    except SyntaxError:  # the end of an expression such as a lambda: no statements to tell apart
        return
    for body, is_broken in _bodies(tree, breaking):
        if is_broken and not any(_has(node, known) for node in body):
            yield from ((node.lineno, "outside") for node in body)
        yield from ((line, "folded") for line in _run_lines(body, known))


def _bodies(tree: ast.Module, breaking: set[int]) -> Iterator[tuple[list[ast.stmt], bool]]:
    """The function's own block and those nested in it, and whether its head breaks the graph."""
    first = tree.body[0] if len(tree.body) == 1 else None
    is_function = isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef)
    waiting = [(first.body if is_function else tree.body, False)]  # type: ignore[union-attr]
    while waiting:
        body, is_broken = waiting.pop()
        yield body, is_broken
        for node in body:
            if isinstance(node, _NESTED):
                continue
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(node, name, None)
                if isinstance(inner, list) and inner:
                    waiting.append((inner, not _own_lines(node).isdisjoint(breaking)))


def _run_lines(body: list[ast.stmt], known: set[int]) -> Iterator[int]:
    """Statements without a trace that lie before one that has one, or after it without a jump."""
    last = max((i for i, node in enumerate(body) if _has(node, known)), default=-1)
    if last < 0:
        return
    for index, node in enumerate(body):
        if index > last and any(_jumps(earlier) for earlier in body[last:index]):
            return
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_docstring or isinstance(node, _SILENT):
            continue
        if not _own_lines(node) & known:
            yield node.lineno


def _own_lines(node: ast.stmt) -> set[int]:
    """The lines of a statement; of one with a block, those of its head."""
    inner = getattr(node, "body", None)
    last = inner[0].lineno - 1 if isinstance(inner, list) and inner else node.end_lineno
    return set(range(node.lineno, max(last or node.lineno, node.lineno) + 1))


def _has(node: ast.stmt, known: set[int]) -> bool:
    return not known.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _jumps(node: ast.stmt) -> bool:
    return any(isinstance(inner, _JUMPS) for inner in ast.walk(node))
