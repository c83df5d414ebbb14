"""Operators that may raise for some data inside of a `try`, which compiled code does not have."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from workbench.analysis.breaks.broken_statement import parsed
from workbench.report import Node, Report
from workbench.report.rows import split_line

_CAPTURED = "dynamo"  # the stage whose nodes are the calls that the user wrote
_MATRIX = {
    *("cholesky", "inv", "inverse", "solve", "solve_triangular", "tensorinv", "tensorsolve", "eig"),
    *("eigh", "eigvals", "eigvalsh", "svd", "svdvals", "pinv", "pinverse", "lstsq", "lu_factor"),
    *("ldl_factor", "matrix_rank", "cond", "lobpcg", "cholesky_inverse", "triangular_solve", "lu"),
    "matrix_power",
}
_WITH_INFO = {"cholesky", "inv", "solve", "lu_factor", "ldl_factor"}
_EX = "call torch.linalg.{}_ex and check its `info`"
_PLACES = {
    *("embedding", "embedding_bag", "gather", "index_select", "index_add", "index_copy", "take"),
    *("index_fill", "index_put", "index_reduce", "scatter", "scatter_add", "scatter_reduce"),
    *("take_along_dim", "one_hot", "nll_loss", "cross_entropy", "bincount", "ctc_loss"),
    *("multi_margin_loss", "multilabel_margin_loss", "masked_scatter", "repeat_interleave"),
}
_DRAWN = {"multinomial", "bernoulli", "poisson", "normal", "binomial", "binary_cross_entropy"}
_CHECKED = {"_assert_async", "_assert_tensor_metadata", "_assert", "_check", "item"}
_DIVIDED = {"floordiv", "mod", "floor_divide", "remainder", "fmod", "divmod"}
_OTHERS = {
    *("ValueError", "TypeError", "KeyError", "AttributeError", "ImportError", "OSError"),
    *("ModuleNotFoundError", "FileNotFoundError", "StopIteration", "KeyboardInterrupt"),
    *("NameError", "EOFError", "UnicodeError", "JSONDecodeError", "TimeoutError"),
}
"""What no operator raises while it runs on data."""
Lines = Mapping[tuple[str, int], "_Try"]


@dataclass(frozen=True)
class _Try:
    """What catches an error of a line: the word for it, and the line where it begins."""

    word: str
    line: int


def may_raise(targets: Iterable[str]) -> bool:
    """Whether an operator of these may raise for some data, wherever it stands."""
    return any(_operator(target) is not None for target in set(targets))


def find_caught_errors(report: Report) -> tuple[str, ...]:
    """A sentence for each line whose operator may raise what eager code catches there."""
    caught = _caught_lines(report)
    if not caught:
        return ()
    files = {source.id: source.file for source in report.sources}
    captured = {graph.id for graph in report.graphs if graph.stage == _CAPTURED}
    by_place: dict[tuple[str, int, str], str] = {}
    for node in report.nodes:
        name = _name(node)
        if node.graph not in captured or node.line is None or name is None:
            continue
        calls = [
            (files.get(source, ""), number) for source, number in map(split_line, node.called_from)
        ]
        within = next((caught[call] for call in calls if call in caught), None)
        within = caught.get((node.file or "", node.line), within)
        if within is not None:
            place = (node.file or "", node.line, name)
            is_written = any(name in line for line in _find_lines(report, *place[:2]))
            by_place.setdefault(place, _sentence(place, within, is_written=is_written))
    return tuple(by_place.values())


def _find_lines(report: Report, file: str, line: int) -> Iterator[str]:
    """The text of a line, in each source that has it."""
    for source in report.sources:
        lines = (report.texts.get(source.text or "") or "").split("\n")
        if source.file == file and 0 <= line - source.first_line < len(lines):
            yield lines[line - source.first_line]


def _sentence(place: tuple[str, int, str], within: _Try, *, is_written: bool) -> str:
    """What may be raised there; only an operator that the line itself calls can be another one."""
    file, line, name = place
    has_info = is_written and name in _WITH_INFO
    cure = _EX.format(name) if has_info else "check its inputs first"
    return (
        f"{name} at {file}:{line} may raise in the {within.word} of line {within.line}. Eager code "
        f"catches the exception; compiled code does not. Fix: {cure}, or put the {within.word} "
        "around the compiled call"
    )


def _name(node: Node) -> str | None:
    """The name of an operator that may raise for some data; None for others."""
    if not node.op.startswith("call_"):
        return None
    name = _operator(node.target)
    is_whole = node.dtype is not None and node.dtype.startswith(("int", "uint"))
    return None if name in _DIVIDED and not is_whole else name


def _operator(target: str) -> str | None:
    """The name of an operator that may raise, of those that divide if they divide whole numbers."""
    last = target.rpartition(".")[2]
    name = last.removeprefix("linalg_").removesuffix("_") or last
    if last in _CHECKED:
        return last
    return name if name in _MATRIX | _PLACES | _DRAWN | _CHECKED | _DIVIDED else None


def _caught_lines(report: Report) -> dict[tuple[str, int], _Try]:
    """By file and line: what catches an error there."""
    by_place: dict[tuple[str, int], _Try] = {}
    for source in report.sources:
        text = report.texts.get(source.text or "")
        tree = parsed(text) if text is not None and ("try" in text or "suppress" in text) else None
        for body, caught in () if tree is None else _catching(tree):
            for line in range(body[0].lineno, (body[-1].end_lineno or body[-1].lineno) + 1):
                place = (source.file, line + source.first_line - 1)
                by_place[place] = _Try(caught.word, caught.line + source.first_line - 1)
    return by_place


def _catching(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], _Try]]:
    """The blocks whose errors are caught, the outer ones first."""
    for node in ast.walk(tree):
        match node:
            case ast.Try(body, handlers) if any(map(_catches, handlers)):
                yield body, _Try("`try`", node.lineno)
            case ast.With(items, body) if any(_suppresses(item) for item in items):
                yield body, _Try("`suppress`", node.lineno)


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes errors of operators, and does more than to raise them again."""
    if handler.type is not None and _names(handler.type) <= _OTHERS:
        return False
    match handler.body:
        case [ast.Raise(None)]:
            return False
    return True


def _suppresses(item: ast.withitem) -> bool:
    match item.context_expr:
        case ast.Call(function, kinds) if ast.unparse(function).rpartition(".")[2] == "suppress":
            return not set().union(*map(_names, kinds)) <= _OTHERS
    return False


def _names(kind: ast.expr) -> set[str]:
    parts = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return {ast.unparse(part).rpartition(".")[2] for part in parts}
