"""Kernels matched by what they compute: pairs, and those that were split, merged or regrouped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.analysis.diff.difference import Change, KernelMatch, get_label, kernels_of
from workbench.analysis.diff.lineage import together
from workbench.analysis.diff.schedule import Tokens
from workbench.analysis.diff.source_changes import canonical, compare_source_blocks, join_sources
from workbench.analysis.fusion.traffic import count_moved_bytes, sum_known
from workbench.number_text import plural
from workbench.report import Kernel, Report

_Group = tuple[tuple[str, ...], tuple[str, ...]]
"""Kernels of a and of b."""
_TOKENS = ("scheduled", "nodes", "whole", "first", "captured")
_PAIR = 0.85
"""Kernels at least so alike are a pair, whatever else they share operations with."""


@dataclass(frozen=True)
class _Side:
    kernels: dict[str, Kernel]
    tokens: Mapping[str, Tokens]


def match_kernels(
    a: Report, b: Report, tokens: tuple[Mapping[str, Tokens], Mapping[str, Tokens]]
) -> tuple[KernelMatch, ...]:
    """Every kernel of both compilations in one match, in the order of the program."""
    left, right = _Side(kernels_of(a), tokens[0]), _Side(kernels_of(b), tokens[1])
    near = list(_near(left, right))
    pairs = _pairs(near, left, right)
    rest_a = [id for id in left.kernels if id not in pairs]
    taken = set(pairs.values())
    rest_b = [id for id in right.kernels if id not in taken]
    matched: list[_Group] = [((i,), (j,)) for i, j in pairs.items()]
    ties = [(i, j) for i in rest_a for j in rest_b if left.tokens[i].shares(right.tokens[j])]
    groups = together(ties, rest_a, rest_b)
    alone = (
        [ids[0] for ids, none in groups if not none],
        [ids[0] for none, ids in groups if not none],
    )
    close = dict(_of_one_origin(*alone, left, right))
    matched += [(x, y) for x, y in groups if x[:1] not in close and y not in close.values()]
    matched += close.items()
    named = [_named(KernelMatch(x, y, ""), left, right) for x, y in matched]
    return tuple(sorted((_explained(m, a, b, left, right) for m in named), key=_order(left, right)))


def _of_one_origin(
    alone_a: Sequence[str], alone_b: Sequence[str], a: _Side, b: _Side
) -> Iterator[_Group]:
    """Kernels without a partner that were made from the same operations of the captured graph."""
    left = list(alone_b)
    for i in alone_a:
        own = a.tokens[i].captured
        shares = [
            (len(own & other) / len(own | other), b.kernels[j].language == a.kernels[i].language, j)
            for j in left
            if own & (other := b.tokens[j].captured)
        ]
        best = max(shares, key=lambda one: one[:2], default=None)
        if best is not None and best[0] >= 0.5:
            left.remove(best[2])
            yield (i,), (best[2],)


def _near(a: _Side, b: _Side) -> Iterator[tuple[float, int, str, str]]:
    """Kernels that have something in common, with how alike they are and how far apart."""
    homes: dict[str, list[str]] = {}
    for id, own in b.tokens.items():
        for token in own.whole | own.scheduled:
            homes.setdefault(token, []).append(id)
    places = {id: n for n, id in enumerate(b.kernels)}
    for n, (id, own) in enumerate(a.tokens.items()):
        others = {other for token in own.whole | own.scheduled for other in homes.get(token, ())}
        for other in sorted(others, key=places.__getitem__):
            yield own.alike(b.tokens[other]), abs(n - places[other]), id, other


def _pairs(near: list[tuple[float, int, str, str]], a: _Side, b: _Side) -> dict[str, str]:
    """Kernels that are one another's best partner, by operations, else by name and order."""
    pairs: dict[str, str] = {}
    taken: set[str] = set()
    for alike, _, i, j in sorted(near, key=lambda one: (-one[0], one[1])):
        if alike >= _PAIR and i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    if near:
        return pairs
    for i, own in a.kernels.items():  # nothing is known of what they compute
        for j, other in b.kernels.items():
            if j not in taken and get_label(own) == get_label(other):
                pairs[i] = j
                taken.add(j)
                break
    return pairs


_RELATIONS = {
    (0, 1): "added",
    (0, 2): "added",
    (1, 0): "removed",
    (2, 0): "removed",
    (1, 1): "changed",
    (1, 2): "split",
    (2, 1): "merged",
    (2, 2): "regrouped",
}
"""By how many kernels there are of a and of b, 2 for several."""


def _named(match: KernelMatch, a: _Side, b: _Side) -> KernelMatch:
    sides = min(len(match.a), 2), min(len(match.b), 2)
    if not match.a or not match.b:
        return replace(match, relation=_RELATIONS[sides], alike=0.0)
    whole = [
        Tokens(
            *(
                frozenset[str]().union(*(getattr(side.tokens[id], part) for id in ids))
                for part in _TOKENS
            )
        )
        for side, ids in ((a, match.a), (b, match.b))
    ]
    return replace(match, relation=_RELATIONS[sides], alike=round(whole[0].alike(whole[1]), 3))


def _explained(match: KernelMatch, a: Report, b: Report, left: _Side, right: _Side) -> KernelMatch:
    """The match with what differs; a pair in which nothing does is the same."""
    if not match.a or not match.b:
        return match
    ones, others = match.rows(left.kernels, right.kernels)
    before, after = join_sources(a, ones), join_sources(b, others)
    lines = None
    if before is not None and after is not None:
        lines = 0
        is_pair = len(match.a) == len(match.b) == 1 and before != after
        if is_pair and canonical(before) != canonical(after):
            blocks = compare_source_blocks(before, after)
            lines = sum(max(len(x.before), len(x.after)) for x in blocks if x.kind != "same")
    if len({kernel.language for kernel in (*ones, *others)}) > 1:
        lines = None  # no line of one is a line of the other
    if match.relation != "changed":
        shared = _shared_sources(match, left, right)
        relation = "regrouped" if shared else match.relation
        return replace(match, relation=relation, lines=lines or None, why=shared)
    why = tuple(_why(ones[0], others[0], before, after, lines))
    if not why and lines is None and match.alike < 1 and ones[0].language != "extern":
        why = ("other operations",)
    return replace(match, relation="changed" if why else "same", why=why, lines=lines)


def _shared_sources(match: KernelMatch, a: _Side, b: _Side) -> tuple[str, ...]:
    """Kernels that differ in number only, as calls of one source are one kernel."""
    ones, others = match.rows(a.kernels, b.kernels)
    calls = [sum(max(kernel.calls, 1) for kernel in side) for side in (ones, others)]
    if calls[0] != calls[1] or len(ones) == len(others):
        return ()
    sources = f"{plural(len(ones), 'source')} in a, {len(others)} in b"
    return (f"{plural(calls[0], 'call')} in both; {sources}",)


def _why(
    a: Kernel, b: Kernel, before: str | None, after: str | None, lines: int | None
) -> Iterator[str]:
    if a.language != b.language:
        yield f"{a.language} became {b.language}"
    elif a.language not in ("triton", "cpp") and a.name != b.name:
        yield f"{get_label(a)} became {get_label(b)}"
    if lines and a.language == b.language:
        yield f"{plural(lines, 'line')} of source"
    elif before is not None and after is None and a.language == b.language:
        yield "its source is not in b"
    if before and after and a.language == b.language:
        more = after.count("ks0") - before.count("ks0")
        fixed = before.count("numel = ") - after.count("numel = ")  # sizes of loops in a only
        if more > 0 or (more == 0 and fixed > 0):
            yield "sizes became arguments"
        elif more < 0 or fixed < 0:
            yield "sizes became constants"
    if a.calls != b.calls:
        yield f"{plural(a.calls, 'call')} became {b.calls}"


def _order(a: _Side, b: _Side) -> Callable[[KernelMatch], float]:
    """The place of a match in the program of a; what only b has stands where b has it."""
    places_a = {id: n for n, id in enumerate(a.kernels)}
    places_b = {id: n for n, id in enumerate(b.kernels)}
    return lambda m: float(places_a[m.a[0]]) if m.a else places_b[m.b[0]] - 0.5


def compare_kernels(a: Report, b: Report, matches: Sequence[KernelMatch]) -> Iterator[Change]:
    """A row for each match that is not the same."""
    left, right = kernels_of(a), kernels_of(b)
    for match in matches:
        if match.relation == "same":
            continue
        sides = match.rows(left, right)
        item = ", ".join(dict.fromkeys(map(get_label, sides[0] or sides[1])))
        a_text, b_text = (", ".join(f"{k.id} {k.name}" for k in side) or None for side in sides)
        note = "; ".join(match.why)
        yield Change("kernels", item, match.relation, a_text, b_text, "", note, *match.ids)


def moved(kernels: Sequence[Kernel]) -> int | None:
    """Bytes that kernels read and write together; None when one of them is not known."""
    parts = [count_moved_bytes(kernel) for kernel in kernels]
    return None if None in parts else sum_known(parts)
