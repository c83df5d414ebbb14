"""Compares a record with what was expected of it, and says all that is otherwise."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real

from workbench.analysis.quantities.quantities import (
    UNITS,
    Quantity,
    Record,
    check_name,
    read_quantity,
)
from workbench.arguments import checked
from workbench.errors import ExpectationError, UsageError
from workbench.number_text import number_text
from workbench.report import Report

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
    "bytes": {
        "": 1,
        "B": 1,
        "kB": 1e3,
        "MB": 1e6,
        "GB": 1e9,
        "KiB": 2**10,
        "MiB": 2**20,
        "GiB": 2**30,
    },
    "s": {"": 1, "s": 1, "ms": 1e-3, "min": 60},
}
_WRITTEN = re.compile(r"\s*(<=|>=|==|<|>)?\s*(\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*([a-zA-Z]*)\s*")


@dataclass(frozen=True)
class Limit:
    """A limit on a number."""

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
    if isinstance(written, Real) and not isinstance(written, bool) and float(written) >= 0:
        return Limit("<=", float(written))
    match = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
    if match is None or match[3] not in _UNITS[unit]:
        units = ", ".join(filter(None, _UNITS[unit]))
        more = f", with a unit ({units})" if units else ""
        raise UsageError(
            f"{name}={written!r} is not a limit: pass a number as the maximum, or a string such "
            f'as "<= 12", "== 0", ">= 1"{more}.'
        )
    return Limit(match[1] or "<=", float(match[2]) * _UNITS[unit][match[3]])


_SHOWN = 8  # lines of evidence for one number


class Expectation:
    """Check limits on a compilation, each as soon as it is stated.

    Every method takes a maximum, or `max`, `min` or `exactly`, and returns the same object. Raises
    `ExpectationError` with the value and its place. A value that the report does not have also
    raises it.
    """

    def __init__(self, record: Record):
        self.record = record

    def __repr__(self) -> str:
        """Name its subject; a violated limit has already raised."""
        return f"Expectation({_name(self.record)}: all limits hold)"

    @checked
    def breaks(self, at_most: int | None = None, **more: int) -> Expectation:
        """Limit the number of places with graph breaks."""
        return self._stated("breaks", at_most, more)

    @checked
    def recompiles(self, at_most: int | None = None, **more: int) -> Expectation:
        """Limit the recompiles."""
        return self._stated("recompiles", at_most, more)

    @checked
    def fallbacks(self, at_most: int | None = None, **more: int) -> Expectation:
        """Limit the frames that run in eager from then on; for sessions only."""
        return self._stated("fallbacks", at_most, more)

    @checked
    def graphs(self, at_most: int | None = None, **more: int) -> Expectation:
        """Limit the captured graphs."""
        return self._stated("graphs", at_most, more)

    @checked
    def kernels(self, at_most: int | None = None, **more: int) -> Expectation:
        """Limit the generated kernels and library calls."""
        return self._stated("kernels", at_most, more)

    @checked
    def peak_bytes(self, at_most: float | str | None = None, **more: float | str) -> Expectation:
        """Limit the peak live bytes, as `wb.memory` counts them; `"<= 1.5 GB"` also works."""
        return self._stated("peak_bytes", at_most, more)

    @checked
    def compile_s(self, at_most: float | str | None = None, **more: float | str) -> Expectation:
        """Limit the compile time in seconds, as measured where it was recorded."""
        return self._stated("compile_s", at_most, more)

    def compiled_something(self) -> Expectation:
        """Require at least one graph: otherwise a limit on the program is meaningless."""
        if read_quantity(self.record, "graphs").value or isinstance(self.record, Report):
            return self
        raise ExpectationError(
            "Nothing was compiled, so no limit can be checked. If it was compiled before, call "
            "torch.compiler.reset() first."
        )

    @checked
    def all(self, limits: Mapping[str, object]) -> Expectation:
        """Check every limit by name; raises once, with all violations."""
        read = read_limits(limits)
        wrong = [text for name, one in read.items() for text in self._wrong(name, one)]
        if wrong:
            raise ExpectationError("\n".join([f"{_name(self.record)}:", *wrong]))
        return self

    def _stated(self, name: str, at_most: object, more: Mapping[str, object]) -> Expectation:
        signs = {"max": "<=", "min": ">=", "exactly": "=="}
        unknown = [key for key in more if key not in signs]
        if unknown or (at_most is None and not more):
            raise UsageError(
                f"{name}({', '.join(unknown)}): pass a maximum, or max=, min=, exactly=."
            )
        written = [*([] if at_most is None else [at_most])]
        written += [f"{signs[key]} {value}" for key, value in more.items()]
        wrong = [t for one in written for t in self._wrong(name, limit(name, one, UNITS[name]))]
        if wrong:
            raise ExpectationError("\n".join([f"{_name(self.record)}:", *wrong]))
        return self

    def _wrong(self, name: str, expected: Limit) -> list[str]:
        quantity = read_quantity(self.record, name)
        if quantity.value is None:
            return [f"  {name} is unknown: {quantity.why}."]
        if expected.holds(quantity.value):
            return [f"  {name} is unknown: {why}." for why in _unfinished(self.record)]
        return [_sentence(quantity, expected), *_evidence(quantity)]


def read_limits(limits: Mapping[str, object]) -> dict[str, Limit]:
    """Limits by name; raises `UsageError` for a name or a limit that there is not."""
    for name in limits:
        check_name(name)
    return {name: limit(name, written, UNITS[name]) for name, written in limits.items()}


def _unfinished(record: Record) -> Iterator[str]:
    """Why what was counted may not be all: a compilation that did not end."""
    if isinstance(record, Report) and not record.outcome.ok:
        yield f"the compilation {record.outcome.clause}{record.outcome.place}"


def _sentence(quantity: Quantity, expected: Limit) -> str:
    value, bound = (_shown(quantity.unit, v) for v in (quantity.value or 0.0, expected.bound))
    return f"  {quantity.name}: {value} ({quantity.source}), {expected.words} {bound} expected"


def _shown(unit: str, value: float) -> str:
    if unit == "1":
        return number_text(value, "whole")
    return number_text(value, "bytes" if unit == "bytes" else "seconds")


def _evidence(quantity: Quantity) -> list[str]:
    lines = [f"    - {text}" for text in quantity.evidence[:_SHOWN]]
    left = len(quantity.evidence) - _SHOWN
    return [*lines, *([f"    - and {left} more"] if left > 0 else [])]


def _name(record: Record) -> str:
    return record.request.name if isinstance(record, Report) else "This session"
