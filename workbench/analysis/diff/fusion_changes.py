"""What was fused in one compilation and not in the other, with the scheduler's reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from workbench.analysis.diff.difference import Change, KernelMatch, get_label
from workbench.analysis.fusion.why_not import Rejected, describe_group, rejected
from workbench.report import Report

_NUMBER = re.compile(r"\d+")
NOT_TRIED = "the scheduler did not try it"

NamePair = tuple[str, str]


@dataclass(frozen=True)
class _Side:
    """The pairs of kernels that stayed apart, by id, with the reason; names of kernels."""

    apart: dict[NamePair, Rejected]
    labels: Mapping[str, str]

    def reason(self, one: str, other: str) -> str | None:
        rejection = self.apart.get((one, other)) or self.apart.get((other, one))
        return None if rejection is None else rejection.reason

    def words(self, *kernels: str) -> str:
        return " and ".join(f"{id} ({self.labels[id]})" for id in kernels)


def compare_fusion(a: Report, b: Report, matches: Sequence[KernelMatch]) -> Iterator[Change | None]:
    """Verdicts that differ, kernels that were split or merged first; None where they do not."""
    left, right = _side(a), _side(b)
    for match in matches:
        yield from _in_match(match, left, right)
    pairs = [(m.a[0], m.b[0]) for m in matches if len(m.a) == len(m.b) == 1]
    to_b = dict(pairs)
    to_a = {j: i for i, j in pairs}
    for (i, k), own in left.apart.items():
        if i in to_b and k in to_b:
            yield _verdict(left, right, (i, k), (to_b[i], to_b[k]), own)
    for (j, m), own in right.apart.items():
        if j in to_a and m in to_a and left.reason(to_a[j], to_a[m]) is None:
            item = left.words(to_a[j], to_a[m])
            ids = {"id_a": f"{to_a[j]},{to_a[m]}", "id_b": f"{j},{m}"}
            yield Change("fusion", item, "added", None, own.reason, note=_STAY, **ids)


_STAY = "apart in both; tried in one only"


def _verdict(left: _Side, right: _Side, a: NamePair, b: NamePair, own: Rejected) -> Change | None:
    """A pair that stayed apart in both: None when for the same reason."""
    now = right.reason(*b)
    ids = {"id_a": ",".join(a), "id_b": ",".join(b)}
    if now is None:
        return Change("fusion", left.words(*a), "removed", own.reason, None, note=_STAY, **ids)
    if _NUMBER.sub("#", now) == _NUMBER.sub("#", own.reason):
        return None
    return Change("fusion", left.words(*a), "reason", own.reason, now, **ids)


def _in_match(match: KernelMatch, left: _Side, right: _Side) -> Iterator[Change]:
    """Kernels of b that were one kernel in a, and the other way round."""
    if not match.a or not match.b or len(match.a) == len(match.b):
        return
    is_split = len(match.b) > len(match.a)
    side, kernels = (right, match.b) if is_split else (left, match.a)
    home = left.words(*match.a) if is_split else right.words(*match.b)
    for one, other in _neighbours(kernels, side):
        item, ids = side.words(one, other), f"{one},{other}"
        texts = f"together in {home}", side.reason(one, other) or NOT_TRIED
        if is_split:
            yield Change("fusion", item, "apart", *texts, id_a=match.ids[0], id_b=ids)
        else:
            yield Change("fusion", item, "fused", *texts[::-1], id_a=ids, id_b=match.ids[1])


def _neighbours(kernels: Sequence[str], side: _Side) -> Iterator[NamePair]:
    """Pairs with a recorded reason; of others each kernel with the next."""
    known = [pair for pair in combinations(kernels, 2) if side.reason(*pair) is not None]
    yield from known or pairwise(kernels)


def _side(report: Report) -> _Side:
    by_node = {
        node: kernel.id for kernel in [*report.kernels][::-1] for node in kernel.scheduler_nodes
    }
    groups = {
        (node.graph, node.name): describe_group(node, by_node)
        for node in report.scheduler_nodes
        if node.phase == "after"
    }
    apart: dict[NamePair, Rejected] = {}
    for pair in rejected(report):
        one, other = (groups.get((pair.graph, name)) for name in (pair.a, pair.b))
        if one is not None and other is not None and one != other:
            apart.setdefault((one, other), pair)
    return _Side(apart, {kernel.id: get_label(kernel) for kernel in report.kernels})
