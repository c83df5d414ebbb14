"""Every table that `.frame` gives, with every column of it, from the types of the rows."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import workbench as wb
from docs.generate.pages import Page
from workbench.analysis.diff.difference import PARTS, Change
from workbench.analysis.forecast.forecast import KernelForecast, LineForecast, ModuleForecast
from workbench.analysis.gpu_model.launches import KernelLaunch
from workbench.artifacts.inspect.artifact_report import TABLES as OF_FILES
from workbench.artifacts.machine.machine_description import Requirement
from workbench.compiler.comparison.output_comparison import Comparison, KernelComparison
from workbench.report import Kernel
from workbench.report.cache_keys import KeyPart
from workbench.report.file_rows import RoundTripLeaf, RoundTripPhase, RoundTripWay
from workbench.report.machine_rows import MatrixCell, RankedConfig, Resources
from workbench.report.measures import measures
from workbench.report.profile_record import KernelTime, OperatorTime
from workbench.report.tables import TABLES, list_tables
from workbench.specs import Gpu
from workbench.views.tables.columns import FIRST_COLUMNS
from workbench.views.tables.data_frames import DERIVED
from workbench.worlds.world import list_worlds

_IDS = """Ids are short and stable within a report: `s0` source, `g0` graph, `g0:add_1` node, `i0`
scheduler graph, `i0:op1` scheduler node, `i0:buf1` buffer, `k0` kernel, `w0` wrapper, `b0` break,
`q0` guard, `p0` phase, `t0` pass, `a0` autotune choice, `L:s0:12` line 12 of source `s0`. A column
whose name ends in `_s`, `_ms` or `_us` has seconds, milliseconds or microseconds, one of bytes has
bytes."""
_CALL = re.compile(r'(?:(?P<owner>\w+)\.)?(?:frame|targets)\((?:"(?P<name>\w+)")?')
_COMMENT = re.compile(r"^    (\w+): [^#\n]*?  # (.+)$", re.MULTILINE)
_SENTENCES = re.compile(r"(?<=\.) +(?=[A-Z`])")
_RATE = re.compile(r"(?P<unit>vector|matrix)_(?P<dtype>\w+)_tflops")
_NOTE = "The reason, by its former name."
_UNITS = {"vector": "without matrix units", "matrix": "of its tensor or matrix cores"}


@dataclass(frozen=True)
class Frame:
    """A table: the call that gives it, what it is of, the type of a row, its columns in order."""

    call: str
    about: str
    row: type
    columns: tuple[str, ...]

    @property
    def key(self) -> str:
        """Its name without the call."""
        found = _CALL.match(self.call)
        parts = found.groupdict().values() if found else ()
        return "targets" if self.call == "wb.targets()" else ".".join(filter(None, parts))

    @property
    def anchor(self) -> str:
        """Its place on the page."""
        return re.sub(r"\W+", "-", self.call).strip("-")


def pages() -> list[Page]:
    """The tables of a record, then those of everything else."""
    texts = {
        "tables": (
            "Tables of a report",
            "What `report.frame(name)` gives: a pandas DataFrame, "
            f"empty where nothing was recorded.\n\n{_IDS}",
            of_reports(),
        ),
        "other-tables": (
            "Other tables",
            "What `.frame()` of everything but a report gives.",
            (*of_others(), *of_files()),
        ),
    }
    return [
        Page(
            f"reference/{name}.md",
            title,
            f"# {title}\n\n{head}\n\n" + "\n\n".join(map(_section, frames)) + "\n",
        )
        for name, (title, head, frames) in texts.items()
    ]


def of_reports() -> tuple[Frame, ...]:
    """The tables of a report, recorded and derived."""
    found = []
    for name in sorted((*TABLES, *DERIVED)):
        row = DERIVED[name].row_type if name in DERIVED else TABLES[name]
        about = "Worked out from the record." if name in DERIVED else list_tables()[name].__doc__
        columns = tuple(dict.fromkeys((*FIRST_COLUMNS.get(name, ()), *_fields(row))))
        found.append(Frame(f'frame("{name}")', about or "", row, columns))
    return tuple(found)


def of_files() -> tuple[Frame, ...]:
    """The tables of `wb.inspect`."""
    return tuple(
        Frame(f'inspected.frame("{name}")', "Of `wb.inspect`.", row, _fields(row))
        for name, row in OF_FILES.items()
    )


def of_others() -> Iterator[Frame]:
    """The tables of what else the API gives."""
    parts = f"What differs. A part is one of {', '.join(PARTS)}."
    compared = ("ok", "note")
    for call, about, row in (
        ("matrix.frame()", "Every kernel on each of several GPUs, of `wb.matrix`.", MatrixCell),
        ("ranked.frame()", "The configurations of `compiled.rank_configs`.", RankedConfig),
        ("forecast.frame()", "The kernels of a call, of `wb.forecast`.", KernelForecast),
        ('forecast.frame("lines")', "Its lines, the costliest first.", LineForecast),
        ('forecast.frame("modules")', "Its modules as a tree.", ModuleForecast),
        ("launches.frame()", "The starts of kernels in a call, of `wb.launches`.", KernelLaunch),
        ('profile.frame("kernels")', "What `wb.profile` measured.", KernelTime),
        ('profile.frame("operators")', "What the eager original ran.", OperatorTime),
        ("diff.frame(part)", parts, Change),
        ("check.frame()", "What a file needs of a machine, of `wb.check`.", Requirement),
        ("why.frame()", "The parts of two cache keys, of `wb.why_recompiled`.", KeyPart),
        ('roundtrip.frame("ways")', "The ways of `wb.roundtrip` to a result.", RoundTripWay),
        ('roundtrip.frame("phases")', "What the ways spent their time on.", RoundTripPhase),
        ('roundtrip.frame("leaves")', "The outputs of each of the ways.", RoundTripLeaf),
    ):
        yield Frame(call, about, row, _fields(row))
    for call, about, row in (
        ('verification.frame("leaves")', "The outputs that `wb.verify` compared.", Comparison),
        ('verification.frame("kernels")', "With `per_kernel=True`.", KernelComparison),
    ):
        yield Frame(call, about, row, (*_fields(row), *compared))
    for world in list_worlds():
        for frame in world.list_frames():
            columns = frame.columns or _fields(frame.row)
            yield Frame(frame.call, frame.about, frame.row, columns)
    about = "The GPUs that can be a target; a peak rate is in TFLOP/s, of integers in TOPS."
    yield Frame("wb.targets()", about, Gpu, tuple(map(str, wb.targets().columns)))


def meanings(frame: Frame) -> dict[str, str]:
    """By column what the docstring of its rows, or the field or property itself, says of it."""
    _, said = _read(frame.row)
    measured = [
        *measures(Resources).items(),
        *measures(Kernel).items(),
        *measures(frame.row).items(),
    ]
    told = ((name, measure.sentence or measure.hint) for name, measure in measured)
    meant = {name: text for name, text in told if text}
    meant.setdefault("note", _NOTE)
    return {
        name: _rate(name) or said.get(name) or meant.get(name) or _of_property(frame.row, name)
        for name in frame.columns
    }


def _of_property(row: type, name: str) -> str:
    found = inspect.getdoc(vars(row).get(name)) or ""
    return " ".join(found.split())


def _section(frame: Frame) -> str:
    about, _ = _read(frame.row)
    types = {field.name: str(field.type) for field in fields(frame.row)}
    lines = [f"## {frame.call} {{ #{frame.anchor} }}", "", frame.about, "", about, ""]
    lines += ["| column | type | meaning |", "| --- | --- | --- |"]
    for name, meaning in meanings(frame).items():
        kind = types.get(name, "bool" if name == "ok" else "float" if _rate(name) else "str")
        lines.append(f"| `{name}` | `{kind}` | {meaning} |")
    return "\n".join(lines)


def _rate(name: str) -> str:
    found = _RATE.fullmatch(name)
    return f"Peak dense rate for {found['dtype']}, {_UNITS[found['unit']]}." if found else ""


def _fields(row: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(row))


def _read(row: type) -> tuple[str, dict[str, str]]:
    """What the docstring says of the whole, and by column what it and a comment say of that."""
    text = inspect.cleandoc(row.__doc__ or "")
    whole, _, details = text.partition("\n\n")
    said: dict[str, list[str]] = {name: [] for name in _fields(row)}
    general = []
    for sentence in filter(None, _SENTENCES.split(" ".join(details.split()))):
        meant = [name for name in said if f"`{name}`" in sentence]
        for name in meant:
            said[name].append(sentence)
        if not meant:
            general.append(sentence)
    for name, comment in _COMMENT.findall(inspect.getsource(row)):
        if name in said:
            said[name].append(f"{comment[:1].upper()}{comment[1:]}.")
    found = {name: " ".join(parts).replace("|", "\\|") for name, parts in said.items()}
    return " ".join([" ".join(whole.split()), *general]), found
