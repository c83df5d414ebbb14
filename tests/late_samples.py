"""Globals that are set when they are first asked for, in the ways that libraries do it.

`python -m tests.late_samples FOLDER` loads a file for each, where nothing was asked yet.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import torch

import workbench as wb

X = torch.ones(3)


class Flags:
    _memory: float

    def available(self) -> bool:
        if not hasattr(self, "_ok"):
            self._ok = True
        return self._ok

    @functools.cached_property
    def cached(self) -> bool:
        return True

    @property
    def memory(self) -> float:
        try:
            return self._memory
        except AttributeError:
            self._memory = 3.0
            return self._memory

    @classmethod
    def of_class(cls) -> float:
        if "_of_class" not in vars(cls):
            cls._of_class = 5.0  # type: ignore[attr-defined]
        return cls._of_class  # type: ignore[attr-defined, no-any-return]


class Slotted:
    __slots__ = ("_ok",)

    def available(self) -> float:
        if not hasattr(self, "_ok"):
            self._ok = 2.0
        return self._ok


FLAGS, SLOTTED = Flags(), Slotted()
_HAS: bool | None = None
TABLE: dict[str, float] = {}


def has() -> bool:
    global _HAS
    if _HAS is None:
        _HAS = True
    return _HAS


def entry(key: str) -> float:
    if key not in TABLE:
        TABLE[key] = 2.0
    return TABLE[key]


def own() -> Any:
    if not hasattr(own, "seen"):
        own.seen = 2.0  # type: ignore[attr-defined]
    return own.seen  # type: ignore[attr-defined]


def by_method(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if FLAGS.available() else x


def by_cached_property(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if FLAGS.cached else x


def by_property(x: torch.Tensor) -> torch.Tensor:
    return x * FLAGS.memory


def by_class(x: torch.Tensor) -> torch.Tensor:
    return x * FLAGS.of_class()


def by_slot(x: torch.Tensor) -> torch.Tensor:
    return x * SLOTTED.available()


def by_global(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if has() else x


def by_table(x: torch.Tensor) -> torch.Tensor:
    return x * entry("a")


def by_function(x: torch.Tensor) -> torch.Tensor:
    return x * own()


ALL = (
    *(by_method, by_cached_property, by_property, by_class, by_slot, by_global, by_table),
    by_function,
)


def main(folder: Path) -> None:
    """Load each, call it before and after the program asked."""
    found = {}
    for function in ALL:
        try:
            loaded = wb.load(folder / f"{function.__name__}.aot", trust=True)
            first, expected, second = loaded(X), function(X), loaded(X)
            found[function.__name__] = torch.equal(first, expected) and torch.equal(second, first)
        except wb.WorkbenchError as error:
            found[function.__name__] = str(error)
    FLAGS._ok = False
    try:
        wb.load(folder / "by_method.aot", trust=True)
    except wb.ArtifactError as error:
        found["changed"] = str(error)
    print(json.dumps(found))


if __name__ == "__main__":
    from tests import late_samples  # whose classes are those of the files

    late_samples.main(Path(sys.argv[1]))
