"""What became of nodes: nodes of a later stage, kernels, what a pass changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.report import Report

NodePair = tuple[str, str]


def find_ancestors(report: Report, before: str, after: str) -> dict[str, list[str]]:
    """By node id of the graph `after`: the nodes of the earlier graph `before` that it came from.

    Follows every stage between the two.
    """
    prefix = f"{before}:"
    by_node: dict[str, list[str]] = {}
    ids = [graph.id for graph in report.graphs]
    for graph in ids[ids.index(before) + 1 : ids.index(after) + 1]:  # in the compiler's order
        for a, b in report.node_pairs[graph]:
            ancestors = [a] if a.startswith(prefix) else by_node.get(a)
            if ancestors:
                own = by_node.setdefault(b, [])
                own.extend([node for node in ancestors if node not in own])
    prefix = f"{after}:"
    return {node: origins for node, origins in by_node.items() if node.startswith(prefix)}


def find_kernels_of_nodes(
    report: Report,
    quiet: Iterable[str] = (),
    *,
    links: Mapping[str, list[NodePair]] | None = None,
    owners: Mapping[str, str] | None = None,
    back_to: str | None = None,
) -> dict[str, str]:
    """The kernel that each node ended in, by node id, for the stages from `back_to` on.

    `links` are the `node_pairs` of the report, or of some graphs only, and `owners` those of
    `named_owners`, when they are at hand.

    A node that several kernels compute belongs to the first that runs, so that kernels drawn as
    boxes have no cycle; a node of an earlier stage to where most of what it became went, `quiet`
    node ids counting least.
    """
    by_node = dict(find_named_owners(report) if owners is None else owners)
    hushed = frozenset(quiet)
    pairs_by_graph = report.node_pairs if links is None else links
    for graph in reversed(list(pairs_by_graph)):
        if graph == back_to:
            break
        votes: dict[str, dict[str, int]] = {}
        for a, b in pairs_by_graph[graph]:
            kernel = by_node.get(b)
            if kernel is not None:
                count = votes.setdefault(a, {})
                count[kernel] = count.get(kernel, 0) + (1 if b in hushed else 100)
        for node, count in votes.items():
            by_node.setdefault(node, max(count, key=count.__getitem__))
    return by_node


def find_named_owners(report: Report) -> dict[str, str]:
    """The kernel of each node that a kernel itself names."""
    columns = report.kernels.columns
    names = ("id", "name", "language", "nodes")
    rows: list[tuple[str, str, str, Sequence[str]]] = list(
        zip(*(columns.get(name, ()) for name in names), strict=True)
    )
    owners: dict[str, str] = {}
    ids, called = (report.nodes.columns.get(name, ()) for name in ("id", "target"))
    targets = dict(zip(ids, called, strict=True)) if rows else {}
    # A library call names the nodes that made its inputs too: first what it calls, last the rest.
    for kernel, name, language, nodes in rows:
        if language == "extern":
            for node in nodes:
                if len(nodes) == 1 or calls_operation(name, targets.get(node, "")):
                    owners.setdefault(node, kernel)
    for is_library in (False, True):
        for kernel, _, language, nodes in rows:
            if (language == "extern") is is_library:
                for node in nodes:
                    owners.setdefault(node, kernel)
    return owners


def calls_operation(kernel: str, target: str) -> bool:
    """Whether a library kernel such as `torch.ops.aten.topk.default` is a node's operation."""
    name = kernel.removeprefix("torch.ops.")
    return name == target or name.removeprefix("extern_kernels.") in target.split(".")


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
        is_input = self.op == "placeholder" == other.op  # inputs are renamed by every stage
        is_same = is_input or (self.op, self.target) == (other.op, other.target)
        return is_same and (self.shape, self.dtype) == (other.shape, other.dtype)


def changes(report: Report, before: str, after: str) -> Changes:
    """Compare two graphs of one report, whichever of them is the earlier.

    Raises `UsageError` for an id that is not a graph.
    """
    ids = [graph.id for graph in report.graphs]
    for id in (before, after):
        if id not in ids:
            raise UsageError(
                f"Graph {id!r} does not exist; the report has {', '.join(ids) or 'none'}."
            )
    if ids.index(before) > ids.index(after):
        return _inverted(changes(report, after, before))
    old, new = (_looks(report, report.node_rows[id]) for id in (before, after))
    origins = find_ancestors(report, before, after) if before != after else {}
    _tie(old, new, origins)
    return _sorted_out(before, after, old, new, origins)


def _inverted(changes: Changes) -> Changes:
    return Changes(
        changes.after,
        changes.before,
        changes.removed,
        changes.added,
        tuple((new, old) for old, new in changes.replaced),
        tuple((new, old) for old, new in changes.kept),
    )


def _looks(report: Report, rows: Iterable[int]) -> dict[str, _Look]:
    names = ("id", "name", "op", "target", "shape", "dtype")
    columns = [report.nodes.columns[name] for name in names]
    rows_of_nodes = ([column[row] for column in columns] for row in rows)
    return {id: _Look(*look) for id, *look in rows_of_nodes}


def _tie(old: Mapping[str, _Look], new: Mapping[str, _Look], origins: dict[str, list[str]]) -> None:
    """Ties what has no link: inputs, which a stage names anew, by their order, others by name."""

    def tie(a: str, b: str) -> None:
        if b not in origins and old[a].is_same(new[b]):
            origins[b] = [a]

    olds, news = ([id for id, n in side.items() if n.op == "placeholder"] for side in (old, new))
    if len(olds) == len(news):
        for a, b in zip(olds, news, strict=True):
            tie(a, b)
    linked = {a for parts in origins.values() for a in parts}
    names = {look.name: id for id, look in old.items() if id not in linked}
    for b, look in new.items():
        if look.name in names:
            tie(names[look.name], b)


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
    gone, come = {a for a, _ in links}, {b for _, b in links}
    return Changes(
        before,
        after,
        added=tuple(b for b in new if b not in come and b not in stay),
        removed=tuple(a for a in old if a not in gone and a not in kept),
        replaced=together(links, [a for a in old if a in gone], [b for b in new if b in come]),
        kept=tuple((a, kept[a]) for a in old if a in kept),
    )


def together(
    links: Iterable[NodePair], old: Sequence[str], new: Sequence[str]
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """What hangs together through links from old to new, as groups in the order of both."""
    ties: dict[tuple[int, str], list[tuple[int, str]]] = defaultdict(list)
    for a, b in links:
        ties[0, a].append((1, b))
        ties[1, b].append((0, a))
    places = {one: n for n, one in enumerate([*((0, a) for a in old), *((1, b) for b in new)])}
    groups, visited = [], set[tuple[int, str]]()
    for start in places:
        group, waiting = [], [start]
        while waiting:
            one = waiting.pop()
            if one not in visited:
                visited.add(one)
                group.append(one)
                waiting += ties[one]
        groups.append(sorted(group, key=places.__getitem__))
    return tuple(
        (tuple(id for side, id in group if not side), tuple(id for side, id in group if side))
        for group in groups
        if group
    )
