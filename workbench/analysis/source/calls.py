"""Which lines of the source call which: a helper's line, and the lines that it was inlined into."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from workbench.report import Report, Source
from workbench.report.column_filter import linked_pairs

RELATION = "line-line"  # a link from a line to the line that called its function
_CALL = re.compile(r"(?P<own>\bself\.)?\b(?P<name>[A-Za-z_]\w*)(\[[^\]]*\])?\(")


Callers = Mapping[str, tuple[str, ...]]


def callers(report: Report) -> Callers:
    """By line id: the lines of other functions that it was inlined into, nearest first.

    Taken from the links of the record. A record without them is read by name: `self.norm(…)` calls
    what Dynamo traced under a module path with `norm` in it, `scaled(…)` the only function of that
    name.
    """
    links = list(linked_pairs(report, RELATION))
    direct: Mapping[str, dict[str, None]] = defaultdict(dict)
    for line, caller in links or _by_name(report):
        direct[line][caller] = None
    return {line: _all(line, direct) for line in direct}


def in_call_order(report: Report, calls: Callers | None = None) -> list[Source]:
    """The sources: the user's own before a library's, a function before those that it calls."""
    above: dict[str, set[str]] = defaultdict(set)
    for line, found in (callers(report) if calls is None else calls).items():
        above[_owner(line)].update(_owner(caller) for caller in found)
    rank = {"user": 0, "notebook": 0, "library": 1}
    return sorted(
        report.sources,
        key=lambda source: (rank.get(source.kind, 2), len(above[source.id] - {source.id})),
    )


def _owner(line: str) -> str:
    return line.split(":")[1]


def _all(line: str, direct: Mapping[str, dict[str, None]]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    waiting = list(direct.get(line, ()))
    while waiting:
        caller = waiting.pop(0)
        if caller not in found and caller != line:
            found[caller] = None
            waiting += direct.get(caller, ())
    return tuple(found)


def _by_name(report: Report) -> Iterator[tuple[str, str]]:
    calls = _calls(report)
    functions = defaultdict(list)
    for source in report.sources:
        functions[source.name].append(source)
    if not any(is_own or len(functions[name]) == 1 for _, is_own, name in calls):
        return
    modules = defaultdict(set)  # by segment of a module path: the lines of its nodes
    lines = {node: line for line, node in linked_pairs(report, "line-node")}
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
    found = []
    for source in report.sources:
        text = None if source.text is None else report.texts.get(source.text)
        for number, line in enumerate((text or "").split("\n"), source.first_line):
            if line.lstrip().startswith(("def ", "async def ", "class ", "#", "@")):
                continue
            for match in _CALL.finditer(line):
                found.append((f"L:{source.id}:{number}", bool(match["own"]), match["name"]))
    return found
