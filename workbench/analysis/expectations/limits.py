"""Limits as they are written: `0`, `"<= 12"`, `"<= 1.5 GB"`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.errors import UsageError

_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_WORDS = {
    "<=": "at most",
    ">=": "at least",
    "==": "exactly",
    "<": "less than",
    ">": "more than",
}
_UNITS: Mapping[str, Mapping[str, float]] = {
    "1": {"": 1},
    "bytes": {"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20,
              "GiB": 2**30},
    "s": {"": 1, "s": 1, "ms": 1e-3, "min": 60},
}  # fmt: skip
_WRITTEN = re.compile(r"\s*(<=|>=|==|<|>)?\s*(\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*([a-zA-Z]*)\s*")


@dataclass(frozen=True)
class Limit:
    """What a number may be."""

    sign: str
    bound: float

    def holds(self, value: float) -> bool:
        """Whether a value is within."""
        return _HOLDS[self.sign](value, self.bound)

    @property
    def words(self) -> str:
        """The comparison in words: `at most`."""
        return _WORDS[self.sign]


def limit(name: str, written: object, unit: str) -> Limit:
    """A limit: a number is the most that may be, a text has a comparison and may have a unit.

    Raises `UsageError` naming what is limited.
    """
    if isinstance(written, int | float) and not isinstance(written, bool) and written >= 0:
        return Limit("<=", float(written))
    found = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
    if found is None or found[3] not in _UNITS[unit]:
        units = ", ".join(filter(None, _UNITS[unit]))
        more = f", with one of the units {units}" if units else ""
        raise UsageError(
            f"{name}={written!r} is no limit: pass a number, the most that may be, or a text such "
            f'as "<= 12", "== 0", ">= 1"{more}.'
        )
    return Limit(found[1] or "<=", float(found[2]) * _UNITS[unit][found[3]])
