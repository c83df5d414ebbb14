"""What a running program compiled and called, as plain data that every view is built from."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.errors import ArtifactError, ExpectationError, UsageError
from workbench.number_text import plural
from workbench.plain_data import parse_json, read_file
from workbench.report.atomic import write_saved_file
from workbench.report.presenter import Viewed, presenter
from workbench.report.program.program_record import ProgramRecord
from workbench.report.program.record_rows import Compile, ProgramHeader
from workbench.report.record import Report
from workbench.report.table import Table
from workbench.typed_data import read_row
from workbench.worlds.sessions.rows.session_rows import SESSION_TABLES, Reports, find_own_breaks

if TYPE_CHECKING:
    import anywidget
    import matplotlib.figure
    import pandas


class Session(Viewed, ProgramRecord):
    """Hold the compiles of plain torch.compile while a program ran, with a report of each.

    `frame(name)` returns a table: `compiles`, `recompiles` (explained by the nearest earlier
    variant), `breaks`, `fallbacks` (frames that run in eager from then on), `regions` (calls and
    time of each compiled graph), `steps` or `events`. Times are measured on the host. `view` is the
    live view that has followed it, None without one.

    Examples
    --------
    >>> with wb.session() as s:
    ...     for size in (4, 6):
    ...         _ = torch.compile(f)(torch.ones(size))
    ...         s.step()
    >>> s
    Session(2 compiles, 1 recompile, 0 breaks, 0 fallbacks, 2 steps)
    >>> list(s.frame("recompiles").guard)
    ["tensor 'x' size mismatch at index 0. expected 4, actual 6"]
    """

    def __init__(
        self,
        header: ProgramHeader,
        tables: Mapping[str, Table[Any]],
        reports: Mapping[int, Report],
    ):
        self._header, self._tables, self._reports = header, tables, reports
        self.view: anywidget.AnyWidget | None = None

    def _compare(self, other: Any, names: tuple[str, str] | None) -> Any:
        return presenter().compare(self, other, names)

    @property
    def header(self) -> ProgramHeader:
        """The place and the duration of the recording."""
        return self._header

    @property
    def tables(self) -> Mapping[str, Table[Any]]:
        """Every table by name."""
        return self._tables

    @property
    def reports(self) -> Mapping[int, Report]:
        """The kept reports, by the row of their compile."""
        return self._reports

    @property
    def is_running(self) -> bool:
        """Whether it is recording."""
        return False

    def so_far(self) -> Session:
        """Return the current state, including the step and the compiles in progress.

        Any thread may call this.
        """
        return self

    @checked
    def frame(self, name: str) -> pandas.DataFrame:
        """Return one table as a DataFrame; raises `UsageError` for another name."""
        return presenter().frame(self, name)

    @property
    def advice(self) -> tuple[str, ...]:
        """Recommended changes in sentences, the greatest cost first."""
        return presenter().sentences(self)

    @property
    def why_no_trial(self) -> str | None:
        """The reason why no patch can be tried, in a sentence; None if one can."""
        return "A patch can be tried only in the process that recorded the session."

    @checked
    def start_patch(self, id: str) -> Any:
        """Start to try a patch of the advice, by its id; raises `UsageError` if none can run."""
        raise UsageError(self.why_no_trial or f"This session has no patch {id!r}.")

    @checked
    def report(self, which: int | str) -> Report:
        """Return the report of one compile: by its row in `compiles`, or by its id such as "0/1".

        A backward pass is in the report of its forward pass, even if compiled later. If several
        compiles have one id, it is the last. The report of a recompile has its reason,
        `request.again`. Raises `UsageError` for an unknown compile, or if its report was not kept.
        """
        rows = self.tables["compiles"]
        at = which if isinstance(which, int) else _row_of(rows, which)
        if not -len(rows) <= at < len(rows):
            had = plural(len(rows), "compile")
            raise UsageError(f"No compile {which}: this session has {had}, numbered from 0.")
        at %= len(rows)
        kept_report = self.reports.get(at)
        if kept_report is None:
            row = rows[at]
            why = row.why if row.outcome != "graph" else "only the most expensive reports are kept"
            raise UsageError(f"Compile {which} ({row.function}) has no report: {why}.")
        if rows[at].kind != "recompile":
            return kept_report
        why = presenter().explain(self, rows[at])
        return replace(kept_report, request=replace(kept_report.request, again=why))

    @checked
    def check(
        self,
        *,
        recompiles: int | None = None,
        fallbacks: int | None = None,
        breaks: int | None = None,
    ) -> None:
        """Raise `ExpectationError` with the sentences if the counts exceed their limits.

        `recompiles` counts recompiles, `fallbacks` frames, and `breaks` places. Breaks that torch
        makes for itself, as around a compiled optimizer step, do not count. The check fails if no
        graph was compiled and none was called. It also fails if a function's compile failed and the
        program continued without it.
        """
        by_noun = {
            "recompile": (recompiles, len(list_recompiles(self.tables))),
            "fallback": (fallbacks, len(self.tables["fallbacks"])),
            "break": (breaks, len(find_own_breaks(self.tables))),
        }
        wrong = [
            f"{plural(count, noun)} (limit {limit})"
            for noun, (limit, count) in by_noun.items()
            if limit is not None and count > limit
        ]
        if has_run_nothing(self):
            wrong.insert(0, "no compiled graph: nothing to check")
        elif failed := list_failed_compiles(self.tables):
            wrong.insert(0, plural(len(failed), "failed compile"))
        if wrong:
            lines = [f"This session had {'; '.join(wrong)}.", *(f"  - {a}" for a in self.advice)]
            raise ExpectationError("\n".join(lines))

    @checked
    def save(self, path: str | PathLike[str]) -> None:
        """Write a `.wbs` file, atomically, with the reports."""
        write((self.header, self.tables, self.reports), path)

    @classmethod
    @checked
    def load(cls, path: str | PathLike[str]) -> Session:
        """Open a `.wbs` file; reports are read on first access, and nothing from it is executed.

        Raises `ArtifactError` when the file is missing, damaged or of a newer schema.
        """
        return Session(*read(path))

    def to_bytes(self) -> bytes:
        """Return the content that `save` writes."""
        return to_bytes((self.header, self.tables, self.reports))

    @classmethod
    @checked
    def from_bytes(cls, content: bytes, path: str | PathLike[str]) -> Session:
        """A session from what was written; `path` is named in errors, as `load` raises."""
        return Session(*read_session_parts(content, path))

    def plot(self) -> matplotlib.figure.Figure:
        """Plot the time of each step by activity; raises `UsageError` if no step has ended."""
        return presenter().plot(self)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None, *, redact: bool = False) -> str:
        """Return a self-contained page, written to `path` when given; `redact` drops sources."""
        return presenter().page(self, path, redact=redact)


def _row_of(rows: Table[Compile], id: str) -> int:
    places = [
        at
        for at, (own, kind) in enumerate(zip(rows.columns["id"], rows.columns["kind"], strict=True))
        if own == id and kind != "backward"
    ]
    if not places:
        known = ", ".join(dict.fromkeys(rows.columns["id"])) or "none"
        raise UsageError(f"This session has no compile {id!r}. It has: {known}.")
    return places[-1]


def list_compiled(tables: Mapping[str, Table[Any]]) -> list[Compile]:
    """The compiles that torch did: what it refused at the recompile limit is none."""
    return [row for row in tables["compiles"] if row.outcome != "limit"]


def list_recompiles(tables: Mapping[str, Table[Any]]) -> list[Compile]:
    """The compiles of what had been compiled before."""
    return [row for row in list_compiled(tables) if row.kind == "recompile"]


def has_run_nothing(session: Session) -> bool:
    """Whether no graph was compiled, and none that was compiled before is known to have run."""
    tables = session.tables
    has_graph = "graph" in tables["compiles"].columns.get("outcome", ())
    is_called = len(tables["regions"]) > 0 or session.header.ran_compiled is True
    return not (has_graph or is_called)


def was_compiled_before(session: Session) -> bool:
    """Whether graphs ran, all of them compiled before the session began."""
    return not (has_run_nothing(session) or len(session.tables["compiles"]))


def list_failed_compiles(tables: Mapping[str, Table[Any]]) -> list[Compile]:
    """The last compile of each function whose error the program got, and that has no graph."""
    rows: list[Compile] = list(tables["compiles"])
    has_graph = {(row.function, row.file, row.line) for row in rows if row.outcome == "graph"}
    failed = {(row.function, row.file, row.line): row for row in rows if row.outcome == "error"}
    return [row for key, row in failed.items() if key not in has_graph]


def make_empty_tables() -> dict[str, Table[Any]]:
    """Every table of a session, without rows."""
    return {name: Table.of(row_type) for name, row_type in SESSION_TABLES.items()}


Parts = tuple[ProgramHeader, Mapping[str, Table[Any]], Mapping[int, Report]]
"""What a session is made of, and its file: its header, its tables, the reports that were kept."""
SCHEMA = 1
_RECORD = "session.json"
_LIMIT = 256 << 20  # bytes of one part unpacked; 10,000 steps take 1 MiB
_LARGEST = 1 << 30  # bytes of a file: a thousand compiles of 1 MiB
_AROUND = 1 << 10  # bytes: headers, names and the row in the directory, of one member
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError),
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError),
    RuntimeError,  # an encrypted member
)


def write(parts: Parts, path: str | PathLike[str]) -> None:
    """Write the parts of a session, atomically."""
    with write_saved_file(path) as file:
        _write(parts, file)


def to_bytes(parts: Parts) -> bytes:
    """What `write` writes."""
    content = io.BytesIO()
    _write(parts, content)
    return content.getvalue()


def _write(parts: Parts, file: IO[bytes]) -> None:
    header, tables, kept = parts
    reports = dict(kept)
    first = {id(report): at for at, report in reversed(reports.items())}
    same = {at: first[id(report)] for at, report in reports.items() if first[id(report)] != at}
    record = {
        "schema": SCHEMA,
        "header": asdict(header),
        "tables": {name: table.to_json() for name, table in tables.items()},
        "same_report": same,
    }
    with zipfile.ZipFile(file, "w") as archive:
        text = json.dumps(record, separators=(",", ":"))
        archive.writestr(_RECORD, text, compress_type=zipfile.ZIP_DEFLATED)
        for at, report in reports.items():
            if at not in same:
                archive.writestr(_member(at), report.to_bytes())


def read(path: str | PathLike[str]) -> Parts:
    """The parts of a session; raises `ArtifactError` when the file cannot be read as one."""
    try:
        content = read_file(path, _LARGEST, partial(_check_directory, path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArtifactError(f"Cannot open the session {path}: {reason}.") from error
    return read_session_parts(content, path)


def read_session_parts(content: bytes, path: str | PathLike[str]) -> Parts:
    """The parts of a session from what was written; `path` is named in errors, as `read` raises."""
    try:
        record = parse_json(_part(content, _RECORD))
        _check_schema(record, path)
        header = read_row(ProgramHeader, record["header"])
        tables: dict[str, Table[Any]] = {
            name: Table.from_json(row_type, record["tables"].get(name, {"columns": {}}))
            for name, row_type in SESSION_TABLES.items()
        }
        same = {int(at): int(first) for at, first in record.get("same_report", {}).items()}
        kept = zipfile.ZipFile(io.BytesIO(content)).namelist()
    except _DAMAGE as error:
        raise _explain_damage(path, error) from error
    members = {at: same.get(at, at) for at in range(len(tables["compiles"]))}
    makers = {
        at: partial(_report, content, first)
        for at, first in members.items()
        if _member(first) in kept
    }
    return header, tables, Reports(makers, same)


def _check_directory(path: str | PathLike[str], file: IO[bytes], size: int) -> None:
    """Raise `ArtifactError` for a file whose bytes are not those of a session's members."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            archive.getinfo(_RECORD)
        most = sum(member.compress_size + _AROUND for member in members) + _AROUND
        if size > most:
            raise ValueError(f"{size - most:,} unknown bytes")
    except _DAMAGE as error:
        raise _explain_damage(path, error) from error


def _explain_damage(path: str | PathLike[str], error: Exception) -> ArtifactError:
    return ArtifactError(
        f"{path} is damaged or not a session ({type(error).__name__}: {error}). Save it again "
        "with Session.save."
    )


def _member(at: int) -> str:
    return f"compiles/{at}.wbr"


def _part(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if archive.getinfo(name).file_size > _LIMIT:
            raise ValueError(f"a part exceeds {_LIMIT} bytes")
        return archive.read(name)


def _report(content: bytes, at: int) -> Report:
    try:
        return Report.from_bytes(_part(content, _member(at)))
    except _DAMAGE as error:
        raise ArtifactError(f"The report of compile {at} is damaged ({error}).") from error


def _check_schema(record: Any, path: str | PathLike[str]) -> None:
    schema = record["schema"]
    if not isinstance(schema, int):
        raise ValueError("it names no schema")
    if schema > SCHEMA:
        raise ArtifactError(
            f"{path} has schema {schema}; this version reads up to {SCHEMA}. Upgrade aot-workbench."
        )
