"""What became of each line of the source, as far as the record proves it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from workbench.report import Kernel, Report, Source
from workbench.report.record import list_linked_pairs, select_rows
from workbench.report.rows import split_line

State = Literal[
    "plain",
    "captured",
    "later",
    "break",
    "failed",
    "fallback",
    "folded",
    "removed",
    "traced",
    "unreached",
]
_CAPTURED: tuple[State, ...] = ("captured", "later", "fallback")
_FIRST, _LAST = "dynamo", "after_post_grad"
_FULL = "aten.full.default"
_VALUE = re.compile(r"aten\.full\.default\(\[[^\]]*\], ([^,)]+)")
_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPUTING = (ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.IfExp)
_SILENT = (*_NESTED, ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)


@dataclass(frozen=True)
class Fate:
    """What became of a line; `values` are the constants that a folded one was worked out to."""

    state: State
    values: tuple[str, ...] = ()


def find_line_states(report: Report, ending: Collection[str], calls: Callers) -> dict[Place, Fate]:
    """By file and line; a line that nothing in the record tells about is not in it.

    `ending` are the ids of the lines that end in kernels, `calls` those of `callers`. A line with
    operations in a graph is captured, or `later` where a graph break lies before its graph; of one
    that is in no kernel, the last graph shows whether it was folded to a constant or removed. A
    statement without operations that surely ran between such lines ran while Dynamo traced. One
    that a failed capture did not come to, or in the branch that was not taken, is unreached.
    """
    fates = _recorded(report, ending)
    broken = {(item.file, item.line) for item in report.breaks}
    if report.outcome.line:
        broken.add((report.outcome.file, report.outcome.line))
    computing = set(fates) - broken
    root = _find_root(report, calls)
    for source in report.sources:
        text = report.texts.get(source.text or "")
        if text is None:
            continue
        shift = source.first_line - 1
        captured = {line - shift for file, line in computing if file == source.file}
        breaking = {line - shift for file, line in broken if file == source.file}
        reader = _Statements(captured, breaking, report.outcome.ok, source.id == root)
        for line, state in reader.read(text):
            fates.setdefault((source.file, line + shift), Fate(state))
    place_of = read_places(report)
    for called, sites in call_sites(report, fates, calls).items():
        fate = fates.get(place_of(called))
        if fate is not None and fate.state in _CAPTURED:
            # a line that only calls a captured function was captured
            site_fate = Fate("later" if fate.state == "later" else "captured")
            fates.update({p: site_fate for p in map(place_of, sites) if fates[p].state == "traced"})
    return fates


def _recorded(report: Report, ending: Collection[str]) -> dict[Place, Fate]:
    place_of = read_places(report)
    fates = {place: facts.tell() for place, facts in _read_graphs(report).items()}
    for place in map(place_of, ending):
        if place not in fates or fates[place].state != "later":
            fates[place] = Fate("captured")
    fates.update(dict.fromkeys(find_fallen_places(report), Fate("fallback")))
    for item in report.breaks:
        fates[item.file, item.line] = Fate("break")
    if report.outcome.line:
        fates[report.outcome.file, report.outcome.line] = Fate("failed")
    return fates


@dataclass
class _Found:
    """Where the operations of one line are: in which graphs, and what the last ones make of it."""

    is_first: bool = False
    is_whole: bool = True  # the last graph of each of its compilations is in the record
    is_left: bool = False
    values: dict[str, None] = field(default_factory=dict)

    def tell(self) -> Fate:
        if not self.is_first:
            return Fate("later")
        if not self.is_whole or self.is_left:
            return Fate("captured")
        return Fate("folded", tuple(self.values)) if self.values else Fate("removed")


def _read_graphs(report: Report) -> dict[Place, _Found]:
    graphs, is_whole_call = {graph.id: graph for graph in report.graphs}, not report.breaks
    first = next((graph.compile_id for graph in report.graphs if graph.stage == _FIRST), None)
    lowered = {graph.compile_id for graph in report.graphs if graph.stage == _LAST}
    names = ("file", "line", "op", "graph", "name", "target", "inputs")
    columns = report.nodes.columns
    by_place: dict[Place, _Found] = defaultdict(_Found)
    values: dict[str, dict[str, str]] = {}
    rows = zip(*(columns.get(name, ()) for name in names), strict=True)
    for file, line, op, id, name, target, inputs in rows:
        if file is None or line is None or not op.startswith("call_"):
            continue
        at, graph = by_place[file, line], graphs.get(id)
        if graph is None or is_whole_call or graph.compile_id == first:
            at.is_first = True
        if graph is None or graph.compile_id not in lowered:
            at.is_whole = False
        elif graph.stage == _LAST:
            is_constant = target == _FULL and not inputs
            if is_constant and id not in values:
                values[id] = _read_values(report.texts.get(graph.text or "", ""))
            value = values[id].get(name) if is_constant else None
            if value is None:
                at.is_left = True
            else:
                at.values[value] = None
    return by_place


def _read_values(printed: str) -> dict[str, str]:
    """By name the number that every element of a constant has, as the printed graph shows it."""
    values = {}
    for match in _VALUE.finditer(printed):
        line = printed[printed.rfind("\n", 0, match.start()) + 1 : match.start()]
        values[re.split(r"\W", line.lstrip(), maxsplit=1)[0]] = match[1]
    return values


def _find_root(report: Report, calls: Callers) -> str | None:
    """The source of what was compiled, which ran once; None where the record cannot tell it.

    Of a module, only a `forward` with operations in no submodule is its own.
    """
    request = report.request
    is_module = request.kind == "module"
    name = "forward" if is_module else request.name.rpartition(".")[2]
    called = {split_line(line)[0] for line in calls}
    roots = [row for row in report.sources if row.name == name and row.id not in called]
    if len(roots) != 1 or report.recompiles or (is_module and not _is_outermost(report, roots[0])):
        return None
    return roots[0].id


def _is_outermost(report: Report, source: Source) -> bool:
    last = source.first_line + report.texts.get(source.text or "", "").count("\n")
    columns = report.nodes.columns  # a row object for each node takes ten times as long
    rows = zip(
        *(columns.get(name, ()) for name in ("file", "line", "module_path", "op")), strict=True
    )
    return any(
        file == source.file and module_path is None and op.startswith("call_")
        for file, line, module_path, op in rows
        if line is not None and source.first_line <= line <= last
    )


@dataclass(frozen=True)
class _Statements:
    """Reads statements without operations; lines count from 1.

    `known` are the lines with operations, `breaking` those that break the graph.
    """

    known: Collection[int]
    breaking: Collection[int]
    is_ok: bool
    is_root: bool

    def read(self, text: str) -> Iterator[tuple[int, State]]:
        """First lines of statements, with what became of them."""
        try:
            tree = ast.parse(textwrap.dedent(text))
        except SyntaxError:  # the end of an expression such as a lambda: no statements to tell
            return
        first = tree.body[0] if len(tree.body) == 1 else None
        is_function = isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef)
        body = first.body if is_function else tree.body  # type: ignore[union-attr]
        if self.is_root:
            yield from ((node.lineno, "unreached") for node in self._unreached(body))
        for block in _blocks(body):
            yield from ((line, "traced") for line in self._traced(block))

    def _traced(self, body: Sequence[ast.stmt]) -> Iterator[int]:
        """Statements before one with operations, or after it without a jump.

        What failed was not traced to its end; beside a break alone, nobody knows who ran it.
        """
        last = max((i for i, node in enumerate(body) if self._has(node, self.known)), default=-1)
        if last < 0:
            return
        for index, node in enumerate(body):
            passed = (inner for earlier in body[last:index] for inner in ast.walk(earlier))
            if (index > last and not self.is_ok) or any(isinstance(i, _JUMPS) for i in passed):
                return
            is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if is_docstring or isinstance(node, _SILENT) or self._is_marked(node):
                continue
            if not _hands_on(node) and self._is_beside(body, index):
                yield node.lineno

    def _is_marked(self, node: ast.stmt) -> bool:
        own = _own_lines(node)
        return not own.isdisjoint(self.known) or not own.isdisjoint(self.breaking)

    def _is_beside(self, body: Sequence[ast.stmt], index: int) -> bool:
        """Whether the nearest marked statement, before or after, has operations in a graph."""
        for side in (body[index + 1 :], body[:index][::-1]):
            nearest = next((node for node in side if self._tells(node)), None)
            if nearest is not None and self._has(nearest, self.known):
                return True
        return False

    def _tells(self, node: ast.stmt) -> bool:
        return self._has(node, self.known) or self._has(node, self.breaking)

    def _unreached(self, body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        """In a function that ran once: behind a break that ended the capture, the other branch."""
        for index, node in enumerate(body):
            if isinstance(node, ast.If):
                yield from self._untaken(node)
            elif isinstance(node, ast.With | ast.AsyncWith):
                yield from self._unreached(node.body)
            is_end = not self.is_ok and self._has(node, self.breaking)
            if is_end and not any(map(self._tells, body[index + 1 :])):
                return (yield from _list_statements(body[index + 1 :]))

    def _untaken(self, node: ast.If) -> Iterator[ast.stmt]:
        branches = (node.body, node.orelse)
        for branch, other in (branches, branches[::-1]):
            if any(self._tells(inner) for inner in branch):
                yield from self._unreached(branch)
            elif any(self._tells(inner) for inner in other):
                yield from _list_statements(branch)

    def _has(self, node: ast.stmt, lines: Collection[int]) -> bool:
        return any(node.lineno <= line <= (node.end_lineno or node.lineno) for line in lines)


def _blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """The function's own block and those nested in it, but for functions and classes."""
    waiting = [body]
    while waiting:
        block = waiting.pop()
        yield block
        for node in block:
            if not isinstance(node, _NESTED):
                inner = (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
                waiting += [part for part in inner if isinstance(part, list) and part]


def _list_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for block in _blocks(list(body)):
        yield from block


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


Place = tuple[str, int]

RELATION = "line-line"  # a link from a line to the line that called its function
_CALL = re.compile(r"(?P<own>\bself\.)?\b(?P<name>[A-Za-z_]\w*)(\[[^\]]*\])?\(")
Callers = Mapping[str, tuple[str, ...]]


def call_sites(report: Report, states: Container[Place], calls: Callers) -> dict[str, list[str]]:
    """By line id: the lines that were run and that its function was inlined into."""
    place_of = read_places(report)
    return {
        line: [caller for caller in callers if place_of(caller) in states]
        for line, callers in calls.items()
    }


def read_places(report: Report) -> Callable[[str], Place]:
    """What finds the file and the number of a line by its id."""
    files = {source.id: source.file for source in report.sources}

    def place_of(line: str) -> Place:
        source, number = split_line(line)
        return files.get(source, ""), number

    return place_of


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
    return split_line(line)[0]


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
    return _find_called(report, [kernel for kernel in report.kernels if kernel.is_fallback])


def find_library_places(report: Report) -> dict[tuple[str, int], list[str]]:
    """By file and line of an operator that a library is meant to compute, such as attention."""
    own = [k for k in report.kernels if k.is_operator and k.is_library and not k.is_collective]
    return _find_called(report, own)


def _find_called(report: Report, fallen: Sequence[Kernel]) -> dict[tuple[str, int], list[str]]:
    node_ids = {id for kernel in fallen for id in kernel.nodes}
    nodes = {node.id: node for node in select_rows(report.nodes, "id", node_ids)} if fallen else {}
    by_place: dict[tuple[str, int], list[str]] = {}
    for kernel in fallen:
        name = kernel.name.removeprefix("torch.ops.")
        inside = [nodes[id] for id in kernel.nodes if id in nodes]
        for node in [n for n in inside if n.target == name] or inside:
            if node.file is not None and node.line is not None:
                by_place.setdefault((node.file, node.line), []).append(kernel.id)
    return by_place
