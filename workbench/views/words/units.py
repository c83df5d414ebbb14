"""The quantities that views write most, as `number_text` writes them."""

from __future__ import annotations

from workbench.number_text import ABSENT as ABSENT
from workbench.number_text import number_text as number_text
from workbench.number_text import plural as plural


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
