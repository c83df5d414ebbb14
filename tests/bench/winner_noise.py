"""How far published winners agree with themselves: what no model of times could tell better.

One device was tuned twice for some problems, with two releases of Triton; and in how many rows of
tiles a product is walked cannot matter where it has only one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.bench.winner_facts import Winner
from tests.bench.winner_work import list_candidates, to_tile
from workbench.analysis.product_configs.prior import measure_distance

_COPIED = 0.8
"""Of the problems with the same winner, from which on a file is taken to be a copy of another."""


def compare_again(winners: Sequence[Winner]) -> Iterator[dict[str, Any]]:
    """A row for each device and pair of releases of Triton that tuned the same problems.

    `same` is the share in which one configuration won twice; `five` and `fifth` those in which the
    later winner is among the first five, and in the first fifth, by nearness to the earlier one.
    """
    candidates = list_candidates(winners)
    problems: dict[tuple[Any, ...], dict[str, Winner]] = defaultdict(dict)
    for w in winners:
        problems[w.device, w.kind, w.experts, w.n, w.k, w.scale, w.m][w.triton] = w
    found: dict[tuple[str, str, str], list[tuple[bool, bool, bool]]] = defaultdict(list)
    for (device, kind, *_), by_release in problems.items():
        names = candidates[device, kind]
        tiles = [to_tile(each) for each in names]
        releases = sorted(by_release)
        for one, other in pairwise(releases):
            earlier, later = by_release[one].config, by_release[other].config
            apart = [measure_distance(to_tile(earlier), tile) for tile in tiles]
            place = sum(each < apart[names.index(later)] for each in apart)
            is_first = (earlier == later, place < 5, place < len(names) / 5)
            found[device, one, other].append(is_first)
    for (device, one, other), rows in sorted(found.items()):
        same, five, fifth = (round(sum(each) / len(rows), 3) for each in zip(*rows, strict=True))
        if same < _COPIED:
            yield {
                "device": device,
                "releases": [one, other],
                "problems": len(rows),
                "shares": {"same": same, "five": five, "fifth": fifth},
            }


def count_groups(winners: Sequence[Winner]) -> Mapping[str, int]:
    """How often each GROUP_SIZE_M won where a product has one row of tiles."""
    return dict(
        sorted(
            Counter(
                str(w.group)
                for w in winners
                if w.kind.startswith("gemm") and w.device != "mi300x" and w.m <= w.config.m
            ).items(),
            key=lambda each: int(each[0]),
        )
    )
