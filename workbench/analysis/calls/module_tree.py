"""What every module of a model costs, with equal layers of a list as one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from workbench.analysis.calls.call_shares import CallShare, list_call_shares
from workbench.analysis.calls.call_shares import part_kernels as part_kernels
from workbench.analysis.layers.layers import format_numbers, read_layer_signatures
from workbench.report import Report

RowKind = Literal["function", "library", "line", "module", "rest"]
Costs = Mapping[str, float]
Path = tuple[str, ...]
_EQUAL = re.compile(r"(\d+)[–,][^.]*")  # the numbers of equal layers, of which the first does
_SEGMENT = re.compile(r"[^.\[]+(?:\[[^\]]*\])*|\[[^\]]*\]")


@dataclass(frozen=True)
class CostRow:
    """A row of a tree of costs: what it is, what it costs with its parts and without them.

    `id` is that of a source, of a line, or `M:` and the path of a module; `name` what it is called,
    `module` where a function runs. A row stands for `times` equal layers; `each` has by cost the
    least and the most of one of them. `total` and `own` are by cost; a function has no cost of its
    own but that of its lines: its `own` is theirs, and its `total` that of its `parts`.
    """

    kind: RowKind
    id: str
    name: str
    total: Costs
    own: Costs
    parts: tuple[CostRow, ...] = ()
    module: str = ""
    times: int = 1
    each: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placed:
    """A share with what is left of its module's path below the module that it is seen from."""

    share: CallShare
    path: Path


@dataclass(frozen=True)
class Layers:
    """Modules that do the same: `name` stands for all of them, `by_number` has their shares.

    `loose` are shares that surely are theirs, of nobody knows which of them.
    """

    name: str
    by_number: Mapping[int | None, Sequence[Placed]]
    loose: tuple[Placed, ...] = ()

    @property
    def shares(self) -> list[Placed]:
        """Those of all of them."""
        return [*(placed for own in self.by_number.values() for placed in own), *self.loose]

    @property
    def times(self) -> int:
        """How many there are."""
        return len(self.by_number)

    @property
    def each(self) -> dict[str, tuple[float, float]]:
        """By cost the least and the most of one; empty for one alone."""
        if self.times == 1:
            return {}
        sums = [sum_costs(placed.share for placed in own) for own in self.by_number.values()]
        kinds = {kind for costs in sums for kind in costs}
        ranges = {kind: [costs.get(kind, 0.0) for costs in sums] for kind in kinds}
        return {kind: (min(values), max(values)) for kind, values in ranges.items()}


def list_module_rows(report: Report) -> CostRow:
    """The tree of the modules; its root is the call with all that belongs to no module."""
    shares = list_call_shares(report)
    parts = tuple(list_modules(report, [Placed(s, split_path(s.module)) for s in shares], ""))
    total, own = sum_costs(shares), sum_costs(share for share in shares if not share.module)
    own = {kind: own.get(kind, 0.0) for kind in total}
    return CostRow("module", "M:", report.request.name or "the call", total, own, parts)


def list_modules(report: Report, placed: Sequence[Placed], above: str) -> Iterator[CostRow]:
    """The modules right below the one with the path `above`, in the order of the program."""
    for found in group_modules(report, [each for each in placed if each.path], above):
        yield _module(report, found, above)


def _module(report: Report, found: Layers, above: str) -> CostRow:
    shares, path = found.shares, join_path(above, found.name)
    parts = tuple(list_modules(report, shares, path))
    own = sum_costs(each.share for each in shares if not each.path)
    if len(parts) == 1 and found.times == 1 and all(each.path for each in shares):
        (only,) = parts  # a container that does nothing itself
        return CostRow(**{**vars(only), "name": join_path(found.name, only.name)})
    everything = [each.share for each in shares]
    total = sum_costs(everything)
    kernels = dict.fromkeys(kernel for share in everything for kernel in share.kernels)
    lines = dict.fromkeys(share.lines[-1] for share in everything if share.lines)
    return CostRow(
        "module",
        f"M:{path}",
        found.name,
        total,
        {kind: own.get(kind, 0.0) for kind in total},
        parts,
        path,
        found.times,
        found.each,
        tuple(kernels),
        tuple(lines),
    )


def group_modules(report: Report, placed: Sequence[Placed], above: str) -> Iterator[Layers]:
    """The modules that the paths begin with; those of a list that do the same are one."""
    lists: dict[str, dict[int | None, list[Placed]]] = defaultdict(lambda: defaultdict(list))
    for each in placed:
        name, number, rest = _head(each.path)
        lists[name][number].append(Placed(each.share, rest))
    signatures = report.once(read_layer_signatures)
    for name, by_number in lists.items():
        path = join_path(above, name)
        alike: dict[object, dict[int | None, list[Placed]]] = defaultdict(dict)
        for number, own in by_number.items():
            first = _EQUAL.sub(r"\1", path)
            does: object = None if number is None else signatures.get((first, number))
            if number is not None and not does:
                does = frozenset((each.share.lines, each.path) for each in own)
            alike[does][number] = own
        for group in alike.values():
            numbers = sorted(number for number in group if number is not None)
            yield Layers(join_path(name, format_numbers(numbers)) if numbers else name, group)


def _head(path: Path) -> tuple[str, int | None, Path]:
    """The first module of a path, its number where it is one of a list, the rest."""
    if path[0].isdecimal():
        return "", int(path[0]), path[1:]
    if len(path) > 1 and path[1].isdecimal():
        return path[0], int(path[1]), path[2:]
    return path[0], None, path[1:]


@lru_cache(maxsize=4096)
def split_path(module: str) -> Path:
    """The segments of a module's path; what is in brackets stays with what is before it."""
    return tuple(_SEGMENT.findall(module))


def join_path(*parts: str) -> str:
    """Paths as one."""
    return ".".join(part for part in parts if part)


def sum_costs(shares: Iterable[CallShare]) -> dict[str, float]:
    """What shares cost together, by kind."""
    total: dict[str, float] = defaultdict(float)
    for share in shares:
        for kind, amount in share.costs.items():
            total[kind] += amount
    return dict(total)
