"""Declared dimensions of an input: fixed sizes, named ranges, relations between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

_LARGEST = 2**31  # torch writes "no maximum" as a number beyond


@dataclass(frozen=True)
class Dynamic:
    """A dimension of size `scale * name + offset`, where `name` lies in [min, max].

    A `name` of None is `Dim.AUTO` or `Dim.DYNAMIC`: torch's own guards decide, and the range is
    what they say. `is_raised` says
    that less was declared, and that torch compiled no code for the sizes 0 and 1.
    """

    name: str | None
    min: int | None = None
    max: int | None = None
    scale: int = 1
    offset: int = 0
    is_raised: bool = False

    @classmethod
    def of(cls, dim: Any) -> Dynamic | None:
        """What a Dim of torch.export, or an expression of one, declares; None for anything else."""
        root = getattr(dim, "root", dim)
        if not isinstance(getattr(root, "min", None), int) or not hasattr(root, "__name__"):
            return None
        function = getattr(dim, "fn", None)
        offset = function(0) if function else 0
        scale = function(1) - offset if function else 1
        high = root.max if isinstance(root.max, int) and root.max < _LARGEST else None
        return cls(root.__name__, root.min, high, scale, offset)

    @property
    def text(self) -> str:
        """The dimension as people write it, such as `2*batch in 4..64`."""
        if self.name is None:
            bounds = (
                f"{'' if self.min is None else self.min}..{'' if self.max is None else self.max}"
            )
            return "any" if bounds == ".." else bounds
        shown = self.term
        low = "" if self.min is None else str(self.size(self.min))
        high = "" if self.max is None else str(self.size(self.max))
        return f"{shown} in {low}..{high}" if low or high else shown

    @property
    def term(self) -> str:
        """A named dimension without its range, such as `2*batch`."""
        scaled = str(self.name) if self.scale == 1 else f"{self.scale}*{self.name}"
        return f"{scaled}{self.offset:+d}" if self.offset else scaled

    @property
    def starts_at_two(self) -> str:
        """Why a dimension starts above the least size that was declared."""
        return (
            f"{self.name} starts at {self.min}, though less was declared: torch specialises the "
            f"sizes 0 and 1, and the code that it compiled is not right below {self.min}. Compile "
            "another for such sizes"
        )

    def raised(self, low: int) -> Dynamic:
        """The same dimension from a greater minimum on."""
        return replace(self, min=low, is_raised=True)

    def size(self, value: int) -> int:
        """The size when the named dimension is `value`."""
        return self.scale * value + self.offset

    def value(self, size: int) -> int | None:
        """The named dimension behind a size, or None when no whole number gives it."""
        value, rest = divmod(size - self.offset, self.scale)
        return None if rest else value

    def allows(self, size: int) -> bool:
        """Whether the declared range holds a size."""
        value = self.value(size)
        if value is None:
            return False
        return (self.min is None or value >= self.min) and (self.max is None or value <= self.max)


@dataclass(frozen=True)
class Hint:
    """`Dim.AUTO` or `Dim.DYNAMIC` of torch.export, perhaps with bounds; `kind` is its name."""

    kind: str
    min: int | None = None
    max: int | None = None

    @classmethod
    def of(cls, dim: Any) -> Hint | None:
        """What a hint declares; None for anything else."""
        kind = getattr(getattr(dim, "type", None), "name", None)
        return None if kind is None else cls(kind, dim.min, dim.max)

    def at(self, place: str) -> Dynamic:
        """The dimension or number that it declares, named by its place where it has bounds."""
        if self.min is None and self.max is None:
            return Dynamic(None)
        return Dynamic(re.sub(r"\W+", "_", place).strip("_"), self.min, self.max)


Size = int | Dynamic


def text(sizes: tuple[Size, ...]) -> str:
    """A shape as people write it, such as `[batch in 2..64, 512]`."""
    return "[" + ", ".join(str(s) if isinstance(s, int) else s.text for s in sizes) + "]"
