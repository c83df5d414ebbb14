"""What a pass did to a graph: the nodes that it added, removed, replaced and kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workbench.analysis.fusion.lineage import ancestors, node_index
from workbench.errors import UsageError
from workbench.report import Report

NodePair = tuple[str, str]


@dataclass(frozen=True)
class Changes:
    """Node ids in the order of their graphs; `replaced` holds what stood there, and what stands.

    `kept` are pairs of the same operation in both graphs.
    """

    before: str
    after: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    replaced: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    kept: tuple[NodePair, ...]


@dataclass(frozen=True)
class _Look:
    """What decides whether two nodes are the same operation."""

    name: str
    op: str
    target: str
    shape: object
    dtype: object

    def is_same(self, other: _Look) -> bool:
        if self.op == "placeholder" == other.op:  # inputs are renamed by every stage
            return (self.shape, self.dtype) == (other.shape, other.dtype)
        return (self.op, self.target, self.shape, self.dtype) == (
            other.op, other.target, other.shape, other.dtype
        )  # fmt: skip


def changes(report: Report, before: str, after: str) -> Changes:
    """Compare two graphs of one report, whichever of them is the earlier.

    Raises `UsageError` for an id that is not a graph.
    """
    ids = [graph.id for graph in report.graphs]
    for id in (before, after):
        if id not in ids:
            raise UsageError(
                f"There is no graph {id!r}; the report has {', '.join(ids) or 'none'}."
            )
    if ids.index(before) > ids.index(after):
        return _inverted(changes(report, after, before))
    index = node_index(report)
    old, new = (_looks(report, index[id]) for id in (before, after))
    origins = ancestors(report, before, after) if before != after else {}
    _tie_inputs(old, new, origins)
    _tie_by_name(old, new, origins)
    return _sorted_out(before, after, old, new, origins)


def _inverted(found: Changes) -> Changes:
    return Changes(
        found.after,
        found.before,
        found.removed,
        found.added,
        tuple((new, old) for old, new in found.replaced),
        tuple((new, old) for old, new in found.kept),
    )


def _looks(report: Report, rows: Iterable[int]) -> dict[str, _Look]:
    nodes = report.nodes.columns
    names, ops, targets = nodes["name"], nodes["op"], nodes["target"]
    ids, shapes, dtypes = nodes["id"], nodes["shape"], nodes["dtype"]
    return {
        ids[row]: _Look(names[row], ops[row], targets[row], shapes[row], dtypes[row])
        for row in rows
    }


def _tie_inputs(
    old: Mapping[str, _Look], new: Mapping[str, _Look], origins: dict[str, list[str]]
) -> None:
    """Inputs carry no link when a stage names them anew: their order says which is which."""
    olds = [id for id, look in old.items() if look.op == "placeholder"]
    news = [id for id, look in new.items() if look.op == "placeholder"]
    if len(olds) == len(news):
        for a, b in zip(olds, news, strict=True):
            if b not in origins and old[a].is_same(new[b]):
                origins[b] = [a]


def _tie_by_name(
    old: Mapping[str, _Look], new: Mapping[str, _Look], origins: dict[str, list[str]]
) -> None:
    """Without any link, the same name and the same operation mean the same node."""
    linked = {a for parts in origins.values() for a in parts}
    names = {look.name: id for id, look in old.items() if id not in linked}
    for b, look in new.items():
        a = names.get(look.name)
        if b not in origins and a is not None and old[a].is_same(look):
            origins[b] = [a]


def _sorted_out(
    before: str,
    after: str,
    old: Mapping[str, _Look],
    new: Mapping[str, _Look],
    origins: Mapping[str, list[str]],
) -> Changes:
    kept: dict[str, str] = {}
    for b, parts in origins.items():
        for a in parts:
            if a not in kept and old[a].is_same(new[b]):
                kept[a] = b
                break
    stay = set(kept.values())
    links = [
        (a, b) for b, parts in origins.items() if b not in stay for a in parts if a not in kept
    ]
    replaced = _together(links, list(old), list(new))
    gone = {a for a, _ in links} | set(kept)
    come = {b for _, b in links} | stay
    return Changes(
        before,
        after,
        tuple(b for b in new if b not in come),
        tuple(a for a in old if a not in gone),
        replaced,
        tuple((a, kept[a]) for a in old if a in kept),
    )


def _together(
    links: list[NodePair], old: list[str], new: list[str]
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Nodes that hang together through links, as one replacement each."""
    home: dict[str, str] = {}

    def find(id: str) -> str:
        root = id
        while home.setdefault(root, root) != root:
            root = home[root]
        while home[id] != root:
            home[id], id = root, home[id]
        return root

    for a, b in links:
        home[find(b)] = find(a)
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for side, ids in enumerate((old, new)):
        for id in ids:
            if id in home:
                groups.setdefault(find(id), ([], []))[side].append(id)
    return tuple((tuple(a), tuple(b)) for a, b in groups.values())
