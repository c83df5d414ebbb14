"""What programs compiled as far as logs tell it: what was compiled, again, given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.analysis.source.recompile_reasons import read_reason
from workbench.compiler.sources.dynamo_messages import RESUMED, recompile_reasons
from workbench.report import Break, Report
from workbench.report.program.program_record import ProgramRecord, require_program_records
from workbench.report.program.record_rows import (
    Compile,
    Event,
    Fallback,
    ProgramBreak,
    ProgramHeader,
    ProgramRecompile,
)
from workbench.report.table import Table
from workbench.worlds.logs.reading.content import LogContent
from workbench.worlds.logs.reading.dynamo_texts import name_begun
from workbench.worlds.logs.reading.source_places import LogPlaces, named

_MISSING = (
    ("steps", "a log has no steps: everything counts as step 0"),
    ("calls of compiled graphs", "a log has no calls"),
    ("reports of single compiles", "the report of the log covers all compiles"),
)
_GIVEN_UP = {"skipped": "always", "limit": "new variants"}


def build_program_record(
    report: Report, contents: Sequence[LogContent], places: Sequence[LogPlaces]
) -> ProgramRecord:
    """What the programs of the logs compiled; ids and threads bear the names of several logs.

    Raises `UsageError` where no world makes such a record.
    """
    logs = list(zip(contents, places, strict=True))
    met = list(report.breaks)  # with them the log quotes files, by which these are known again
    compiles = list_compiles(contents, places)
    again = [row for log in logs for row in _recompiles(*log, compiles)]
    given_up = [_fallback(row) for row in compiles if row.outcome in _GIVEN_UP]
    tables: dict[str, Table[Any]] = {
        "compiles": Table.of(Compile, compiles),
        "recompiles": Table.of(ProgramRecompile, again),
        "breaks": Table.of(ProgramBreak, _breaks(met, compiles)),
        "fallbacks": Table.of(Fallback, given_up),
        "events": Table.of(Event, [_event(row) for row in compiles if row.outcome != "limit"]),
    }
    header = ProgramHeader(
        environment=report.environment,
        capture="trace log",
        began_at=_find_begin(contents),
        wall_s=max((row.at_s + row.total_s for row in compiles), default=0.0),
        events=len(compiles),
        threads=tuple(dict.fromkeys(row.thread for row in compiles)),
        missing=_MISSING,
    )
    return require_program_records("The session of a log").make(header, tables)


def list_compiles(contents: Sequence[LogContent], places: Sequence[LogPlaces]) -> list[Compile]:
    """What the programs of the logs compiled, in the order of the logs."""
    began_at = _find_begin(contents)
    logs = zip(contents, places, strict=True)
    return [row for log in logs for row in _compiles(*log, began_at)]


def _find_begin(contents: Sequence[LogContent]) -> float:
    return min((_at(row) for content in contents for _, row in content.metrics), default=0.0)


def _at(row: Mapping[str, Any]) -> float:
    return float(row.get("start_time") or 0.0)


def _prefix(content: LogContent) -> str:
    return f"{content.label}: " if content.label else ""


def _compiles(content: LogContent, places: LogPlaces, began_at: float) -> Iterator[Compile]:
    """A row for each account that torch gave, in the order of their begin."""
    again = {piece.compile_id: piece for piece in content.recompiles}
    errors = {piece.compile_id for piece in content.failures()}
    answers, breaks = _join_answers(content), Counter(piece.compile_id for piece in content.breaks)
    known: dict[str | None, Mapping[str, Any]] = {}
    for id, row in sorted(content.metrics, key=lambda each: _at(each[1])):
        is_backward = bool(row.get("is_backward"))
        of = row if not is_backward else known.get(id, row)
        known.setdefault(id, row)
        function = str(of.get("co_name") or "")
        resumed = RESUMED.match(function)
        whole = row.get("entire_frame_compile_time_s")
        code = row.get("inductor_compile_time_s")
        backend = code if is_backward else row.get("backend_compile_time_s") or code
        piece = again.get(id)
        why = str(row.get("fail_reason") or "").strip().split("\n")[0]
        if piece is not None and not is_backward:
            why = why or next((read_reason(t).guard for t in recompile_reasons(piece.text())), "")
        yield Compile(
            id=_prefix(content) + str(id),
            function=name_begun(content, places, str(id)) or named(function),
            file=places.shown(str(of.get("co_filename") or "")),
            line=int(resumed[2]) if resumed else int(of.get("co_firstlineno") or 0),
            step=0,
            at_s=max(0.0, _at(row) - began_at),
            kind=_kind(str(id), is_backward, resumed is not None, piece is not None),
            thread=content.label or "main",
            total_s=float(whole or backend or 0.0),
            dynamo_s=None if is_backward or whole is None else max(0.0, whole - (backend or 0.0)),
            backend_s=backend,
            codegen_s=row.get("code_gen_time_s"),
            guards=row.get("guard_count"),
            ops=row.get("graph_op_count"),
            breaks=0 if is_backward else breaks[id],
            outcome=_outcome(row, id in errors and not is_backward),
            cache="" if is_backward else answers.get(id, ""),
            why=places.shared(why),
        )


def _join_answers(content: LogContent) -> dict[str | None, str]:
    """What the caches answered in each compile, of forward and backward together."""
    words: dict[str | None, dict[str, None]] = {}
    for id, event in content.cache:
        said = f"{event.cache.removesuffix(' cache')} {event.outcome}"
        words.setdefault(id, {})[said] = None
    return {id: ", ".join(sorted(said, key=_answer_order)) for id, said in words.items()}


def _answer_order(said: str) -> bool:
    """The cache of graphs comes first, as torch counts them."""
    return not said.startswith("FX")


def _kind(id: str, is_backward: bool, is_resumed: bool, is_again: bool) -> str:
    if is_backward:
        return "backward"
    if id.startswith("!"):
        return "autograd"
    return "recompile" if is_again else "resume" if is_resumed else "first"


def _outcome(row: Mapping[str, Any], is_error: bool) -> str:
    fail = str(row.get("fail_type") or "")
    if "LimitExceeded" in fail:
        return "limit"
    if fail:
        return "error" if is_error else "skipped"
    return "graph" if row.get("is_backward") or row.get("graph_op_count") else "no graph"


def _recompiles(
    content: LogContent, places: LogPlaces, compiles: Sequence[Compile]
) -> Iterator[ProgramRecompile]:
    """A row for each variant that did not fit; a log does not say which came nearest: the first."""
    names = {_prefix(content) + str(id): str(row.get("co_name")) for id, row in content.metrics}
    breaks = {id: RESUMED.match(name) for id, name in names.items()}
    for piece in content.recompiles:
        id = _prefix(content) + str(piece.compile_id)
        own = [row for row in compiles if row.id == id]
        reasons = [read_reason(places.shared(text)) for text in recompile_reasons(piece.text())]
        for rank, reason in enumerate(reasons):
            yield ProgramRecompile(
                compile_id=id,
                function=own[0].function if own else "",
                step=0,
                against=_prefix(content) + reason.against if reason.against else "",
                nearest=not rank,
                guard=reason.guard,
                kind=reason.kind,
                source=reason.source,
                expected=reason.expected,
                actual=reason.actual,
                variants=len(reasons),
                cost_s=sum(row.total_s for row in own),
                file=own[0].file if own else "",
                line=own[0].line if own else 0,
                resumed_at=int(cut[2]) if (cut := breaks.get(id)) else 0,
            )


def _breaks(met: Sequence[Break], compiles: Sequence[Compile]) -> Iterator[ProgramBreak]:
    for row in met:
        ids = {
            each.id
            for each in compiles
            if each.kind != "first" and (each.file, each.line) == (row.file, row.line)
        }
        cost_s = sum(each.total_s for each in compiles if each.id in ids)
        yield ProgramBreak(
            row.file,
            row.line,
            row.function,
            row.text,
            row.kind,
            row.reason,
            row.hints,
            row.count,
            (),
            0,
            cost_s,
        )


def _fallback(row: Compile) -> Fallback:
    how = _GIVEN_UP[row.outcome]
    return Fallback(row.function, row.file, row.line, row.id, 0, how, row.why)


def _event(row: Compile) -> Event:
    kind = "recompile" if row.kind == "recompile" else "compile"
    return Event(0, row.at_s, kind, row.id, row.function, row.why or row.kind, row.total_s)
