"""Whether a call fits into a GPU: lines through the memory of two depths of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.analysis.memory.memory import Memory, stacked
from workbench.analysis.memory.rows import FitPart
from workbench.number_text import number_text
from workbench.report.presenting import Presented, presenter

if TYPE_CHECKING:
    import pandas

_FIXED = ("weights", "constant", "gradient")  # whatever the batch is
_OPTIMIZER = "optimizer"
AXES = {"batch": 0, "length": 1}
"""What may be doubled, by the dimension of the inputs."""
_FAR = 2**20
MISSING = (
    "the context of the device and the workspaces of its libraries (some hundred MB), memory that "
    "library calls take and give back, fragmentation"
)
MISSING_OF_STEP = f"{MISSING}, temporaries of the optimizer's step"

Bytes = Mapping[str, float]
"""Bytes by kind of storage."""


@dataclass(frozen=True)
class Depth:
    """What one call of a model with so many layers holds, in bytes by kind, at some places.

    The peak of a deep model may be at another place than that of a shallow one, so that each place
    has a line of its own: both halves of the forward, and of the backward before and after half
    of what the forward kept is freed. `optimizer` is its state, in bytes.
    """

    layers: int
    places: Mapping[str, Bytes]
    optimizer: int
    saved: int
    seconds: float


def depth_of(memory: Memory, layers: int, optimizer: int, seconds: float) -> Depth:
    """The places of a program that was counted."""
    return Depth(layers, _places(memory), optimizer, memory.saved_bytes, seconds)


def _places(memory: Memory) -> dict[str, Bytes]:
    kinds = stacked(memory)
    first = next((row.step for row in memory.steps if row.is_backward), len(memory.steps))
    kept = kinds.get("saved for backward", [])
    half = next((n for n in range(first, len(kept)) if kept[n] < kept[first] / 2), first)
    spans = {
        "first half of the forward": range(first // 2),
        "second half of the forward": range(first // 2, first),
        "first half of the backward": range(first, half),
        "second half of the backward": range(half, len(memory.steps)),
    }
    found: dict[str, Bytes] = {}
    for name, steps in spans.items():
        if steps:
            fullest = max(steps, key=memory.live.__getitem__)
            found[name] = {kind: float(values[fullest]) for kind, values in kinds.items()}
    return found


@dataclass(frozen=True, repr=False)
class Fit(Presented):
    """What a call needs on a GPU and whether the GPU has it; bytes.

    Counted from the programs of `depths`, which were compiled, and extended on a line through them
    to `layers`; the optimizer's state is arithmetic. `missing` says what is not in it. `doubled`
    counts the shallowest depth with twice the batch, or the length.
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
    doubled: Callable[[str], Depth] | None = field(default=None, compare=False)

    @cached_property
    def parts(self) -> tuple[FitPart, ...]:
        """What the peak is made of, most first."""
        place, kinds = self._peak(self.layers, None, 1)
        rows = [FitPart(kind, round(size), place, self._source) for kind, size in kinds.items()]
        rows.append(FitPart(_OPTIMIZER, self._optimizer, "all the time", "arithmetic"))
        return tuple(sorted((row for row in rows if row.bytes), key=lambda row: -row.bytes))

    @property
    def peak(self) -> int:
        """The most bytes that live at once, the optimizer's state included."""
        return sum(row.bytes for row in self.parts)

    @property
    def saved(self) -> int:
        """Bytes that the forward keeps for the backward."""
        return round(_line([(d.layers, float(d.saved)) for d in self.depths], self.layers))

    @property
    def fits(self) -> bool:
        """Whether the peak is within the capacity; what `missing` names comes on top."""
        return self.peak <= self.capacity

    def largest_batch(self) -> int:
        """The largest batch whose peak is within the capacity; 0 for none.

        A model: linear between the example's batch and twice that, for which the shallowest depth
        is compiled once more.
        """
        return self._largest("batch")

    def largest_length(self) -> int:
        """The largest length of a sequence, which is the second dimension of the inputs.

        As `largest_batch`; what grows with the square of the length is underestimated.
        """
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

    def _peak(self, layers: int, what: str | None, factor: float) -> tuple[str, Bytes]:
        """The place with the most bytes, and what they are."""
        twice = None if what is None or self.doubled is None else self.doubled(what)
        depths = (*self.depths, *([] if twice is None else [twice]))
        found = {
            place: self._at(place, layers, twice, factor)
            for place in self.depths[0].places
            if all(place in depth.places for depth in depths)
        }
        return max(found.items(), key=lambda item: sum(item[1].values()))

    def _at(self, place: str, layers: int, twice: Depth | None, factor: float) -> Bytes:
        """Bytes by kind at one place, of a call that is so many times larger."""
        found = {}
        for kind in dict.fromkeys(kind for d in self.depths for kind in d.places[place]):
            points = [(d.layers, d.places[place].get(kind, 0.0)) for d in self.depths]
            value = _line(points, layers)
            if twice is not None and kind not in _FIXED:
                shallow = points[0][1]
                grown = (twice.places[place].get(kind, 0.0) - shallow) * (factor - 1)
                value = shallow + grown + (value - shallow) * factor
            found[kind] = max(value, 0.0)
        return found

    @cached_property
    def _optimizer(self) -> int:
        return round(_line([(d.layers, float(d.optimizer)) for d in self.depths], self.layers))

    @property
    def _source(self) -> str:
        depths = " and ".join(str(d.layers) for d in self.depths)
        is_compiled = self.layers in (d.layers for d in self.depths)
        more = "" if is_compiled else f", extended to {self.layers}"
        return f"counted at {depths} layers{more}"

    @cached_property
    def sentence(self) -> str:
        """Whether it fits, what it needs and what most of that is."""
        verdict = "fits into" if self.fits else "does not fit into"
        call = f"a training step with {self.optimizer}" if self.is_training else "a call"
        largest = ", ".join(f"{number_text(r.bytes, 'bytes')} {r.part}" for r in self.parts[:3])
        return (
            f"{self.name} with {self.layers} layers {verdict} {self.gpu}: {call} of "
            f"{list(self.shape)} needs {number_text(self.peak, 'bytes')} of "
            f"{number_text(self.capacity, 'bytes')} ({largest})."
        )

    def frame(self) -> pandas.DataFrame:
        """The parts of the peak as a DataFrame."""
        return presenter().rows_frame(self.parts, FitPart)


def _line(points: Sequence[tuple[int, float]], at: int) -> float:
    """The value of the line through the first and the last point; that of a single one."""
    (x0, y0), (x1, y1) = points[0], points[-1]
    return y0 if x0 == x1 else y0 + (y1 - y0) * (at - x0) / (x1 - x0)
