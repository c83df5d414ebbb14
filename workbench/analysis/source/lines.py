"""Lines of the source: what became of each, which call which."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Literal

from workbench.report import Report, Source
from workbench.report.column_filter import list_linked_pairs, select_rows

State = Literal["plain", "captured", "break", "fallback", "folded", "outside"]
Place = tuple[str, int]
_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPUTING = (ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.IfExp)
_SILENT = (*_NESTED, ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)


RELATION = "line-line"  # a link from a line to the line that called its function
_CALL = re.compile(r"(?P<own>\bself\.)?\b(?P<name>[A-Za-z_]\w*)(\[[^\]]*\])?\(")
Callers = Mapping[str, tuple[str, ...]]


def find_line_states(report: Report, ending: Collection[str], calls: Callers) -> dict[Place, State]:
    """By file and line; a worse state wins. Lines that nobody can tell are not in it.

    A line ends in a kernel (captured, fallback), breaks the graph, or was worked out while
    compiling (folded): so is a statement without a trace that was surely run. A block without a
    trace under a line that breaks the graph is outside: Python runs it, if anything does.
    `ending` are the ids of the lines that end in kernels, `calls` those of `callers`.
    """
    states = _recorded(report, ending)
    broken = {(item.file, item.line) for item in report.breaks}
    traced = set(states)
    for source in report.sources:
        text = report.texts.get(source.text or "")
        if text is None:
            continue
        shift = source.first_line - 1
        known = {line - shift for file, line in traced if file == source.file}
        breaking = {line - shift for file, line in broken if file == source.file}
        for line, state in _untraced(text, known, breaking):
            if report.outcome.ok or state != "folded":  # what failed was not worked out to its end
                states.setdefault((source.file, line + shift), state)
    place_of = _places(report)
    for called, sites in call_sites(report, states, calls).items():
        if states.get(place_of(called)) in ("captured", "fallback"):
            # a line that only calls a captured function was captured, not worked out
            places = map(place_of, sites)
            states.update({place: "captured" for place in places if states[place] == "folded"})
    return states


def call_sites(
    report: Report, states: Mapping[Place, State], calls: Callers
) -> dict[str, list[str]]:
    """By line id: the lines that were run and that its function was inlined into."""
    place_of = _places(report)
    return {
        line: [caller for caller in callers if place_of(caller) in states]
        for line, callers in calls.items()
    }


def _places(report: Report) -> Callable[[str], Place]:
    files = {source.id: source.file for source in report.sources}

    def place_of(line: str) -> Place:
        _, source, number = line.split(":")
        return files.get(source, ""), int(number)

    return place_of


def _recorded(report: Report, ending: Collection[str]) -> dict[Place, State]:
    place_of = _places(report)
    states: dict[Place, State] = {}
    columns = report.nodes.columns
    untraced: State = "folded" if len(report.kernels) else "captured"
    parts = (columns.get(name, ()) for name in ("file", "line", "op"))
    for file, line, op in set(zip(*parts, strict=True)):
        if file is not None and line is not None and op.startswith("call_"):
            states[file, line] = untraced
    states.update({place_of(line): "captured" for line in ending})
    states.update(dict.fromkeys(find_fallen_places(report), "fallback"))
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
        passed = (inner for earlier in body[last:index] for inner in ast.walk(earlier))
        if any(isinstance(inner, _JUMPS) for inner in passed):
            return
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_docstring or isinstance(node, _SILENT):
            continue
        if not _own_lines(node) & known and not _hands_on(node):
            yield node.lineno


def _hands_on(node: ast.stmt) -> bool:
    """Whether a statement returns what others computed, and computes nothing."""
    if not isinstance(node, ast.Return) or node.value is None:
        return False
    parts = list(ast.walk(node.value))
    return any(isinstance(part, ast.Name) for part in parts) and not any(
        isinstance(part, _COMPUTING) for part in parts
    )


def _own_lines(node: ast.stmt) -> set[int]:
    """The lines of a statement; of one with a block, those of its head."""
    inner = getattr(node, "body", None)
    last = inner[0].lineno - 1 if isinstance(inner, list) and inner else node.end_lineno
    return set(range(node.lineno, max(last or node.lineno, node.lineno) + 1))


def _has(node: ast.stmt, known: set[int]) -> bool:
    return not known.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def callers(report: Report) -> Callers:
    """By line id: the lines of other functions that it was inlined into, nearest first.

    Taken from the links of the record. A record without them is read by name: `self.norm(…)` calls
    what Dynamo traced under a module path with `norm` in it, `scaled(…)` the only function of that
    name.
    """
    links = list(list_linked_pairs(report, RELATION))
    direct: Mapping[str, dict[str, None]] = defaultdict(dict)
    for line, caller in links or _by_name(report):
        direct[line][caller] = None
    return {line: _all(line, direct) for line in direct}


def sort_by_calls(report: Report, calls: Callers) -> list[Source]:
    """The sources: the user's own before a library's, a function before those that it calls."""
    above: dict[str, set[str]] = defaultdict(set)
    for line, callers in calls.items():
        above[_owner(line)].update(_owner(caller) for caller in callers)
    rank = {"user": 0, "notebook": 0, "library": 1}
    return sorted(
        report.sources,
        key=lambda source: (rank.get(source.kind, 2), len(above[source.id] - {source.id})),
    )


def _owner(line: str) -> str:
    return line.split(":")[1]


def _all(line: str, direct: Mapping[str, dict[str, None]]) -> tuple[str, ...]:
    callers: dict[str, None] = {}
    waiting = list(direct.get(line, ()))
    while waiting:
        caller = waiting.pop(0)
        if caller not in callers and caller != line:
            callers[caller] = None
            waiting += direct.get(caller, ())
    return tuple(callers)


def _by_name(report: Report) -> Iterator[tuple[str, str]]:
    calls = _calls(report)
    functions = defaultdict(list)
    for source in report.sources:
        functions[source.name].append(source)
    if not any(is_own or len(functions[name]) == 1 for _, is_own, name in calls):
        return
    modules = defaultdict(set)  # by segment of a module path: the lines of its nodes
    lines = {node: line for line, node in list_linked_pairs(report, "line-node")}
    columns = report.nodes.columns
    paths = zip(columns.get("module_path", ()), columns.get("id", ()), strict=True)
    for path, line in {(path, lines.get(id)) for path, id in paths}:
        if line is not None and path is not None:
            for part in path.split("."):
                modules[part].add(line)
    of_source = defaultdict(set)
    for line in lines.values():
        of_source[_owner(line)].add(line)
    for caller, is_own, name in calls:
        own = _owner(caller)
        called = set(modules.get(name, ())) if is_own else set()
        if len(functions[name]) == 1:
            called |= of_source[functions[name][0].id]
        yield from ((line, caller) for line in sorted(called) if _owner(line) != own)


def _calls(report: Report) -> list[tuple[str, bool, str]]:
    calls = []
    for source in report.sources:
        text = report.texts.get(source.text or "", "")
        for number, line in enumerate(text.split("\n"), source.first_line):
            if line.lstrip().startswith(("def ", "async def ", "class ", "#", "@")):
                continue
            for match in _CALL.finditer(line):
                calls.append((f"L:{source.id}:{number}", bool(match["own"]), match["name"]))
    return calls


def find_fallen_places(report: Report) -> dict[tuple[str, int], list[str]]:
    """By file and line of an operator that Inductor has no code for: the kernels that call it."""
    fallen = [kernel for kernel in report.kernels if kernel.is_fallback]
    wanted = {id for kernel in fallen for id in kernel.nodes}
    nodes = {node.id: node for node in select_rows(report.nodes, "id", wanted)} if fallen else {}
    by_place: dict[tuple[str, int], list[str]] = {}
    for kernel in fallen:
        name = kernel.name.removeprefix("torch.ops.")
        inside = [nodes[id] for id in kernel.nodes if id in nodes]
        for node in [n for n in inside if n.target == name] or inside:
            if node.file is not None and node.line is not None:
                by_place.setdefault((node.file, node.line), []).append(kernel.id)
    return by_place
