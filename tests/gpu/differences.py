"""What two records of one program have in common, and where they differ: kernels to SASS."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import nan
from typing import Any

from tests.gpu.figures import print_figure, print_rows, print_unchecked
from workbench.report import Kernel, Report
from workbench.report.machine_rows import Resources

SHARE = 0.95
CODE = ("ptx", "sass")
ASPECTS = ("kernel", "source", "configuration", "registers", "spills", "shared memory", *CODE)
SETTINGS = "settings"
"""Inductor's words above the function: told where they differ, in no share."""
_FILES = re.compile(r"[ \t]*//.*$|(?<=assertFile_)\d+\[\d+\] = \{[^}]*\}", re.MULTILINE)
"""Where PTX names the file of a kernel, which is called by a hash and lies in a cache."""
_FUNCTION = "@triton.jit"
_LONGEST = 200  # letters of a line that differs
_DEVICE, _VIRTUAL = "on the device", "for the virtual GPU"


@dataclass(frozen=True)
class Same:
    """One aspect of a kernel in one configuration; `difference` says what differs, or why not."""

    program: str
    kernel: str
    config: str
    aspect: str
    verdict: str  # "identical", "differs" or "not checked"
    difference: str = ""


def compared(program: str, device: Report, virtual: Report) -> list[Same]:
    """Every Triton kernel of two records; library calls by their names alone."""
    here, there = _kernels(device), _kernels(virtual)
    rows = []
    for key in {**here, **there}:
        one, other = here.get(key), there.get(key)
        if one is None or other is None:
            where = _VIRTUAL if one is None else _DEVICE
            rows.append(Same(program, key, "", "kernel", "differs", f"only {where}"))
            continue
        rows.append(Same(program, key, "", "kernel", "identical"))
        if "triton" in (one.language, other.language):
            rows += _texts(Same(program, key, "", "", ""), (device, one), (virtual, other))
            rows += _configs(program, key, (device, one), (virtual, other))
    return rows


def _kernels(report: Report) -> dict[str, Kernel]:
    """The kernels by name, with a number where a name comes again."""
    seen: dict[str, int] = defaultdict(int)
    found = {}
    for kernel in report.kernels:
        name = f"{kernel.name} (backward)" if kernel.is_backward else kernel.name
        seen[name] += 1
        found[name if seen[name] == 1 else f"{name} #{seen[name]}"] = kernel
    return found


Side = tuple[Report, Kernel]


def _texts(row: Same, one: Side, other: Side) -> Iterator[Same]:
    texts = [report.texts.get(kernel.text or "") for report, kernel in (one, other)]
    place = (row.program, row.kernel, "")
    if texts[0] is None or texts[1] is None:
        yield Same(*place, "source", "not checked", "a record has no source of it")
        return
    halves = [_halves(text) for text in texts if text is not None]
    yield _told((*place, "source"), halves[0][1], halves[1][1])
    for name, words in _settings(halves[0][0], halves[1][0]).items():
        yield Same(*place, SETTINGS, "differs", f"{name}: {words}")


def _halves(text: str) -> tuple[str, str]:
    """What stands above the function, and the function."""
    above, mark, function = text.rpartition(_FUNCTION)
    return above, mark + function


def _settings(one: str, other: str) -> dict[str, str]:
    here, there = _entries(one), _entries(other)
    return {
        name: f"{here.get(name)} {_DEVICE}, {there.get(name)} {_VIRTUAL}"
        for name in {**here, **there}
        if here.get(name) != there.get(name)
    }


def _entries(above: str) -> dict[str, str]:
    """The arguments of the decorator, those of a dict by their keys."""
    tree = ast.parse(f"{above.rstrip()}\ndef kernel(): ...\n")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found = {}
    for word in (word for call in calls for word in call.keywords if word.arg):
        if isinstance(word.value, ast.Dict):
            for key, value in zip(word.value.keys, word.value.values, strict=True):
                found[f"{word.arg}[{ast.unparse(key) if key else '**'}]"] = ast.unparse(value)
        elif word.arg is not None:
            found[word.arg] = ast.unparse(word.value)
    return found


def _configs(program: str, name: str, one: Side, other: Side) -> Iterator[Same]:
    here, there = _resources(*one), _resources(*other)
    for key in {**here, **there}:
        place = (program, name, key)
        if key not in here or key not in there:
            where = _DEVICE if key in here else _VIRTUAL
            yield Same(*place, "configuration", "differs", f"only {where}")
            continue
        yield Same(*place, "configuration", "identical")
        rows = here[key], there[key]
        for aspect, values in _values(*rows).items():
            yield _valued((*place, aspect), *values)
        for stage in CODE:
            codes = [
                _code(report, row, stage)
                for (report, _), row in zip((one, other), rows, strict=True)
            ]
            yield _told((*place, stage), *codes)


def _resources(report: Report, kernel: Kernel) -> dict[str, Resources]:
    rows = [row for row in report.resources if row.kernel == kernel.id]
    return {", ".join(filter(None, _words(row))): row for row in rows}


def _words(row: Resources) -> tuple[str, ...]:
    return row.choice, f"num_warps={row.warps}", f"num_stages={row.stages}"


def _values(one: Resources, other: Resources) -> dict[str, tuple[int | None, int | None]]:
    return {
        "registers": (one.registers, other.registers),
        "spills": (
            _sum(one.spill_stores, one.spill_loads),
            _sum(other.spill_stores, other.spill_loads),
        ),
        "shared memory": (
            _sum(one.smem_static, one.smem_dynamic),
            _sum(other.smem_static, other.smem_dynamic),
        ),
    }


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None else one + (other or 0)


def _valued(place: tuple[str, str, str, str], one: int | None, other: int | None) -> Same:
    if one is None or other is None:
        return Same(*place, "not checked", "a record does not have it")
    if one == other:
        return Same(*place, "identical")
    return Same(*place, "differs", f"{one} {_DEVICE}, {other} {_VIRTUAL}")


def _code(report: Report, row: Resources, stage: str) -> str | None:
    found = (a for a in report.assembly if (a.config, a.stage) == (row.config, stage))
    text = next((report.texts.get(each.text) for each in found if each.text is not None), None)
    return None if text is None else _FILES.sub("", text)


def _told(place: tuple[str, str, str, str], one: str | None, other: str | None) -> Same:
    """Two texts, with the first line that differs."""
    if one is None or other is None:
        return Same(*place, "not checked", "a record does not have it")
    if one == other:
        return Same(*place, "identical")
    lines = one.splitlines(), other.splitlines()
    pairs = list(zip(*lines, strict=False))
    apart = [n for n, (a, b) in enumerate(pairs) if a != b]
    first = apart[0] if apart else len(pairs)
    shown = [side[first].strip()[:_LONGEST] if first < len(side) else "" for side in lines]
    words = f"line {first + 1}: {shown[0]!r} {_DEVICE}, {shown[1]!r} {_VIRTUAL}"
    count = len(apart) + abs(len(lines[0]) - len(lines[1]))
    return Same(*place, "differs", f"{words}; {count} lines of {max(map(len, lines))} differ")


def share(rows: Iterable[Same]) -> tuple[float, int, int]:
    """The share that is identical, of how many that were checked, and how many were not."""
    counted = [row for row in rows if row.aspect != SETTINGS]
    checked = [row for row in counted if row.verdict != "not checked"]
    same = sum(row.verdict == "identical" for row in checked)
    return (
        same / len(checked) if checked else nan,
        len(checked),
        len(counted) - len(checked),
    )


def tell(rows: Sequence[Same], left_out: Mapping[str, str]) -> None:
    """Print the shares, and a row for everything that differs or was not checked."""
    value, checked, unchecked = share(rows)
    programs = len({row.program for row in rows})
    note = (
        f"{checked} comparisons of {programs} programs, {unchecked} not checked. File names in "
        "PTX are ignored"
    )
    if checked:
        name = "identical: everything compared"
        print_figure(name, value, "share", reach=SHARE, rule=">=", note=note)
    else:
        print_unchecked("identical: everything compared", f"nothing was compared: {note}")
    for aspect in ASPECTS:
        value, checked, unchecked = share(row for row in rows if row.aspect == aspect)
        note = f"{checked} compared, {unchecked} not checked"
        print_figure(f"identical: {aspect}", value, "share", note=note)
    print_rows("differences", _grouped(rows))
    print_rows("not compared", ({"program": n, "reason": why} for n, why in left_out.items()))


def _grouped(rows: Sequence[Same]) -> Iterator[dict[str, Any]]:
    """What is not identical; of settings that differ alike in many kernels the first."""
    counts = Counter(row.difference for row in rows if row.aspect == SETTINGS)
    for row in rows:
        if row.verdict == "identical" or (row.aspect == SETTINGS and row.difference not in counts):
            continue
        shown = {name: value for name, value in asdict(row).items() if value}
        more = counts.pop(row.difference, 1) if row.aspect == SETTINGS else 1
        yield {**shown, "kernels": more} if more > 1 else shown
