"""The file that a compilation was saved to or loaded from, its round trip, its surroundings."""

from __future__ import annotations

import math
from collections import Counter

from workbench.device_kinds import TARGETS
from workbench.number_text import difference_text, format_bytes, plural
from workbench.report import Report
from workbench.report.measures import count_guards
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL
from workbench.views.answers.roundtrip_answer import list_ways, title_of
from workbench.views.panes.pane import Content, Pane, ViewContext
from workbench.views.wire import report_messages as wire
from workbench.views.wire.artifact_messages import (
    ContractLeaf,
    Member,
    Requirement,
    SavedFile,
    TripLeaf,
)
from workbench.views.wire.codec import convert_row
from workbench.views.words.record_words import describe_absent_parts

_OF_THIS_MACHINE = (*TARGETS, "")  # targets that are loaded where they were made
_ONLY_TOLD = ("trace", KERNEL_LOG, OWN_KERNEL, "explanation")  # kinds of records without code
_SAVE = "`compiled.save(path)` writes a file, `wb.package(model, args, path=…)` one for C++ too"
_LATER = "A record that is taken after saving names the file."
_TRIP = "`wb.roundtrip(compiled, args)` times what a fresh process does with it"


def document(report: Report, context: ViewContext) -> Content:
    """The facts in groups, and the tables of the file."""
    saved = context.saved or file_of(report)
    file = _saved_file(report, saved, context)
    return Content({"artifact": _facts(report, saved), "file": file})


def _saved_file(report: Report, saved: tuple[str, int] | None, context: ViewContext) -> SavedFile:
    """The tables of the pane; what was asked about a machine stands for what was found before."""
    checked = context.checked
    needs = report.requirements if checked is None else checked.requirements
    return {
        "heading": _heading(report, saved, context),
        "advice": _advice(report, saved, context),
        "can_save": report.outcome.ok and report.request.kind not in _ONLY_TOLD,
        "checked": None if checked is None else _sentence(checked.verdict),
        "members": [convert_row(Member, row, id=f"Z:m{n}") for n, row in enumerate(report.members)],
        "contract": [
            convert_row(ContractLeaf, row, id=f"Z:c{n}") for n, row in enumerate(report.contract)
        ],
        "requirements": [
            convert_row(Requirement, row, id=f"Z:r{n}") for n, row in enumerate(needs)
        ],
        "ways": list_ways(report.roundtrip, report.roundtrip_phases),
        "leaves": list(_leaves(report)),
    }


def _sentence(verdict: str) -> str:
    """A verdict on its own, after "the file" in text."""
    said = f"It {verdict}" if verdict.startswith("can") else verdict[:1].upper() + verdict[1:]
    return f"{said}."


def _heading(report: Report, saved: tuple[str, int] | None, context: ViewContext) -> str:
    """What the advice is about; a record does not hear of what is saved after it was taken."""
    if len(report.artifact) or saved is not None:
        return "No round trip yet."
    is_open = context.is_record and report.outcome.ok and report.request.kind not in _ONLY_TOLD
    return "No file is known to this record." if is_open else "Not saved."


def _advice(report: Report, saved: tuple[str, int] | None, context: ViewContext) -> str | None:
    """One line on how to get a file, or how to time one; None where there is all."""
    if report.request.kind == KERNEL_LOG:
        return "A log of kernels only tells: `report.save(path)` keeps this record."
    if report.request.kind == OWN_KERNEL:
        return "A kernel by itself is no artifact: `k.save(path)` keeps this record."
    if report.request.kind == "trace":
        return "A trace log only tells: `report.save(path)` keeps this record."
    if report.request.kind == "explanation":
        return "An explanation only looks: `wb.aot_compile` makes something that can be saved."
    if not report.outcome.ok:
        how = f"{report.outcome.clause}{report.outcome.place}"
        return f"The compilation {how}, so there is nothing to save."
    if len(report.roundtrip):
        return None
    if len(report.artifact) or saved is not None:
        return f"{_TRIP}."
    later = f"{_LATER} " if context.is_record else ""
    return f"{later}{_SAVE}; {_TRIP}."


def _facts(report: Report, saved: tuple[str, int] | None) -> list[wire.Artifact]:
    """Facts in groups: the file, the request, the environment, the caches, what is missing."""
    answers = Counter(
        (event.cache, f"{event.outcome}: {event.reason}" if event.reason else event.outcome)
        for event in report.cache
    )
    caches = [
        (cache, f"{words}, {plural(count, 'time')}" if count > 1 else words)
        for (cache, words), count in answers.items()
    ]
    groups: list[tuple[str, list[tuple[str, str]]]] = [
        ("File", [*_file_rows(report, saved), *_runs_on(report, saved)]),
        ("Inputs", _inputs(report)),
        ("Request", [row for row in _request_rows(report) if row[1]]),
        ("Environment", [row for row in _environment_rows(report) if row[1]]),
        ("What torch's caches answered", caches),
        ("What could not be captured", describe_absent_parts(report)),
    ]
    return [{"title": title, "facts": rows} for title, rows in groups if rows]


def _file_rows(report: Report, saved: tuple[str, int] | None) -> list[tuple[str, str]]:
    """What the file is, as names and values; the guards that it checks."""
    guards = ("Guards", count_guards(report.guards.columns.get("kept", ())).words)
    rows = [(row.name, row.value) for row in report.artifact]
    if not rows and saved is not None:
        rows = [("Path", saved[0]), ("Size", f"{saved[1]} bytes")]
    return [*((name, _worded(name, value)) for name, value in rows), guards]


def _worded(name: str, value: str) -> str:
    count = value.partition(" ")[0]
    if name == "Size" and count.isdigit():
        return f"{format_bytes(int(count))} ({plural(int(count), 'byte')})"
    return value


def _runs_on(report: Report, saved: tuple[str, int] | None) -> list[tuple[str, str]]:
    """Where a file of code for another machine can be loaded."""
    target = report.request.target
    if target in _OF_THIS_MACHINE or not (saved or len(report.artifact)):
        return []
    words = f"a machine with the GPU of {target}; wb.check(path, machine=…) compares one with it"
    return [("Runs on", words)]


def _request_rows(report: Report) -> tuple[tuple[str, str], ...]:
    """What was asked for, in words."""
    request = report.request
    train = {True: "training", False: "evaluation", None: ""}[request.training]
    return (
        ("Name", request.name),
        ("Kind", request.kind),
        ("Dynamic shapes", request.dynamic_shapes or "none"),
        ("Backend", request.backend),
        ("Mode", request.mode or "default"),
        ("Options", ", ".join(f"{k}={v}" for k, v in request.options) or "defaults"),
        ("Target", request.target),
        ("Gradients", "on" if request.grad else "off"),
        ("Autocast", request.autocast or "off"),
        ("Module mode", train),
        ("Guard policy", request.guards),
        ("Capture", request.capture),
    )


def _environment_rows(report: Report) -> tuple[tuple[str, str], ...]:
    """Where it was compiled."""
    there = report.environment
    return (
        ("aot-workbench", there.workbench),
        ("torch", there.torch),
        ("triton", there.triton or "not installed"),
        ("Python", there.python),
        ("Platform", there.platform),
        ("CPU", there.cpu),
        ("Vector instructions", there.isa),
        ("Cores, threads", f"{there.cores}, {there.threads}" if there.cores else ""),
        *there.variables,
    )


def _inputs(report: Report) -> list[tuple[str, str]]:
    lines = []
    for text in () if len(report.contract) else report.request.inputs:  # else they are in a table
        name, colon, rest = text.partition(": ")
        lines.append((name, rest) if colon else ("", text))
    if report.request.conditions:
        lines.append(("only where", report.request.together))
    return lines


def file_of(report: Report) -> tuple[str, int] | None:
    """The path and the size in bytes of the file, where there is one."""
    facts = {row.name: row.value for row in report.artifact}
    size = facts.get("Size", "").partition(" ")[0]
    return (facts["Path"], int(size)) if "Path" in facts and size.isdigit() else None


def _leaves(report: Report) -> list[TripLeaf]:
    return [
        convert_row(
            TripLeaf,
            row,
            id=f"Z:o{n}",
            way=title_of(row.way),
            shape=str(list(row.shape)),
            max_abs_error=row.max_abs_error if math.isfinite(row.max_abs_error) else None,
            tolerance=f"{difference_text(row.atol)} + {difference_text(row.rtol)} × |value|",
        )
        for n, row in enumerate(report.roundtrip_leaves)
    ]


PANE = Pane("artifact", "Artifact", document)
