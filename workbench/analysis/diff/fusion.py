"""What was fused in one compilation and not in the other, with the scheduler's reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from workbench.analysis.diff.difference import Change, KernelMatch
from workbench.analysis.diff.kernels import label_of
from workbench.analysis.fusion.fusion import Rejected, rejected
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
        found = self.apart.get((one, other)) or self.apart.get((other, one))
        return None if found is None else found.reason

    def words(self, *kernels: str) -> str:
        return " and ".join(f"{id} ({self.labels[id]})" for id in kernels)


def fusion_changes(
    a: Report, b: Report, matches: Sequence[KernelMatch]
) -> tuple[list[Change], int]:
    """Verdicts that differ, kernels that were split or merged first; and how many do not."""
    left, right = _side(a), _side(b)
    found = [change for match in matches for change in _in_match(match, left, right)]
    pairs = [(m.a[0], m.b[0]) for m in matches if len(m.a) == len(m.b) == 1]
    to_b = dict(pairs)
    to_a = {j: i for i, j in pairs}
    same = 0
    for (i, k), own in left.apart.items():
        if i in to_b and k in to_b:
            change = _verdict(left, right, (i, k), (to_b[i], to_b[k]), own)
            found += [change] if change else []
            same += change is None
    for (j, m), own in right.apart.items():
        if j in to_a and m in to_a and left.reason(to_a[j], to_a[m]) is None:
            item = left.words(to_a[j], to_a[m])
            ids = {"id_a": f"{to_a[j]},{to_a[m]}", "id_b": f"{j},{m}"}
            found.append(Change("fusion", item, "added", None, own.reason, note=_STAY, **ids))
    return found, same


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
    if not match.a or not match.b:
        return
    if len(match.b) > len(match.a):
        home = left.words(*match.a)
        for one, other in _neighbours(match.b, right):
            reason = right.reason(one, other) or NOT_TRIED
            yield Change(
                "fusion", right.words(one, other), "apart", f"together in {home}", reason,
                id_a=",".join(match.a), id_b=f"{one},{other}",
            )  # fmt: skip
    elif len(match.a) > len(match.b):
        home = right.words(*match.b)
        for one, other in _neighbours(match.a, left):
            reason = left.reason(one, other) or NOT_TRIED
            yield Change(
                "fusion", left.words(one, other), "fused", reason, f"together in {home}",
                id_a=f"{one},{other}", id_b=",".join(match.b),
            )  # fmt: skip


def _neighbours(kernels: Sequence[str], side: _Side) -> Iterator[NamePair]:
    """Pairs with a recorded reason; of others each kernel with the next."""
    known = [pair for pair in combinations(kernels, 2) if side.reason(*pair) is not None]
    if known:
        yield from known
    else:
        yield from pairwise(kernels)


def _side(report: Report) -> _Side:
    homes: dict[str, str] = {}
    for kernel in report.kernels:
        for id in kernel.scheduler_nodes:
            homes.setdefault(id, kernel.id)
    groups: dict[NamePair, str] = {}
    for node in report.scheduler_nodes:
        if node.phase == "after":
            ids = (node.id, *(f"{node.graph}:{m.rpartition(':')[2]}" for m in node.members))
            kernel_id = next((homes[id] for id in ids if id in homes), None)
            if kernel_id is not None:
                groups[node.graph, node.name] = kernel_id
    apart: dict[NamePair, Rejected] = {}
    for pair in rejected(report):
        ends = groups.get((pair.graph, pair.a)), groups.get((pair.graph, pair.b))
        if ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
            apart.setdefault((ends[0], ends[1]), pair)
    return _Side(apart, {kernel.id: label_of(kernel) for kernel in report.kernels})
