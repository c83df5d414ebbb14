"""Declared dimensions of an input: fixed sizes, named ranges, relations between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Dynamic:
    """A dimension of size `scale * name + offset`, where `name` lies in [min, max].

    A `name` of None is `Dim.AUTO` or `Dim.DYNAMIC`: torch's own guards decide.
    """

    name: str | None
    min: int | None = None
    max: int | None = None
    scale: int = 1
    offset: int = 0

    @property
    def text(self) -> str:
        """The dimension as people write it, such as `2*batch in 4..64`."""
        if self.name is None:
            return "any"
        scaled = self.name if self.scale == 1 else f"{self.scale}*{self.name}"
        shown = f"{scaled}{self.offset:+d}" if self.offset else scaled
        low = "" if self.min is None else str(self.size(self.min))
        high = "" if self.max is None else str(self.size(self.max))
        return f"{shown} in {low}..{high}" if low or high else shown

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


Size = int | Dynamic


def to_json(size: Size) -> Any:
    """A size as JSON-ready data."""
    if isinstance(size, int):
        return size
    return {
        "name": size.name,
        "min": size.min,
        "max": size.max,
        "scale": size.scale,
        "offset": size.offset,
    }


def from_json(data: Any) -> Size:
    """Read what `to_json` wrote."""
    return data if isinstance(data, int) else Dynamic(**data)


def text(sizes: tuple[Size, ...]) -> str:
    """A shape as people write it, such as `[batch in 2..64, 512]`."""
    return "[" + ", ".join(str(s) if isinstance(s, int) else s.text for s in sizes) + "]"
