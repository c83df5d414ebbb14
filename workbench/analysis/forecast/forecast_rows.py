"""What kernels, lines and modules take in a forecast, each with its error."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workbench.analysis.calls.call_tree import join_path, part_kernels, split_path
from workbench.report import Report
from workbench.report.measures import number
from workbench.report.rows import split_line

_MODELLED = "By the calibrated model, on the device"
_ERROR = "Four of five kernels that the fit had not seen lay within; not known of a bound"


NO_LINE = "no source line"


@dataclass(frozen=True, slots=True)
class KernelForecast:
    """All calls of a kernel in one call of the program; µs on the device.

    `us` is their time by the model, `bound_us` the least that the roofline allows. `source`:
    "measured", "modelled", "bound" where the model knows nothing of it, or "network" for a
    collective: `Forecast.waits` has what the kernels wait for it. `error` is relative, 0 of a
    measured time, None where it was not measured; `kind` says whose error it is: "product",
    "convolution", "attention", "mover".
    `why` says what the time rests on.
    """

    kernel: str  # the kernel, by its id
    name: str  # its name
    calls: int
    us: float = number("Modelled", "us", _MODELLED, default=0.0, source="model")
    error: float | None = number("± of it", "share", _ERROR, source="model")
    source: str = "modelled"
    why: str = ""
    lines: tuple[str, ...] = ()  # the lines that it computes, by their ids
    kind: str = ""
    language: str = ""  # "triton", or "extern" for a call of a library
    bound_us: float | None = number(
        "Bound", "us", "The least time that the roofline allows, of all calls", source="model"
    )


@dataclass(frozen=True, slots=True)
class LineForecast:
    """A source line: its share of the kernels that it ended in, an estimate; µs on the device.

    `us` is with what the line calls, `own_us` without, `bound_us` the least that the roofline
    allows, of all `kernels` that it has a share of. `line` is its number, `code` its text,
    `line_id` its id. `error` is relative, None where that of a
    kernel is not known. For work without a source line `file` is empty and `code` says so.
    """

    file: str
    line: int | None
    code: str = ""
    us: float = number("Modelled", "us", _MODELLED, default=0.0, source="model")
    own_us: float = number(
        "Own", "us", "Without what it calls", default=0.0, source="model"
    )  # fmt: skip
    share: float = number("Share", "share", "Of all kernels", default=0.0, source="model")
    error: float | None = number("± of it", "share", _ERROR, source="model")
    bound_us: float = number(
        "Bound", "us", "The least time that the roofline allows", default=0.0, source="model"
    )
    kernels: int = 0
    line_id: str = ""


@dataclass(frozen=True, slots=True)
class ModuleForecast:
    """A module: its share of the kernels that it ended in, an estimate; µs on the device.

    `us` is with the modules in it, `own_us` without, `bound_us` the least that the roofline
    allows, of all `kernels` that it has a share of; `module` is its path, empty for the call
    with what belongs to no module, `depth` how many modules it is in. `error` is relative, None
    where that of a kernel is not known.
    """

    module: str
    depth: int
    us: float = number("Modelled", "us", _MODELLED, default=0.0, source="model")
    own_us: float = number("Own", "us", "Without the modules in it", default=0.0, source="model")
    share: float = number("Share", "share", "Of all kernels", default=0.0, source="model")
    error: float | None = number("± of it", "share", _ERROR, source="model")
    bound_us: float = number(
        "Bound", "us", "The least time that the roofline allows", default=0.0, source="model"
    )
    kernels: int = 0


Parts = list[tuple[KernelForecast, float]]
"""Kernels, each with the part of it that is meant, from 0 to 1."""


def join_errors(parts: Iterable[tuple[KernelForecast, float]]) -> float | None:
    """The relative error of a sum: kernels of one kind are off alike, kinds each for themselves.

    None where that of a kernel is not known.
    """
    total, by_kind = 0.0, defaultdict[str, float](float)
    for row, part in parts:
        if row.error is None:
            return None
        total += row.us * part
        by_kind[row.kind] += row.us * part * row.error
    return math.hypot(*by_kind.values()) / total if total else 0.0


def _sum_parts(parts: Parts, own: Parts, total: float) -> dict[str, Any]:
    """The fields that a line and a module share."""
    us = sum(row.us * part for row, part in parts)
    return {
        "us": us,
        "own_us": sum(row.us * part for row, part in own),
        "share": us / total if total else 0.0,
        "error": join_errors(parts),
        "bound_us": sum((row.bound_us or 0.0) * part for row, part in parts),
        "kernels": len({row.kernel for row, _ in parts}),
    }


def list_lines(report: Report, rows: Iterable[KernelForecast]) -> list[LineForecast]:
    """The lines of the program with what they call, the costliest first."""
    known = {row.kernel: row for row in rows}
    parts: dict[str, Parts] = defaultdict(list)
    own: dict[str, Parts] = defaultdict(list)
    for kernel, chains in part_kernels(report):
        whole = sum(chains.values())
        for (lines, _), weight in chains.items():
            part = known[kernel.id], weight / whole
            for line in dict.fromkeys(lines or ("",)):
                parts[line].append(part)
            own[lines[-1] if lines else ""].append(part)
    total = sum(row.us for row in known.values())
    sources = {source.id: source for source in report.sources}
    made = []
    for line, found in parts.items():
        id, number = split_line(line)
        place = None if id not in sources else number
        code = NO_LINE if place is None else _read_line(report, id, place)
        file = "" if id not in sources else sources[id].file
        sums = _sum_parts(found, own[line], total)
        made.append(LineForecast(file, place, code, line_id=line, **sums))
    return sorted(made, key=lambda row: -row.us)


def _read_line(report: Report, id: str, line: int) -> str:
    source = next(source for source in report.sources if source.id == id)
    lines = report.texts.get(source.text or "", "").split("\n")
    place = line - source.first_line
    return lines[place].strip() if 0 <= place < len(lines) else ""


def list_modules(report: Report, rows: Iterable[KernelForecast]) -> list[ModuleForecast]:
    """The modules as a tree in the order of the program, the call as its root."""
    known = {row.kernel: row for row in rows}
    parts: dict[tuple[str, ...], Parts] = defaultdict(list)
    own: dict[tuple[str, ...], Parts] = defaultdict(list)
    for kernel, chains in part_kernels(report):
        whole = sum(chains.values())
        for (_, module), weight in chains.items():
            path = split_path(module)
            for end in range(len(path) + 1):
                parts[path[:end]].append((known[kernel.id], weight / whole))
            own[path].append((known[kernel.id], weight / whole))
    total = sum(row.us for row in known.values())
    order = {path: place for place, path in enumerate(parts)}
    tree = sorted(parts, key=lambda path: [order[path[: n + 1]] for n in range(len(path))])
    return [
        ModuleForecast(join_path(*path), len(path), **_sum_parts(parts[path], own[path], total))
        for path in tree
    ]
