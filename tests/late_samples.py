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


class Requirement:
    """Looks in a method of its own, which no call enters once it has looked."""

    available: bool
    message: str

    def __init__(self, name: str) -> None:
        self.name = name

    def _check(self) -> None:
        if not hasattr(self, "available"):
            self._look()

    def _look(self) -> None:
        self.available = self.name in MODULES
        self.message = "met" if self.available else "not met"

    def __bool__(self) -> bool:
        self._check()
        return self.available

    def __str__(self) -> str:
        self._check()
        return self.message

    def __len__(self) -> int:
        self._check()
        return 3 if self.available else 2


class Config:
    """Sets what it is asked for in other words than an assignment to an attribute."""

    _level: float | None = None
    _table: dict[str, float] = {}  # noqa: RUF012

    @property
    def level(self) -> float | None:
        if self._level is None:
            self._measure()
        return self._level

    def _measure(self) -> None:
        self._level = 3.0

    def by_name(self) -> Any:
        if not hasattr(self, "_named"):
            setattr(self, "_named", 2.0)  # noqa: B010
        return self._named  # type: ignore[attr-defined]

    def by_table(self) -> Any:
        if "_entry" not in self.__dict__:
            self.__dict__["_entry"] = 2.0
        return self._entry  # type: ignore[attr-defined]

    @classmethod
    def of_class(cls) -> float:
        if "k" not in cls._table:
            cls._table["k"] = 2.0
        return cls._table["k"]


MODULES = {"here"}
FLAGS, SLOTTED, CONFIG = Flags(), Slotted(), Config()
TRUE, SAID, SIZED, OTHER = (Requirement("here") for _ in range(4))
_LATE: float | None = None
_READY, _GAIN = False, 1.0
DEFAULTS: dict[str, float] = {}
ITEMS: list[float] = []
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


def late() -> float | None:
    if _LATE is None:
        _fill()
    return _LATE


def _fill() -> None:
    global _LATE
    _LATE = 2.0


def ready() -> float:
    global _READY, _GAIN
    if not _READY:
        _READY, _GAIN = True, 2.0
    return _GAIN


def default() -> float:
    return DEFAULTS.setdefault("b", 2.0)


def item() -> float:
    if not ITEMS:
        ITEMS.append(2.0)
    return ITEMS[0]


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


def by_truth(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if TRUE else x


def by_text(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if str(SAID) == "met" else x


def by_length(x: torch.Tensor) -> torch.Tensor:
    return x * len(SIZED)


def by_helper(x: torch.Tensor) -> torch.Tensor:
    return x * late()


def by_method_of_property(x: torch.Tensor) -> torch.Tensor:
    return x * CONFIG.level


def by_setattr(x: torch.Tensor) -> torch.Tensor:
    return x * CONFIG.by_name()


def by_own_table(x: torch.Tensor) -> torch.Tensor:
    return x * CONFIG.by_table()


def by_table_of_class(x: torch.Tensor) -> torch.Tensor:
    return x * Config.of_class()


def by_flag(x: torch.Tensor) -> torch.Tensor:
    return x * ready()


def by_default(x: torch.Tensor) -> torch.Tensor:
    return x * default()


def by_list(x: torch.Tensor) -> torch.Tensor:
    return x * item()


def by_what_is_other_here(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if OTHER else x


ALL = (
    *(by_method, by_cached_property, by_property, by_class, by_slot, by_global, by_table),
    *(by_function, by_truth, by_text, by_length, by_helper, by_method_of_property, by_setattr),
    *(by_own_table, by_table_of_class, by_flag, by_default, by_list),
)


def main(folder: Path) -> None:
    """Load each, call it before and after the program asked."""
    found = {}
    for function in ALL:
        if not (folder / f"{function.__name__}.aot").exists():
            continue  # the test saved others
        try:
            loaded = wb.load(folder / f"{function.__name__}.aot", trust=True)
            first, expected, second = loaded(X), function(X), loaded(X)
            found[function.__name__] = torch.equal(first, expected) and torch.equal(second, first)
        except wb.WorkbenchError as error:
            found[function.__name__] = str(error)
    FLAGS._ok = False
    MODULES.clear()
    for function in (by_method, by_what_is_other_here):
        try:
            wb.load(folder / f"{function.__name__}.aot", trust=True)
        except wb.ArtifactError as error:
            found[f"changed: {function.__name__}"] = str(error)
    print(json.dumps(found))


if __name__ == "__main__":
    from tests import late_samples  # whose classes are those of the files

    late_samples.main(Path(sys.argv[1]))
