"""Tensors that grow by `torch.cat` in each step, which copies all that was there before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.analysis.fusion.traffic import NodeFacts, select_nodes
from workbench.analysis.opportunities.cat_lines import rewrite_cat
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts, base
from workbench.number_text import plural

_FEW = 3
"""So many calls are left alone: a list is longer than what it saves."""
_EXAMPLE = ("parts.append(new)  # in the loop", "result = torch.cat(parts, dim)  # after it")


def find_growing_tensors(facts: Facts) -> Iterator[Opportunity]:
    """Results of `cat` that nothing but another `cat` along the same dimension takes whole."""
    owners = {id: kernel for kernel in facts.kernels for id in kernel.nodes}
    for cats, inner in _chains(facts):
        kernels = {k.id: k for node in cats if (k := owners.get(node.id)) is not None}
        copied = [node for node in cats if node.id in inner]
        is_read = any(inner[node.id] for node in copied)
        # what reads the last step alone is computed in one kernel with the copies where it is
        # small, and in many without them: measured, they take as long
        if not kernels or (is_read and len(kernels) == 1):
            continue
        saved = sum(2 * (node.bytes or 0) for node in copied)
        if not saved:
            continue
        place, before, after = _rewrite(facts, cats)
        written = list(kernels.values())
        yield Opportunity(
            id="",
            rule="tensor-that-grows",
            kind="rewrite" if before else "replacement operator",
            text="Collect the parts in a list and call torch.cat once, after the loop: each of "
            f"{plural(len(cats), 'call')} of torch.cat copies what those before it copied, "
            f"{plural(len(copied), 'intermediate result')} that nothing else takes whole.",
            sure="likely",
            source="counted: the intermediate results, each written and read once to be copied"
            + facts.time_source(written),
            kernels=tuple(kernel.id for kernel in written),
            **place,
            saved_bytes_low=saved,
            saved_bytes_high=saved,
            # what is computed in the same kernels is computed as before
            saved_us_low=facts.least_microseconds(saved, written),
            saved_us_high=facts.microseconds(saved, written),
            before=before,
            after=after or _EXAMPLE,
        )


def _rewrite(
    facts: Facts, cats: list[NodeFacts]
) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
    """The loop before and after, where all of them are one line of it; no lines if unknown."""
    place = facts.place(cats)
    if not place or len({(node.file, node.line) for node in cats}) > 1:
        return place, (), ()
    start, lines = facts.function_at(place["file"], place["line"])
    change = rewrite_cat(lines, place["line"] - start)
    if change is None:
        return place, (), ()
    number, before, after = change
    at = facts.line_at(place["file"], start + number)
    place = {"line_id": at[0] if at else None, "file": place["file"], "line": start + number}
    return place, before, after


def _chains(facts: Facts) -> Iterator[tuple[list[NodeFacts], Mapping[str, bool]]]:
    """The calls of one result, the last one last; which of them are inner, and read in parts."""
    known = {node.id: node for node in facts.nodes.values() if base(node.target) == "cat"}
    if len(known) <= _FEW:
        return
    nodes = select_nodes(facts.report, "graph", {id.partition(":")[0] for id in known})
    readers: dict[str, list[NodeFacts]] = {id: [] for id in known}
    for node in nodes.values():
        for id in readers.keys() & set(node.inputs):
            readers[id].append(node)
    into: dict[str, str] = {}
    inner: dict[str, bool] = {}
    for id, node in known.items():
        parts = [nodes[part] for part in node.inputs if part in nodes]
        cats = [each for each in readers[id] if each.id in known]
        if len(cats) == 1 and _is_copied(node, parts, cats[0], readers[id]):
            into[id], inner[id] = cats[0].id, len(readers[id]) > 1
    groups: dict[str, list[NodeFacts]] = {}
    for id, node in known.items():
        last = id
        while last in into:
            last = into[last]
        groups.setdefault(last, []).append(node)
    for group in groups.values():
        if len(group) > _FEW:
            yield group, inner


def _is_copied(
    node: NodeFacts, parts: list[NodeFacts], into: NodeFacts, readers: list[NodeFacts]
) -> bool:
    """Whether a result is joined again at its own dimension, and read by steps at most."""
    dims = {_grown(part, node) for part in parts} | {_grown(node, into)}
    dim = dims.pop() if len(dims) == 1 else None
    if dim is None:
        return False
    return all(each is into or _is_a_step(each, node, parts[-1], dim) for each in readers)


def _grown(part: NodeFacts, whole: NodeFacts) -> int | None:
    """The only dimension in which a result is larger than a part of it."""
    if not part.shape or not whole.shape or len(part.shape) != len(whole.shape):
        return None
    pairs = enumerate(zip(part.shape, whole.shape, strict=True))
    dims = [dim for dim, (one, all_) in pairs if one != all_]
    return dims[0] if len(dims) == 1 else None


def _is_a_step(reader: NodeFacts, whole: NodeFacts, newest: NodeFacts, dim: int) -> bool:
    """Whether it reads no more of a result than what was added last."""
    rest = [size for at, size in enumerate(whole.shape or ()) if at != dim]
    shape, added = list(reader.shape or ()), (newest.shape or ())[dim]
    if base(reader.target) == "select":
        return shape == rest
    if base(reader.target) != "slice" or len(shape) != len(rest) + 1:
        return False
    size = shape.pop(dim)
    return shape == rest and isinstance(size, int) and isinstance(added, int) and size <= added
