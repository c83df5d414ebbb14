"""Numbers with their unit, three significant digits, as every view writes them."""

from __future__ import annotations

ABSENT = "–"


def _three(value: float) -> str:
    """Three significant digits; whole numbers above 1000 stay whole."""
    if value == 0:
        return "0"
    size = abs(value)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2
    return f"{value:.{decimals}f}"


def _scaled(value: float, units: tuple[str, ...], step: float) -> str:
    rest = float(value)
    for unit in units[:-1]:
        if abs(rest) < step * 0.9995:
            return f"{_three(rest)} {unit}"
        rest /= step
    return f"{_three(rest)} {units[-1]}"


def bytes_text(value: float | None) -> str:
    """A number of bytes: `33.6 MB`, `0 B`; decimal units, as memory vendors count bandwidth."""
    if value is None:
        return ABSENT
    if abs(value) < 1000:
        return f"{value:.0f} B"
    return _scaled(value / 1000, ("kB", "MB", "GB", "TB"), 1000)


def seconds_text(value: float | None) -> str:
    """A duration in seconds: `4.43 s`, `159 ms`, `15.0 µs`, `0 s`."""
    if value is None:
        return ABSENT
    if value == 0:
        return "0 s"
    if abs(value) >= 0.9995:
        return f"{_three(value)} s"
    return _scaled(value * 1e9, ("ns", "µs", "ms"), 1000)


def count_text(value: float | None) -> str:
    """A plain count or an amount of work: `129`, `1.34 M`."""
    if value is None:
        return ABSENT
    if abs(value) < 10_000:
        return f"{value:.0f}"
    return _scaled(value / 1000, ("k", "M", "G", "T"), 1000)


def percent_text(part: float, whole: float) -> str:
    """A share in percent: `−72 %`; absent when there is no whole."""
    return f"{100 * part / whole:.0f} %" if whole else ABSENT


def plural(count: int, noun: str, many: str | None = None) -> str:
    """A count with its noun: `1 break`, `2 breaks`."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"
