"""The file that a compilation was saved to or loaded from, its round trip, its surroundings."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.device_kinds import TARGETS
from workbench.number_text import difference_text, format_bytes, plural
from workbench.report import Report
from workbench.report.file_rows import RoundTripLeaf
from workbench.report.measures import count_guards
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL
from workbench.views.answers.roundtrip_answer import list_ways, title_of
from workbench.views.kit.blocks import (
    Action,
    Block,
    Columns,
    Facts,
    Field,
    Heading,
    Own,
    Rows,
    Sentence,
)
from workbench.views.panes.pane import Answer, Content, Pane, ViewContext, can_be_called
from workbench.views.wire import report_messages as wire
from workbench.views.wire.artifact_messages import (
    ContractLeaf,
    Member,
    Requirement,
    SavedFile,
    TripLeaf,
)
from workbench.views.wire.codec import convert_row
from workbench.views.wire.table_messages import Tone
from workbench.views.words.record_words import describe_absent_parts

_OF_THIS_MACHINE = (*TARGETS, "")  # targets that are loaded where they were made
REMOVED = " and removed"
"""How the path of a file ends that only a round trip had."""
_SEEN = 8  # rows of a table at once
_TONES: Mapping[str, Tone] = {
    "pass": "captured",
    "warn": "fallback",
    "fail": "break",
    "not checked": "plain",
}
_SAVE = (
    "`compiled.save(path)` writes a file; `wb.package(model, args, path=…)` writes one that C++ "
    "can load"
)
_LATER = "Reports read after saving name the file."
_TRIP = "`wb.roundtrip(compiled, args)` times the start-up in a fresh process"


def document(report: Report, context: ViewContext) -> Content:
    """The facts in groups, and the tables of the file."""
    saved = context.saved or file_of(report)
    file = _saved_file(report, saved, context)
    groups = _facts(report, saved)
    blocks = [*_list_blocks(report, groups, file)]
    answer = _answer(report, saved, context)
    return Content({"artifact": groups, "file": file}, blocks=blocks, answer=answer)


def _answer(report: Report, saved: tuple[str, int] | None, context: ViewContext) -> Answer:
    """What a round trip or a check of the file found, else whether it is saved."""
    if any(leaf.checked and not leaf.ok for leaf in report.roundtrip_leaves):
        return "differs after loading", "break"
    if context.checked is not None and "fail" in {n.verdict for n in context.checked.requirements}:
        return "does not load there", "break"
    if saved is not None and not saved[0].endswith(REMOVED):
        return f"saved, {format_bytes(saved[1])}", "plain"
    if saved is not None:
        return "loads here, not kept", "plain"
    if not report.outcome.ok:
        return "nothing to save", "plain"
    if len(report.breaks):
        return "only without breaks", "fallback"
    return None


def _list_blocks(
    report: Report, groups: Sequence[wire.Artifact], file: SavedFile
) -> Iterator[Block]:
    """How to get a file, its round trip, what it holds and needs, the facts."""
    facts = dict(next((group["facts"] for group in groups if group["title"] == "File"), ()))
    path = facts.get("Path")
    is_saved = path is not None and not path.endswith(REMOVED)
    if file["advice"]:
        yield Sentence(f"{file.get('heading', 'Not saved.')} {file['advice']}", "note")
    if file["can_save"] and not is_saved:
        yield _save(report.request.name or "compilation")
    if is_saved:
        line = f'wb.check("{path}", machine="target.json")'
        hint = "target.json; empty: this machine"
        command = "python -m workbench.machine > target.json"
        field = Field("machine", "Machine description", hint=hint, command=command)
        yield Action("check", "Check against it", line, field)
    if file["checked"]:
        yield Sentence(f"Compared. {file['checked']}", "note")
    if file["ways"]:
        yield Own("roundtrip")
    if is_saved:
        size = facts.get("Size", "").partition(" (")[0]
        words = (path, size, facts.get("Vouched for"), facts.get("Digest"))
        yield Heading("File", ", ".join(word for word in words if word), "artifact")
    loads = "Does it load there?" if file["checked"] else "Does it load on this machine?"
    omitted = report.tables["members"].omitted if "members" in report.tables else 0
    holds = _rows("members", "File contents", file["members"], omitted=omitted)
    gives = _rows("contract", "Inputs and outputs", file["contract"])
    outputs = _rows("leaves", "Outputs compared with eager", file["leaves"], "roundtrip_leaves")
    for pair in (
        (holds, _rows("requirements", loads, file["requirements"])),
        (gives, outputs),
    ):
        if any(rows.rows for rows in pair):
            yield Columns([rows for rows in pair if rows.rows])
    yield Columns([Facts(group["facts"], group["title"], "file") for group in groups])


def _rows(
    table: str, title: str, rows: Sequence[Any], frame: str = "", *, omitted: int = 0
) -> Rows:
    place = f"file.{table}"
    return Rows(table, title, rows, place, frame or table, omitted=omitted, seen=_SEEN)


def _save(name: str) -> Action:
    path = f"{re.sub(r'[^0-9A-Za-z_]+', '_', name).strip('_') or 'compiled'}.aot"
    return Action("save", "Save", f'compiled.save("{path}")', Field("path", "File to write", path))


def _saved_file(report: Report, saved: tuple[str, int] | None, context: ViewContext) -> SavedFile:
    """The tables of the pane; what was asked about a machine stands for what was found before."""
    checked = context.checked
    needs = report.requirements if checked is None else checked.requirements
    return {
        "heading": _heading(report, saved, context),
        "advice": _advice(report, saved, context),
        "can_save": can_be_called(report),
        "checked": None if checked is None else _sentence(checked.verdict),
        "members": [
            convert_row(Member, row, id=f"Z:m{n}", short=_shorten(row.name))
            for n, row in enumerate(report.members)
        ],
        "contract": [
            convert_row(ContractLeaf, row, id=f"Z:c{n}") for n, row in enumerate(report.contract)
        ],
        "requirements": [
            convert_row(Requirement, row, id=f"Z:r{n}", tone=_TONES.get(row.verdict, "plain"))
            for n, row in enumerate(needs)
        ],
        "ways": list_ways(report.roundtrip, report.roundtrip_phases),
        "leaves": list(_leaves(report)),
    }


def _shorten(name: str) -> str:
    """A name with most of its hash left out: "kernels/…/f2564721….so"."""
    return re.sub(r"/.+/", "/…/", re.sub(r"\b([0-9a-f]{8})[0-9a-f]{56}\b", r"\1…", name))


def _sentence(verdict: str) -> str:
    """A verdict on its own, after "the file" in text."""
    sentence = f"It {verdict}" if verdict.startswith("can") else verdict[:1].upper() + verdict[1:]
    return f"{sentence}."


def _heading(report: Report, saved: tuple[str, int] | None, context: ViewContext) -> str:
    """What the advice is about; a record does not hear of what is saved after it was taken."""
    if len(report.artifact) or saved is not None:
        return "No round trip yet."
    is_open = context.is_record and can_be_called(report)
    return "No saved file in this report." if is_open else "Not saved."


def _advice(report: Report, saved: tuple[str, int] | None, context: ViewContext) -> str | None:
    """One line on how to get a file, or how to time one; None where there is all."""
    if report.request.kind == KERNEL_LOG:
        return "A kernel log is not an artifact; `report.save(path)` saves this report."
    if report.request.kind == OWN_KERNEL:
        return "A single kernel is not an artifact; `k.save(path)` saves this report."
    if report.request.kind == "trace":
        return "A trace log is not an artifact; `report.save(path)` saves this report."
    if report.request.kind == "explanation":
        return "wb.explain does not make an artifact; `wb.aot_compile` does."
    if not report.outcome.ok:
        how = f"{report.outcome.clause}{report.outcome.place}"
        return f"The compilation {how}, so there is nothing to save."
    if len(report.roundtrip):
        return None
    if len(report.artifact) or saved is not None:
        return f"{_TRIP}."
    later = f"{_LATER} " if context.is_record else ""
    return f"{later}{_SAVE}. {_TRIP}."


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
        ("torch's caches", caches),
        ("Not captured", describe_absent_parts(report)),
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
    words = f"machines with the target GPU ({target}); check one with wb.check(path, machine=…)"
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
            tolerance=_tolerance(row),
            compared=_compare(row),
            tone="captured" if row.ok else "break" if row.checked else "plain",
            whole=row.note or f"allowed: {_tolerance(row)}",
        )
        for n, row in enumerate(report.roundtrip_leaves)
    ]


def _tolerance(row: RoundTripLeaf) -> str:
    return f"{difference_text(row.atol)} + {difference_text(row.rtol)} × |value|"


def _compare(row: RoundTripLeaf) -> str:
    """How an output compares with eager's, in a few words."""
    if not row.checked:
        return row.note or "not checked"
    if row.bit_exact:
        return "bit-exact"
    if not math.isfinite(row.max_abs_error):
        return row.note or "differs"
    return f"{'within' if row.ok else 'differs by'} {difference_text(row.max_abs_error)}"


PANE = Pane("artifact", "Artifact", document, question="ship")
