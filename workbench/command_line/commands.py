"""What each command does; it prints and returns its exit code."""

from __future__ import annotations

import json
import sys
import textwrap
from argparse import Namespace
from contextlib import redirect_stdout
from pathlib import Path

from workbench import api
from workbench.analysis.diff.difference import Diff
from workbench.analysis.expectations.quantities import Record
from workbench.analysis.profile_matches.profile_difference import ProfileDiff
from workbench.analysis.session.session_comparison import SessionDiff
from workbench.artifacts.archive.file_kinds import LOADABLE
from workbench.artifacts.records.report_in import SESSION_SUFFIX, record_of
from workbench.command_line import FINDING, FINE
from workbench.command_line.documents import (
    SCHEMA,
    document,
    kernels_of,
    list_tables,
    read_numbers,
    read_totals,
)
from workbench.command_line.named_call import called, raise_exits
from workbench.errors import UsageError
from workbench.glossary import read_glossary
from workbench.report.presenter import presenter
from workbench.report.profile.run_profile import RunProfile
from workbench.report.session.session_record import Session
from workbench.report.wbr_file import is_profile

_KERNEL_LOGS = (".ndjson", ".ndjson.gz")
_HEAD = 1 << 20  # bytes, which hold the header of a record
_TRACES = (".json", ".json.gz")
_RECORDS = (".wbr", SESSION_SUFFIX, *(kind.suffix for kind in LOADABLE))


def report(chosen: Namespace) -> int:
    """`workbench report FILE`."""
    record = _record(chosen.file)
    if isinstance(record, RunProfile):
        return _show_profile("report", record, chosen)
    ok = isinstance(record, Session) or record.outcome.ok
    advised = presenter().sentences(record) if isinstance(record, Session) else ()
    if chosen.html:
        record.to_html(chosen.html)
    if chosen.json:
        sentences = advised or [repr(record)]
        kernels = None if isinstance(record, Session) else kernels_of(record)
        print(
            document("report", chosen.file, ok=ok, sentences=sentences,
                     numbers=read_numbers(record), kernels=kernels)
        )  # fmt: skip
    else:
        print(presenter().text(record), *(f"- {sentence}" for sentence in advised), sep="\n")
    return _code(ok)


def diff(chosen: Namespace) -> int:
    """`workbench diff A B`."""
    a, b = _record(chosen.a), _record(chosen.b)
    difference = api.diff(a, b, names=(Path(chosen.a).name, Path(chosen.b).name))
    sentences = list(difference.sentences)
    is_same = difference.is_same if isinstance(difference, Diff) else not sentences
    if chosen.html:
        if isinstance(difference, SessionDiff):
            raise UsageError("A difference of sessions has no page: leave --html out.")
        difference.to_html(chosen.html)
    if chosen.json:
        findings = () if is_same else ({"what": "difference", "text": s} for s in sentences)
        numbers = [
            number
            for record, of in ((a, chosen.a), (b, chosen.b))
            for number in (
                read_totals(record, of)
                if isinstance(record, RunProfile)
                else read_numbers(record, of)
            )
        ]
        tables = list_tables(difference.tables) if isinstance(difference, ProfileDiff) else None
        name = f"{chosen.a} / {chosen.b}"
        print(
            document("diff", name, ok=is_same, sentences=sentences, numbers=numbers,
                     findings=findings, tables=tables)
        )  # fmt: skip
    else:
        print(difference)
    return _code(is_same)


def profile(chosen: Namespace) -> int:
    """`workbench profile TRACE`."""
    saved = chosen.file.endswith(".wbr")
    found = RunProfile.load(chosen.file) if saved else api.read_profile(chosen.file, chosen.gpu)
    if chosen.save:
        found.save(chosen.save)
    return _show_profile("profile", found, chosen)


def _show_profile(command: str, found: RunProfile, chosen: Namespace) -> int:
    if chosen.html:
        found.to_html(chosen.html)
    if chosen.json:
        print(
            document(command, chosen.file, ok=True, sentences=presenter().sentences(found),
                     numbers=read_totals(found), tables=list_tables(found.tables))
        )  # fmt: skip
    else:
        print(presenter().text(found))
    return FINE


def check(chosen: Namespace) -> int:
    """`workbench check FILE [MACHINE]`."""
    checked = api.check(chosen.file, chosen.machine)
    if chosen.json:
        findings = [
            {
                "what": row.verdict,
                "text": f"{row.name}: {row.needed} / {row.found}",
                "advice": row.advice or "",
            }
            for row in checked.requirements
            if row.verdict != "pass"
        ]
        sentences = [f"{Path(chosen.file).name}: {checked.verdict}."]
        print(document("check", chosen.file, ok=checked.ok, sentences=sentences, findings=findings))
    else:
        print(checked)
    return _code(checked.ok)


def inspect(chosen: Namespace) -> int:
    """`workbench inspect FILE`."""
    inspected = api.inspect(chosen.file, verify=True)
    ok = not inspected.damaged
    if chosen.json:
        findings = [{"what": "damaged", "text": name} for name in inspected.damaged]
        numbers = [{"name": "size", "value": inspected.size, "unit": "bytes", "source": "counted"}]
        print(
            document("inspect", chosen.file, ok=ok, sentences=repr(inspected).splitlines(),
                     numbers=numbers, findings=findings)
        )  # fmt: skip
    else:
        print(inspected)
    return _code(ok)


def explain(chosen: Namespace) -> int:
    """`workbench explain MODULE:FUNCTION --inputs ARGUMENTS`."""
    to = sys.stderr if chosen.json else sys.stdout
    with redirect_stdout(to), raise_exits():  # what the program prints, and how it ends
        function, args, kwargs = called(chosen.function, chosen.inputs)
        explained = api.explain(function, args, kwargs)
    breaks = list(explained.report.breaks)
    if chosen.json:
        findings = [
            {
                "what": "break",
                "text": f"{row.text}: {row.reason}",
                "place": f"{row.file}:{row.line}",
                "advice": " ".join(row.hints),
            }
            for row in breaks
        ]
        print(
            document("explain", chosen.function, ok=not breaks, sentences=[repr(explained.report)],
                     numbers=read_numbers(explained.report), findings=findings)
        )  # fmt: skip
    else:
        print(presenter().text(explained.report))
    return _code(not breaks)


def words(chosen: Namespace) -> int:
    """`workbench words WORD`."""
    asked = chosen.word.casefold()
    found = [term for term in read_glossary().values() if asked in term.word.casefold()]
    for term in found:
        print(f"{term.word} ({term.place})", textwrap.indent(term.text, "  "), sep="\n")
    if not found:
        raise UsageError(
            f"No word of the view is like {chosen.word!r}; without one all are listed."
        )
    return FINE


def schema(chosen: Namespace) -> int:
    """`workbench schema`."""
    print(json.dumps(SCHEMA, indent=1))
    return FINE


def _record(path: str) -> Record | RunProfile:
    """What a file holds; a log is read as one, a folder with traces of torch.profiler as ranks."""
    where = Path(path)
    has_ranks = where.is_dir() and not any(where.glob("*.log*"))
    if path.endswith(_TRACES) or (has_ranks and any(where.glob("*.json*"))):
        return api.read_profile(path)
    if path.endswith(".wbr") and where.is_file():
        with where.open("rb") as file:
            if is_profile(file.read(_HEAD)):
                return RunProfile.load(path)
    if path.endswith(_KERNEL_LOGS):
        return api.read_tritonparse(path)
    return record_of(path) if path.endswith(_RECORDS) else api.read_trace(path)


def _code(ok: bool) -> int:
    return FINE if ok else FINDING
