"""Lines of the source: which call which, and which call what Inductor has no code for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping

from workbench.report import Report, Source
from workbench.report.column_filter import list_linked_pairs, select_rows
from workbench.report.rows import split_line

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
