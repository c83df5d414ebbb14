"""Which items of two sequences are the same: by fine labels first, then by coarse ones."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher

from workbench.report.side_by_side import count_common_start

Labels = Sequence[Hashable]

LONGEST = 20_000
"""Items of the longer sequence up to which every item may match any equal one.

Above it those that occur very often match only beside a rarer one, or it takes minutes.
"""


def align(a: Labels, b: Labels) -> Iterator[tuple[int, int]]:
    """Pairs of indexes of equal items, in order in both sequences."""
    head = count_common_start(a, b)
    tail = count_common_start(a[head:][::-1], b[head:][::-1])
    yield from ((i, i) for i in range(head))
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    if middle_a and middle_b:
        is_long = max(len(middle_a), len(middle_b)) > LONGEST
        matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=is_long)
        for i, j, size in matcher.get_matching_blocks():
            yield from ((head + i + n, head + j + n) for n in range(size))
    yield from ((len(a) - n, len(b) - n) for n in range(tail, 0, -1))


def align_by(a: Sequence[Labels], b: Sequence[Labels]) -> dict[int, int]:
    """Pairs by several labellings of the same items, from the finest to the coarsest.

    A coarser one fills the gaps that the finer ones left. What then is left over is paired, in
    order, by the finest one wherever it stands: it was moved.
    """
    pairs: dict[int, int] = {}
    for fine, coarse in zip(a, b, strict=True):
        for (i, k), (j, m) in list(_gaps(pairs, len(fine), len(coarse))):
            pairs.update((i + x, j + y) for x, y in align(fine[i:k], coarse[j:m]))
    if a:
        pairs.update(_moved(a[0], b[0], pairs))
    return pairs


def _gaps(
    pairs: dict[int, int], size_a: int, size_b: int
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The stretches between pairs, as half-open ranges, where both sequences have items left."""
    i = j = 0
    for x, y in [*sorted(pairs.items()), (size_a, size_b)]:
        if x > i and y > j:
            yield (i, x), (j, y)
        i, j = x + 1, y + 1


def _moved(a: Labels, b: Labels, pairs: dict[int, int]) -> Iterator[tuple[int, int]]:
    matched = set(pairs.values())
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for j, label in enumerate(b):
        if j not in matched:
            places[label].append(j)
    for i, label in enumerate(a):
        if i not in pairs and places.get(label):
            yield i, places[label].popleft()
