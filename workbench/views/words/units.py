"""The quantities that views write most, as `number_text` writes them."""

from __future__ import annotations

from workbench.number_text import ABSENT, number_text, plural

__all__ = [
    "ABSENT",
    "bytes_text",
    "count_text",
    "difference_text",
    "number_text",
    "percent_text",
    "plural",
    "seconds_text",
]


def bytes_text(value: float | None) -> str:
    """A number of bytes: `33.6 MB`, `0 B`; decimal units, as memory vendors count bandwidth."""
    return number_text(value, "bytes")


def seconds_text(value: float | None) -> str:
    """A duration in seconds: `2 min 5 s`, `4.43 s`, `159 ms`, `15.0 µs`, `0 s`."""
    return number_text(value, "seconds")


def count_text(value: float | None) -> str:
    """A plain count or an amount of work: `129`, `1.34 M`."""
    return number_text(value, "count")


def difference_text(value: float | None) -> str:
    """How far two results are apart, or may be: `1.2e-7`, `0.0012`."""
    return number_text(value, "difference")


def percent_text(part: float, whole: float = 1.0) -> str:
    """A share in percent: `−72 %`; absent when there is no whole."""
    return number_text(part / whole, "percent") if whole else ABSENT
