"""The memory of modules at the peak, with the identical layers of a model as one."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.analysis.memory.memory import Memory, memory
from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.memory_rows import Allocation
from workbench.report.record import select_parts

_LAYER = re.compile(r"(.*?)\.(\d+)(?:\.(.*))?$")
_OF_MODULE = re.compile(r"L_\w+?_modules_|.*_(?:parameters|buffers)_")
HELD = ("weights", "constant", "input")
"""What the caller holds: one share for each."""
NO_MODULE = "no module"


@dataclass(frozen=True, slots=True)
class ModuleShare:
    """Bytes that live at the peak and belong to a module.

    A share of several `layers` is that of layers that do the same: `bytes` are those of all, `each`
    the fewest and the most of one, `parts` the modules in them. `makes_peak`: what runs at the peak
    is in it.
    """

    name: str
    bytes: int
    layers: tuple[int, ...] = ()
    each: tuple[int, int] = (0, 0)
    parts: tuple[ModuleShare, ...] = ()
    makes_peak: bool = False

    @property
    def times(self) -> int:
        """How many layers it stands for; 1 for what is no layer."""
        return max(1, len(self.layers))


@dataclass(frozen=True, slots=True)
class LayerRow:
    """A row of the table `memory_layers`: a module at the peak, or `times` equal layers.

    `bytes` are those of all of them; `part_of` is the row of the layers that a module is in.
    """

    module: str  # the module, or the layers of a list that are equal
    times: int  # how many equal layers it stands for
    bytes: int
    least_each: int  # the fewest bytes of one
    most_each: int  # the most bytes of one
    part_of: str | None
    makes_peak: bool  # whether what runs at the peak is in it


Signatures = Mapping[tuple[str, int], tuple[object, ...]]
"""By list and number what a layer does."""


def sum_module_shares(usage: Memory, step: int | None = None) -> tuple[ModuleShare, ...]:
    """What lives at the peak by module, most first; what the caller holds is one entry for each.

    Layers of a list, such as `layers.0` to `layers.31`, are told by the numbers in their paths, and
    are equal where the captured graph has the same operators of the same sizes for them. With
    `step` it is what lives at the fullest moment of that step.
    """
    rows = _alive(usage, step)
    running = _module_at(usage, usage.peaks[-1].step if step is None else step)
    sizes: dict[str, int] = defaultdict(int)
    for row in rows:
        sizes[row.kind if row.kind in HELD else row.module or NO_MODULE] += row.bytes
    lists: dict[str, dict[int, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    shares = []
    for path, size in sizes.items():
        place = _LAYER.match(path)
        if place is None:
            shares.append(ModuleShare(path, size, makes_peak=path == running))
        else:
            name, number, rest = place.groups()
            lists[name][int(number)][rest or ""] = size
    equal = usage.report.once(read_layer_signatures)
    for name, layers in lists.items():
        shares += _merged(name, layers, running, equal)
    return tuple(sorted((share for share in shares if share.bytes), key=lambda s: -s.bytes))


def _alive(usage: Memory, step: int | None) -> list[Allocation]:
    if step is None:
        return [row for row in usage.allocations if row.at_peak]
    moments = usage.timeline.walk.moments
    inside = [n for n, (_, place) in enumerate(moments) if min(place, len(usage.live) - 1) == step]
    fullest = max(inside, key=lambda n: moments[n][0])
    pairs = zip(usage.allocations, usage.timeline.walk.storages, strict=True)
    return [
        row
        for row, storage in pairs
        if storage.first_moment <= fullest
        and (storage.last_moment is None or fullest < storage.last_moment)
    ]


def _merged(
    name: str,
    layers: Mapping[int, Mapping[str, int]],
    running: str | None,
    signatures: Signatures,
) -> Iterator[ModuleShare]:
    """The layers of one list: those that are equal and do not make the peak as one."""
    place = _LAYER.match(running or "")
    at_peak = int(place[2]) if place is not None and place[1] == name else None
    equal: dict[tuple[bool, object], list[int]] = defaultdict(list)
    for number in sorted(layers):
        does = signatures.get((name, number), number)
        equal[number == at_peak, does].append(number)
    has_equal = len({does for _, does in equal}) < len(layers)
    for numbers in equal.values():
        is_peak = numbers == [at_peak]
        if not has_equal:
            for rest, size in layers[numbers[0]].items():
                path = _path(name, numbers[0], rest)
                yield ModuleShare(path, size, makes_peak=path == running)
            continue
        sums: dict[str, int] = defaultdict(int)
        for number in numbers:
            for rest, size in layers[number].items():
                sums[rest] += size
        parts = (
            ModuleShare(rest or "itself", size, makes_peak=_path(name, numbers[0], rest) == running)
            for rest, size in sums.items()
        )
        totals = [sum(layers[number].values()) for number in numbers]
        yield ModuleShare(
            f"{name}.{format_numbers(numbers)}",
            sum(totals),
            tuple(numbers),
            (min(totals), max(totals)),
            tuple(sorted(parts, key=lambda share: -share.bytes)),
            is_peak,
        )


def _path(name: str, number: int, rest: str) -> str:
    return f"{name}.{number}.{rest}" if rest else f"{name}.{number}"


def read_layer_signatures(report: Report) -> Signatures:
    """The operators of each layer, with their sizes, as the captured graph has them.

    Layers within layers have their own: `blocks.0.net.1` is one of `blocks` and of `blocks.0.net`.
    """
    first = next((g.id for g in report.graphs if g.stage in ("dynamo", "forward")), None)
    fields = ("op", "module_path", "target", "shape", "dtype")
    by_layer: dict[tuple[str, int], list[object]] = defaultdict(list)
    for op, path, *does in select_parts(report.nodes, "graph", {first}, fields):
        if op == "placeholder" and not _OF_MODULE.match(does[0]):
            continue  # an input of the call stands in the first layer that reads it
        parts = (path or "").split(".")
        for at, part in enumerate(parts):
            if part.isdecimal():
                inner = ".".join(parts[at + 1 :])
                layer = ".".join(parts[:at]), int(part)
                by_layer[layer].append((inner, _operator(does[0]), *does[1:]))
    return {layer: tuple(nodes) for layer, nodes in by_layer.items()}


def _operator(target: str) -> str:
    """What a node calls; inputs and attributes have the number of the layer in their names."""
    return re.sub(r"\d+", "", target)


def format_numbers(numbers: Sequence[int]) -> str:
    """`0–2, 5` of sorted numbers."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def extend_shares(shares: Iterable[ModuleShare], missing: int) -> tuple[ModuleShare, ...]:
    """The shares of a model that has so many more layers.

    The largest group of equal layers stands for those that are not there.
    """
    known = list(shares)
    most = max((share for share in known if share.layers), key=lambda s: s.times, default=None)
    if most is None or not missing:
        return tuple(known)
    count = most.times + missing
    parts = (replace(part, bytes=part.bytes * count // most.times) for part in most.parts)
    more = replace(
        most,
        name=f"{most.name.rpartition('.')[0]}.*",
        bytes=most.bytes * count // most.times,
        layers=tuple(range(count)),
        parts=tuple(parts),
    )
    extended = [more if share is most else share for share in known]
    return tuple(sorted(extended, key=lambda share: -share.bytes))


def layer_list(report: Report) -> str | None:
    """The path of the list with most equal layers; None where no two are equal."""
    counts = Counter((name, does) for (name, _), does in report.once(read_layer_signatures).items())
    (name, _), count = max(counts.items(), key=lambda item: item[1], default=(("", None), 0))
    return name if count > 1 else None


def template(path: str | None) -> str | None:
    """A path with `*` in place of the number of its layer; None for what is in none."""
    place = _LAYER.match(path or "")
    if place is None:
        return None
    return ".".join(part for part in (place[1], "*", place[3]) if part)


def _module_at(usage: Memory, step: int | None) -> str | None:
    """The module of the last node of the kernel that runs in a step."""
    if step is None or not usage.timeline.kernels:
        return None
    kernel = usage.timeline.kernels[step]
    nodes = next((k.nodes for k in usage.report.kernels if k.id == kernel), ())
    paths = dict(select_parts(usage.report.nodes, "id", set(nodes), ("id", "module_path")))
    return next((paths[id] for id in reversed(nodes) if paths.get(id)), None)


def list_layer_rows(report: Report) -> list[LayerRow]:
    """The table `memory_layers`; empty where memory is not known."""
    try:
        shares = sum_module_shares(memory(report))
    except UsageError:
        return []
    return rows_of(shares)


def rows_of(shares: Iterable[ModuleShare]) -> list[LayerRow]:
    """A row for each share, and for each of its parts."""
    rows = []
    for share in shares:
        rows.append(_row(share, None))
        rows += [_row(part, share.name) for part in share.parts]
    return rows


def _row(share: ModuleShare, part_of: str | None) -> LayerRow:
    least, most = share.each if share.layers else (share.bytes, share.bytes)
    return LayerRow(share.name, share.times, share.bytes, least, most, part_of, share.makes_peak)
