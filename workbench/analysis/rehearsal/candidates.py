"""The cures that exist for a graph break, before anybody has tried them."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from workbench.analysis.source.branches import Change, change_of, replaced
from workbench.analysis.source.rewrites import Rewrite, rewrite_by, rewrite_of
from workbench.report import Break, Report

Kind = Literal["rewrite", "config", "move", "explicit"]

CONFIG: Final[Mapping[str, str]] = {
    "Unsupported Tensor.item() call": "capture_scalar_outputs",
    "Data dependent operator": "capture_scalar_outputs",
    "Dynamic shape operator": "capture_dynamic_output_shape_ops",
    "Attempted to wrap RNN": "allow_rnn",
    "Unsupported autograd.grad": "trace_autograd_ops",
}
"""The option of `torch._dynamo.config` that lifts a kind of break, as torch's own hints name it."""

_LEFT_OUT = "The code asks for this break and for nothing else."
_MOVED = "What it reads is there from the start, so that everything after it is one graph."
_EXPLICIT = (
    "The graphs stay as many; the break is one that is meant, at a place that was chosen, and "
    "fullgraph=True still refuses it."
)
_MOVABLE = ast.Assign | ast.AnnAssign | ast.Expr


@dataclass(frozen=True)
class Candidate:
    """A cure of one break that may be tried: lines to write, or an option of Dynamo to set."""

    item: Break
    kind: Kind
    title: str
    why: str
    rewrite: Rewrite | None = None
    option: str | None = None


def first_candidates(report: Report, item: Break) -> Iterator[Candidate]:
    """What takes the break away: a rewrite of the line, an option of Dynamo."""
    rewrite = rewrite_of(report, item) or rewrite_by(report, item, [left_out_change])
    if rewrite is not None:
        yield Candidate(item, "rewrite", rewrite.title, rewrite.why, rewrite)
    for kind, option in CONFIG.items():
        if item.kind.startswith(kind):
            title = f"Set torch._dynamo.config.{option} = True"
            yield Candidate(item, "config", title, "Dynamo captures it then.", option=option)


def last_candidates(report: Report, item: Break) -> Iterator[Candidate]:
    """What is left where nothing takes the break away: move it, or say that it is meant."""
    if (rewrite := _moved(report, item)) is not None:
        yield Candidate(item, "move", rewrite.title, rewrite.why, rewrite)
    if (rewrite := rewrite_by(report, item, [explicit_change])) is not None:
        yield Candidate(item, "explicit", rewrite.title, rewrite.why, rewrite)


def left_out_change(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Change | None:
    """Nothing in place of `torch._dynamo.graph_break()`, where other statements follow."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call) or not rest:
        return None
    if not ast.unparse(statement.value.func).endswith("_dynamo.graph_break"):
        return None
    return Change("Leave the graph break out", _LEFT_OUT, statement.lineno, statement.lineno, ())


def explicit_change(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Change | None:
    """`torch.compiler.disable(f)(x)` for the call of a simple statement."""
    call = getattr(statement, "value", None)
    if not isinstance(statement, _MOVABLE) or not isinstance(call, ast.Call):
        return None
    if "torch.compiler" in ast.unparse(call.func) or "graph_break" in ast.unparse(call.func):
        return None
    disable = ast.Attribute(ast.Attribute(ast.Name("torch"), "compiler"), "disable")
    meant = ast.Call(ast.Call(disable, [call.func], []), call.args, call.keywords)
    code = ast.unparse(replaced(statement, call, meant))
    return change_of("Say that the break is meant", _EXPLICIT, statement, code)


def _moved(report: Report, item: Break) -> Rewrite | None:
    """The statement with the break as the first of its function, where it reads nothing made there.

    The lines keep their text.
    """
    for source in report.sources:
        text = report.texts.get(source.text or "")
        if source.file != item.file or text is None:
            continue
        try:
            tree = ast.parse(textwrap.dedent(text))
        except SyntaxError:
            continue
        at = item.line - source.first_line + 1
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            if (span := _span(function, at)) is not None:
                first, start, end = span
                lines = text.split("\n")
                before = tuple(lines[first - 1 : end])
                after = (*lines[start - 1 : end], *lines[first - 1 : start - 1])
                title = "Move it to the start of the function"
                return Rewrite(title, _MOVED, first + source.first_line - 1, before, after)
    return None


def _span(function: ast.FunctionDef, at: int) -> tuple[int, int, int] | None:
    """The first line of a body, and the first and last of the statement on a line, if it can move.

    It cannot where a statement before it returns, makes what it reads, or uses what it makes.
    """
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    number = next(
        (n for n, node in enumerate(body) if node.lineno <= at <= (node.end_lineno or 0)), None
    )
    if not number or not isinstance(body[number], _MOVABLE):  # 0: it is the first already
        return None
    moving, before = body[number], body[:number]
    reads, makes = _names(moving, ast.Load), _names(moving, ast.Store)
    used = {name for node in before for name in _names(node, ast.Load) | _names(node, ast.Store)}
    made = {name for node in before for name in _names(node, ast.Store)}
    ends = any(isinstance(part, ast.Return) for node in before for part in ast.walk(node))
    if ends or made & reads or used & makes:
        return None
    return body[0].lineno, moving.lineno, moving.end_lineno or moving.lineno


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, context)
    }
