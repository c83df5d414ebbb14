"""Whether a call fits into a GPU: linear extrapolation of the memory of two depths of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.analysis.layers.layers import (
    HELD,
    LayerRow,
    ModuleShare,
    extend_shares,
    rows_of,
    sum_module_shares,
)
from workbench.analysis.memory.memory import Memory, stacked
from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.live_only import LiveOnly
from workbench.number_text import number_text, plural
from workbench.report.memory_rows import HOOKED
from workbench.report.presenter import Presented, presenter

if TYPE_CHECKING:
    from os import PathLike

    import pandas
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class FitPart:
    """A part of the peak of a call that has to fit into a GPU.

    `part` is a kind of storage or "optimizer", `place` the position of the peak in the call,
    `source` the source of the number. `bytes` is `once`, independent of the number of layers, plus
    `each_layer` for each layer. `once` and `each_layer` are None if only one depth was compiled,
    which cannot separate them.
    """

    part: str
    bytes: int
    place: str
    source: str
    once: int | None = None
    each_layer: int | None = None


_FIXED = ("weights", "constant", "gradient", *HOOKED)  # whatever the batch is
_PASSING = ("temporary", "library result", "workspace", "pool")
_OPTIMIZER = "optimizer"
AXES = {"batch": 0, "length": 1}
"""What may be doubled, by the dimension of the inputs."""
_FAR = 2**20
_SLIGHT = 0.002  # of the peak: such as a mask
MISSING = (
    "the device context and library workspaces (a few hundred MB), memory that library calls "
    "allocate and free, fragmentation"
)
MISSING_OF_STEP = f"{MISSING}, temporaries of the optimizer step"

Bytes = Mapping[str, float]
"""Bytes by kind of storage."""


@dataclass(frozen=True)
class Depth:
    """What one call of a model with so many layers holds.

    `kinds` has the bytes of each kind of storage that live at each step, `backward` is the step
    with which the backward begins. `optimizer` is its state, in bytes. `modules` says what lives at
    a step by module. `call_us` is what a call takes by a model, with its least and its most as in
    `wb.forecast`; None where there is no forecast.
    """

    layers: int
    kinds: Mapping[str, Sequence[int]]
    steps: int
    backward: int
    optimizer: int
    saved: int
    seconds: float
    modules: Callable[[int], tuple[ModuleShare, ...]] | None = field(default=None, compare=False)
    call_us: tuple[float, float, float | None] | None = None

    def at(self, place: Place) -> Mapping[str, int]:
        """Bytes by kind at a step."""
        step = self.step(place)
        return {kind: sizes[step] for kind, sizes in self.kinds.items()}

    def step(self, place: Place) -> int:
        """The number of a step."""
        start, end = (0, self.backward) if not place.is_backward else (self.backward, self.steps)
        return start + place.steps if place.is_from_start else end - 1 - place.steps


@dataclass(frozen=True)
class Place:
    """A step of a program, counted from the start or end of its forward or backward pass.

    Programs of several depths are the same before their first and after their last layers. A step
    counted from an end therefore does the same in each of them.
    """

    is_backward: bool
    is_from_start: bool
    steps: int

    def __str__(self) -> str:
        """In words."""
        name = "backward" if self.is_backward else "forward"
        if self.is_from_start:
            return f"step {self.steps + 1} of the {name}"
        before = plural(self.steps, "step")
        return (
            f"{before} before the last step of the {name}"
            if self.steps
            else f"last step of the {name}"
        )


def read_depth(
    memory: Memory,
    layers: int,
    optimizer: int,
    seconds: float,
    call_us: tuple[float, float, float | None] | None = None,
) -> Depth:
    """What a program holds that was counted, and what a call takes by a model."""
    kinds = stacked(memory)
    first = next((row.step for row in memory.steps if row.is_backward), len(memory.steps))
    count = len(memory.steps)
    return Depth(
        layers,
        kinds,
        count,
        first,
        optimizer,
        memory.saved_bytes,
        seconds,
        partial(sum_module_shares, memory),
        call_us,
    )


def _places(depths: Sequence[Depth]) -> Iterator[Place]:
    """The steps of the shortest program: the first half from its start, the others from its end."""
    for is_backward in (False, True):
        count = min(d.steps - d.backward if is_backward else d.backward for d in depths)
        yield from (Place(is_backward, True, n) for n in range((count + 1) // 2))
        yield from (Place(is_backward, False, n) for n in range(count // 2))


@dataclass(frozen=True, repr=False)
class Fit(LiveOnly, Presented):
    """Hold the memory of a call on a GPU, and whether it fits; in bytes.

    Counted from the compiled programs of `depths`, and extrapolated linearly to `layers`; the
    optimizer's state is computed. `missing` lists what is not included. `doubled` counts the
    shallowest depth with twice the batch or the length, or each of the depths. Separating memory
    that grows from a fixed part in every layer takes two depths.
    """

    name: str
    gpu: str
    capacity: int
    layers: int
    is_training: bool
    optimizer: str
    shape: tuple[int, ...]
    depths: tuple[Depth, ...]
    missing: str
    doubled: Callable[[str], tuple[Depth, ...]] | None = field(default=None, compare=False)
    instead: ClassVar[str] = "Keep what it says: .sentence, .peak, .frame()."

    def __copy__(self, memo: Any = None) -> Fit:
        """Itself: nothing in it changes."""
        return self

    __deepcopy__ = __copy__

    @cached_property
    def parts(self) -> tuple[FitPart, ...]:
        """The parts of the peak, largest first."""
        place, kinds = self._peak(self.layers, None, 1)
        per_layer = {
            kind: self._each([d.at(place).get(kind, 0) for d in self.depths]) for kind in kinds
        }
        rows = [
            FitPart(
                kind, round(size), str(place), self._source, *self._split(size, per_layer[kind])
            )
            for kind, size in kinds.items()
        ]
        size, of_each = self._optimizer, self._each([d.optimizer for d in self.depths])
        state = self._split(size, of_each)
        rows.append(FitPart(_OPTIMIZER, size, "all the time", "arithmetic", *state))
        return tuple(sorted((row for row in rows if row.bytes), key=lambda row: -row.bytes))

    @cached_property
    def modules(self) -> tuple[ModuleShare, ...]:
        """Live bytes at the peak by module, largest first; identical layers share a row.

        Weights and inputs, which the caller holds, and the optimizer are in `parts`. It is for the
        deepest compiled program. Further layers are taken as the most common of its layers, and the
        sum is not exactly that of `parts`.
        """
        deepest = self.depths[-1]
        if deepest.modules is None:
            return ()
        place, _ = self._peak(self.layers, None, 1)
        shares = (s for s in deepest.modules(deepest.step(place)) if s.name not in HELD)
        return extend_shares(shares, self.layers - deepest.layers)

    def _each(self, sizes: Sequence[float]) -> float | None:
        """Bytes for each layer, by the line through the depths."""
        first, last = self.depths[0].layers, self.depths[-1].layers
        return None if first == last else (sizes[-1] - sizes[0]) / (last - first)

    def _split(self, size: float, per_layer: float | None) -> tuple[int | None, int | None]:
        """What is there once, and for each layer."""
        if per_layer is None:
            return None, None
        return round(size - per_layer * self.layers), round(per_layer)

    @property
    def peak(self) -> int:
        """The peak live bytes, including the optimizer's state."""
        return sum(row.bytes for row in self.parts)

    @property
    def saved(self) -> int:
        """Bytes of saved activations for the backward pass."""
        return round(extend_line([(d.layers, float(d.saved)) for d in self.depths], self.layers))

    @property
    def call_us(self) -> tuple[float, float, float | None] | None:
        """Modelled µs of a call, with its least and its most, extrapolated through the depths.

        As in `wb.forecast`; the optimizer's step is not included. None if there is no forecast.
        """
        calls = [(depth.layers, *depth.call_us) for depth in self.depths if depth.call_us]
        if len(calls) != len(self.depths):
            return None
        middle = extend_line([(layers, us) for layers, us, _, _ in calls], self.layers)
        least = extend_line([(layers, us) for layers, _, us, _ in calls], self.layers)
        mosts = [(layers, us) for layers, _, _, us in calls if us is not None]
        return middle, least, extend_line(mosts, self.layers) if len(mosts) == len(calls) else None

    @property
    def fits(self) -> bool:
        """Whether the peak is within the capacity; items in `missing` are not included."""
        return self.peak <= self.capacity

    @property
    def has_growing_temporaries(self) -> bool:
        """Whether more temporaries live at the peak of one depth than of the other.

        Then a program may place its buffers otherwise than that of the other depth, and the line
        through both is to be compared with a third. One of two buffers that layers write in turn
        may be the output: that is no growth.
        """
        place, _ = self._peak(self.layers, None, 1)
        here = [depth.at(place) for depth in self.depths]
        slight = _SLIGHT * max(sum(kinds.values()) for kinds in here)
        for passing in (_PASSING, (*_PASSING, "output")):
            sizes = [sum(kinds.get(kind, 0) for kind in passing) for kinds in here]
            if max(sizes) - min(sizes) <= slight:
                return False
        return True

    def largest_batch(self) -> int:
        """Return the largest batch whose peak is within the capacity; 0 for none.

        Modelled: linear between the example's batch and twice that, for which the shallowest depth
        is compiled once more.
        """
        return self._largest("batch")

    def largest_length(self) -> int:
        """Return the largest sequence length, which is the second dimension of the inputs.

        As `largest_batch`; memory that grows with the square of the length is underestimated.
        Raises `UsageError` for a call with one token: its cache has a fixed length.
        """
        if self.shape[AXES["length"]] == 1:
            raise UsageError(
                f"The inputs {list(self.shape)} have one token, so the length of the KV cache is "
                "unknown: call `fits` twice, with caches of different lengths."
            )
        return self._largest("length")

    def _largest(self, what: str) -> int:
        size = self.shape[AXES[what]]
        if self._total(what, 1 / size) > self.capacity:
            return 0
        low, high = 1 / size, 1.0
        while self._total(what, high) <= self.capacity and high < _FAR:
            low, high = high, high * 2
        return math.floor(size * self._root(what, low, high) + 1e-9)

    def _root(self, what: str, low: float, high: float) -> float:
        """The largest factor between two whose peak is within the capacity, by bisection."""
        for _ in range(60):
            middle = (low + high) / 2
            if self._total(what, middle) <= self.capacity:
                low = middle
            else:
                high = middle
        return low

    def _total(self, what: str, factor: float) -> float:
        _, kinds = self._peak(self.layers, what, factor)
        return sum(kinds.values()) + self._optimizer

    def _peak(self, layers: int, what: str | None, factor: float) -> tuple[Place, Bytes]:
        """The place with the most bytes, and what they are."""
        twice = () if what is None or self.doubled is None else self.doubled(what)
        by_place = (
            (place, self._at(place, layers, twice, factor))
            for place in _places((*self.depths, *twice))
        )
        return max(by_place, key=lambda item: sum(item[1].values()))

    def _at(self, place: Place, layers: int, twice: Sequence[Depth], factor: float) -> Bytes:
        """Bytes by kind at one place, of a call that is so many times larger."""
        here = [(depth.layers, depth.at(place)) for depth in self.depths]
        larger = [(depth.layers, depth.at(place)) for depth in twice]
        by_kind = {}
        for kind in dict.fromkeys(kind for _, kinds in here for kind in kinds):
            points = [(count, float(kinds.get(kind, 0))) for count, kinds in here]
            value = extend_line(points, layers)
            grown = [(count, float(kinds.get(kind, 0))) for count, kinds in larger]
            if kind in _FIXED or not grown:
                pass
            elif len(grown) == len(points):
                value += (extend_line(grown, layers) - value) * (factor - 1)
            else:  # of the shallowest alone: all that further layers hold is taken to grow
                shallow = points[0][1]
                once = shallow + (grown[0][1] - shallow) * (factor - 1)
                value = once + (value - shallow) * factor
            by_kind[kind] = value
        return _settle(by_kind)

    @cached_property
    def _optimizer(self) -> int:
        return round(
            extend_line([(d.layers, float(d.optimizer)) for d in self.depths], self.layers)
        )

    @property
    def _source(self) -> str:
        depths = " and ".join(str(d.layers) for d in self.depths)
        is_compiled = self.layers in (d.layers for d in self.depths)
        more = "" if is_compiled else f", extrapolated to {self.layers}"
        return f"counted at {depths} layers{more}"

    @cached_property
    def sentence(self) -> str:
        """Whether it fits, its peak, and the largest part of it."""
        verdict = "fits into" if self.fits else "does not fit into"
        call = f"A training step with {self.optimizer}" if self.is_training else "A call"
        largest = ", ".join(f"{number_text(r.bytes, 'bytes')} {r.part}" for r in self.parts[:3])
        return (
            f"{self.name} with {plural(self.layers, 'layer')} {verdict} {self.gpu}. {call} for "
            f"inputs of {list(self.shape)} needs {number_text(self.peak, 'bytes')} of "
            f"{number_text(self.capacity, 'bytes')} ({largest}).{self._tell_call()}"
        )

    def _tell_call(self) -> str:
        if self.call_us is None:
            return ""
        us, least_us, most_us = self.call_us
        call = number_text(us * 1e-6, "seconds")
        between = f"{number_text(least_us * 1e-6, 'seconds')} to "
        between += "?" if most_us is None else number_text(most_us * 1e-6, "seconds")
        how = ", error not measured" if most_us is None else ""
        what = "The forward and backward passes take" if self.is_training else "A call takes"
        return f" {what} {call} ({between}), modelled{how}."

    @checked
    def frame(self, name: str = "parts") -> pandas.DataFrame:
        """Return the `"parts"` of the peak, or its `"modules"`, as a table; raises `UsageError`."""
        if name == "parts":
            return presenter().rows_frame(self.parts, FitPart)
        if name != "modules":
            raise UsageError(f"Table {name!r} does not exist; choose 'parts' or 'modules'.")
        return presenter().rows_frame(rows_of(self.modules), LayerRow)

    def plot(self) -> Figure:
        """Plot the parts of the peak on one bar, with the capacity."""
        return presenter().plot(self)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """A page; without a path its text."""
        return presenter().page(self, path)


def _settle(by_kind: Mapping[str, float]) -> Bytes:
    """No kind below zero, and the sum of what passes as it is on the line.

    The same buffer may be a temporary of one depth and the result of a library call of another: the
    lines of both kinds leave for opposite sides then.
    """
    least = {kind: max(size, 0.0) for kind, size in by_kind.items()}
    passing = [kind for kind in _PASSING if kind in by_kind]
    total, kept = (max(sum(of[kind] for kind in passing), 0.0) for of in (by_kind, least))
    share = total / kept if kept else 0.0
    return {kind: size * share if kind in passing else size for kind, size in least.items()}


def extend_line(points: Sequence[tuple[int, float]], at: int) -> float:
    """The value of the line through the first and the last point; that of a single one."""
    (x0, y0), (x1, y1) = points[0], points[-1]
    return y0 if x0 == x1 else y0 + (y1 - y0) * (at - x0) / (x1 - x0)
