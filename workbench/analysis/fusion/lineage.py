"""Which nodes of one stage became which nodes of a later one, and in which kernel they ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from workbench.report import Report

NodePair = tuple[str, str]


def node_links(report: Report) -> Mapping[str, list[NodePair]]:
    """Links from a node to the node that was made from it, by the later node's graph."""
    return report.node_pairs


def ancestors(report: Report, before: str, after: str) -> dict[str, list[str]]:
    """By node id of the graph `after`: the nodes of the earlier graph `before` that it came from.

    Follows every stage between the two.
    """
    prefix = f"{before}:"
    found: dict[str, list[str]] = {}
    links = node_links(report)
    for graph in _between(report, before, after):
        for a, b in links[graph]:
            known = [a] if a.startswith(prefix) else found.get(a)
            if known:
                kept = found.setdefault(b, [])
                kept.extend([node for node in known if node not in kept])
    prefix = f"{after}:"
    return {node: origins for node, origins in found.items() if node.startswith(prefix)}


def _between(report: Report, before: str, after: str) -> Iterator[str]:
    """The graphs after `before` up to `after`, in the order of the compiler."""
    ids = [graph.id for graph in report.graphs]
    yield from ids[ids.index(before) + 1 : ids.index(after) + 1]


def kernels_of_nodes(
    report: Report,
    quiet: Iterable[str] = (),
    *,
    links: Mapping[str, list[NodePair]] | None = None,
    owners: Mapping[str, str] | None = None,
    back_to: str | None = None,
) -> dict[str, str]:
    """The kernel that each node ended in, by node id, for the stages from `back_to` on.

    `links` are those of `node_links`, or of some graphs only, and `owners` those of `named_owners`,
    when they are at hand.

    A node that several kernels compute belongs to the first that runs, so that kernels drawn as
    boxes have no cycle; a node of an earlier stage to where most of what it became went, `quiet`
    node ids counting least.
    """
    found = dict(named_owners(report) if owners is None else owners)
    hushed = frozenset(quiet)
    known = node_links(report) if links is None else links
    for graph in reversed(list(known)):
        if graph == back_to:
            break
        votes: dict[str, dict[str, int]] = {}
        for a, b in known[graph]:
            kernel = found.get(b)
            if kernel is not None:
                count = votes.setdefault(a, {})
                count[kernel] = count.get(kernel, 0) + (1 if b in hushed else 100)
        for node, count in votes.items():
            found.setdefault(node, max(count, key=count.__getitem__))
    return found


def named_owners(report: Report) -> dict[str, str]:
    """The kernel of each node that a kernel itself names."""
    columns = report.kernels.columns
    names = ("id", "name", "language", "nodes")
    rows: list[tuple[str, str, str, Sequence[str]]] = list(
        zip(*(columns.get(name, ()) for name in names), strict=True)
    )
    owners: dict[str, str] = {}
    targets = _targets(report) if rows else {}
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


def _targets(report: Report) -> dict[str, str]:
    nodes = report.nodes.columns
    return dict(zip(nodes.get("id", ()), nodes.get("target", ()), strict=True))


def calls_operation(kernel: str, target: str) -> bool:
    """Whether a library kernel such as `torch.ops.aten.topk.default` is a node's operation."""
    name = kernel.removeprefix("torch.ops.")
    return name == target or name.removeprefix("extern_kernels.") in target.split(".")


def node_index(report: Report) -> Mapping[str, list[int]]:
    """The rows of the table of nodes by graph id."""
    return report.node_rows
