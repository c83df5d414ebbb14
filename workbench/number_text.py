"""Numbers with their unit, as every sentence, table and view writes them.

The rules stand in `number_rules.json`, which the front end reads too. For each quantity:

- `units`: name, size, decimals (else by the size of the number, `decimals` of the table), and
  below which number of it the unit is used (else `next_unit`);
- `clock`: from how much on a larger and a smaller unit are written, `2 min 5 s`;
- `least`: what stands for less than a number, which is not nothing;
- `digits`: significant digits, of numbers below `digits_below` where that is given;
- `integers_below`: whole numbers that stay whole; `is_grouped`: thousands are apart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Final, Literal

Quantity = Literal[
    "amount",
    "bytes",
    "bytes_per_second",
    "count",
    "difference",
    "fine_percent",
    "flops_per_second",
    "percent",
    "ratio",
    "seconds",
    "whole",
]

_TABLE: Final[dict[str, Any]] = json.loads(
    Path(__file__).with_name("number_rules.json").read_text(encoding="utf-8")
)
ABSENT: Final[str] = _TABLE["absent"]


def number_text(value: float | None, quantity: Quantity) -> str:
    """A number with its unit; what is unknown is a dash."""
    if value is None or math.isnan(value):
        return ABSENT
    rule = _TABLE["quantities"][quantity]
    if "least" in rule and 0 < value < rule["least"][0]:
        return str(rule["least"][1])
    text = _sized(abs(float(value)), rule)
    is_below = value < 0 and any(mark in "123456789∞" for mark in text)
    return f"{_TABLE['minus']}{text}" if is_below else text


def format_bytes(value: float | None) -> str:
    """A number of bytes: `33.6 MB`, `0 B`; decimal units, as memory vendors count bandwidth."""
    return number_text(value, "bytes")


def format_seconds(value: float | None) -> str:
    """A duration in seconds: `2 min 5 s`, `4.43 s`, `159 ms`, `15.0 µs`, `0 s`."""
    return number_text(value, "seconds")


def format_ms(value: float | None) -> str:
    """A duration in ms, with the unit that suits it."""
    return format_seconds(None if value is None else value * 1e-3)


def format_us(value: float | None) -> str:
    """A duration in µs, with the unit that suits it."""
    return format_seconds(None if value is None else value * 1e-6)


def count_text(value: float | None) -> str:
    """A plain count or an amount of work: `129`, `1.34 M`."""
    return number_text(value, "count")


def difference_text(value: float | None) -> str:
    """How far two results are apart, or may be: `1.2e-7`, `0.0012`."""
    return number_text(value, "difference")


def format_percent(part: float, whole: float = 1.0) -> str:
    """A share in percent: `−72 %`; absent when there is no whole."""
    return number_text(part / whole, "percent") if whole else ABSENT


def _sized(size: float, rule: dict[str, Any]) -> str:
    if math.isinf(size):
        return str(_TABLE["infinite"])
    if size == 0 and "zero" in rule:
        return str(rule["zero"])
    clocks = [clock for clock in rule.get("clock", ()) if size >= clock[0]]
    if clocks:
        return _clocked(size, *clocks[-1][1:])
    if size.is_integer() and size < rule.get("integers_below", 0):
        return f"{size:.0f}"
    if "digits" in rule and size < rule.get("digits_below", math.inf):
        return _significant(size, rule["digits"])
    return _scaled(size, rule["units"], is_grouped="is_grouped" in rule)


def _clocked(size: float, large: float, name: str, small: float, rest: str) -> str:
    count = math.floor(size / small + 0.5) * small
    return f"{count // large:.0f} {name} {count % large / small:.0f} {rest}"


def _rounded(size: float, place: int) -> Decimal:
    """Rounded to 10^place, halves up as JavaScript does it."""
    return Decimal(size).quantize(Decimal(1).scaleb(place), ROUND_HALF_UP)


def _significant(size: float, digits: int) -> str:
    if size == 0:
        return "0"
    rounded = _rounded(size, Decimal(size).adjusted() - digits + 1).normalize()
    least, most = _TABLE["scientific"]
    if least <= float(rounded) < most:
        return f"{rounded:f}"
    power = rounded.adjusted()
    return f"{rounded.scaleb(-power).normalize():f}e{power}"


def _scaled(size: float, units: list[list[Any]], *, is_grouped: bool) -> str:
    fitting = (unit for unit in units if size / unit[1] < (unit[3:] or [_TABLE["next_unit"]])[0])
    name, one, *rest = next(fitting, units[-1])
    count = size / one
    decimals = rest[0] if rest else next(n for least, n in _TABLE["decimals"] if count >= least)
    text = f"{_rounded(count, -decimals):{',' if is_grouped else ''}f}"
    return f"{text} {name}" if name else text


def join_words(words: Sequence[str]) -> str:
    """A list as a sentence has it: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def plural(count: int, noun: str, many: str | None = None) -> str:
    """A count with its noun: `1 break`, `2 breaks`, `12,000 nodes`."""
    return f"{number_text(count, 'whole')} {noun if count == 1 else many or noun + 's'}"
