"""The lines of a generated kernel and the FX nodes behind them, by the names of its variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_VALUE = re.compile(r"^(?:auto |const auto )?(tmp\d+) = ")
_USED = re.compile(r"\btmp\d+\b")
_SUM = re.compile(r"\btmp_acc\d+")
_SUM_MADE = re.compile(r"^[\w:<>,\s]+?\s[&*]?(?:\w+_)?(tmp_acc\d+)\w*(?:\[\d+\])?(?: = .*)?;$")
_TRITON_SUM = re.compile(r"^_(tmp\d+)\w* = ")
_STORES = re.compile(r"\.store\(|^tl\.store\(|^(?:in_)?out_ptr\w*\[|atomic_add|^tl\.atomic")
_CPP = 'extern "C"'


@dataclass
class Body:
    """What one kernel object of torch generated.

    `blocks` are its lines in order, each with whether torch may have left it out in the end;
    `values` the nodes by variable, `stores` the nodes of the stores of a variable, in order.
    """

    blocks: list[list[tuple[str, bool]]]
    values: dict[str, dict[str, None]] = field(default_factory=dict)
    stores: dict[str, list[str | None]] = field(default_factory=dict)


def map_nodes_by_line(source: str, bodies: Sequence[Body]) -> dict[int, tuple[str, ...]]:
    """The nodes behind the lines (from 1) of a kernel; a line that is not certain is left out."""
    lines = [line.strip() for line in source.split("\n")]
    if _CPP in source:
        owners = _owners(lines, bodies)
        by_line = dict(_values(lines, owners))
        by_line.update(_sums(lines, owners))
    else:
        fitting = [body for body in bodies if _fits(lines, body)]
        if len({id(body) for body in fitting}) != 1:
            return {}
        owners = dict.fromkeys(range(len(lines)), fitting[0])
        by_line = dict(_values(lines, owners))
    by_line.update(_stored(lines, owners))
    return {index + 1: tuple(nodes) for index, nodes in sorted(by_line.items()) if nodes}


def _fits(lines: Sequence[str], body: Body) -> bool:
    """Whether this object generated most variables of a Triton program.

    Accumulators of a loop are named elsewhere.
    """
    variables = {match[1] for line in lines if (match := _VALUE.match(line))}
    return 2 * len(variables & body.values.keys()) > len(variables)


def _owners(lines: Sequence[str], bodies: Sequence[Body]) -> dict[int, Body]:
    """The object that wrote each line: objects that are not in the source were discarded."""
    owners: dict[int, Body] = {}
    where: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        where.setdefault(line, []).append(index)
    for body in bodies:
        places = _placed(lines, where, body, owners)
        if places is not None:
            owners.update(dict.fromkeys(places, body))
    return owners


def _placed(
    lines: Sequence[str], where: dict[str, list[int]], body: Body, owners: dict[int, Body]
) -> list[int] | None:
    """The places of the blocks of one object, in order; None when one of them is missing."""
    places: list[int] = []
    start = 0
    for block in body.blocks:
        parts = [(part, may_miss) for text, may_miss in block for part in _parts(text)]
        text, may_miss = parts[0]
        options = range(start, len(lines)) if may_miss else where.get(text, [])
        tries = (_matched(lines, first, parts, owners) for first in options if first >= start)
        indices = next((match for match in tries if match), None)
        if indices is None:
            return None
        places += indices
        start = places[-1] + 1
    return places


def _matched(
    lines: Sequence[str], first: int, parts: list[tuple[str, bool]], owners: dict[int, Body]
) -> list[int] | None:
    at, places = first, []
    for text, may_miss in parts:
        if at < len(lines) and lines[at] == text and at not in owners:
            places.append(at)
            at += 1
        elif not may_miss:
            return None
    return places or None


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split("\n") if part.strip()]


def _values(lines: Sequence[str], owners: dict[int, Body]) -> Iterator[tuple[int, list[str]]]:
    """Lines that make a variable."""
    for index, body in owners.items():
        match = _VALUE.match(lines[index]) or _TRITON_SUM.match(lines[index])
        if match is not None:
            nodes = list(body.values.get(match[1], ()))
            yield index, nodes or _result_of(match[1], body)


def _result_of(name: str, body: Body) -> list[str]:
    """The node of an accumulator: of its store, where nothing else is known of the variable."""
    nodes = set(body.stores.get(name, ())) if name not in body.values else set()
    return [node for node in nodes if node is not None] if len(nodes) == 1 else []


def _stored(lines: Sequence[str], owners: dict[int, Body]) -> Iterator[tuple[int, list[str]]]:
    """Lines that store a variable: in the order of its stores, if none of them was left out."""
    places: dict[tuple[int, str], list[int]] = {}
    by_id = {id(body): body for body in owners.values()}
    for index, body in sorted(owners.items()):
        if not _STORES.search(lines[index]):
            continue
        used = {name for name in _USED.findall(lines[index]) if name in body.stores}
        if len(used) == 1:
            places.setdefault((id(body), used.pop()), []).append(index)
    for (owner, name), indexes in places.items():
        stores = by_id[owner].stores[name]
        if len(set(stores)) == 1:
            stores = [stores[0]] * len(indexes)
        if len(stores) != len(indexes):
            continue
        for index, node in zip(indexes, stores, strict=True):
            yield index, [node] if node is not None else []


@dataclass
class _Sum:
    """One accumulator: the lines that name it, the nodes behind it."""

    lines: list[int] = field(default_factory=list)
    nodes: dict[str, None] = field(default_factory=dict)


def _sums(lines: Sequence[str], owners: dict[int, Body]) -> dict[int, list[str]]:
    """Lines about accumulators: a name belongs to the scope that declares it."""
    scopes: list[dict[str, _Sum]] = [{}]
    sums: list[_Sum] = []
    for index, line in enumerate(lines):
        if line.startswith("}"):
            scopes = scopes[:-1] or [{}]
        declared = _SUM_MADE.match(line)
        if declared is not None and declared[1] not in scopes[-1]:
            scopes[-1][declared[1]] = _Sum()
            sums.append(scopes[-1][declared[1]])
        for name in set(_SUM.findall(line)):
            total = next((scope[name] for scope in reversed(scopes) if name in scope), None)
            if total is not None:
                total.lines.append(index)
                body = owners.get(index)
                total.nodes.update(body.values.get(name, {}) if body is not None else {})
        if line.endswith("{"):
            scopes.append({})
    by_line: dict[int, dict[str, None]] = {}
    for total in sums:
        for index in total.lines:
            by_line.setdefault(index, {}).update(total.nodes)
    return {index: list(nodes) for index, nodes in by_line.items()}
