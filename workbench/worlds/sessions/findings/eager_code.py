"""What a session says of code that runs eagerly: at graph breaks, or where nothing was compiled."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from workbench.analysis.breaks.cures import advise
from workbench.number_text import plural
from workbench.report import Break, Report
from workbench.report.program.record_rows import Compile, ProgramBreak
from workbench.worlds.sessions.rows.session_record import Session, has_run_nothing
from workbench.worlds.sessions.rows.session_rows import NO_GENERATOR, find_step, place

_NEVER = (
    "no function returned by torch.compile was called. Call the returned function, not the one "
    "that you passed. For nn.Sequential and other torch.nn modules write `model = "
    "torch.compile(model)`: their `compile()` compiles nothing. Also check TORCH_COMPILE_DISABLE "
    "and torch.compiler.set_stance"
)
CURE_OF_GENERATOR = "return its values as a list, or compile the functions that it calls instead"
FIX_IT = "fix the error"
UNTRIED = "this was not tried: `wb.rehearse(fn, args)` tries known fixes"
"""What is said behind the advice on a break: a session has no copy of the call that it was in."""
_MARKED = "Constraints violated"
_DDP = "_inside_ddp_forward"


def explain_nothing_compiled(session: Session) -> str:
    """Why no graph ran, in a sentence with what to do; empty where one did, or may come yet."""
    if session.is_running or not has_run_nothing(session):
        return ""
    return f"Nothing was compiled, and no compiled graph was called: {_why(session)}."


def find_cure_of_failure(row: Compile) -> str:
    """What to do about a compile that failed."""
    if _MARKED in row.why:
        return (
            "the code specializes a size marked as dynamic, or another input with that size is "
            "unmarked: use torch._dynamo.maybe_mark_dynamic"
        )
    return FIX_IT


def _is_failed(row: Compile) -> bool:
    """Whether a compile ended with an error, or before its first operator for one of the code's."""
    is_own = row.outcome == "no graph" and row.kind == "first" and row.why != ""
    return is_own or row.outcome in ("error", "skipped", "interrupted")


def _why(session: Session) -> str:
    rows: list[Compile] = list(session.tables["compiles"])
    failed = next((row for row in rows if _is_failed(row)), None)
    if failed is not None:
        is_eager = failed.outcome in ("skipped", "no graph")
        how = "it runs eagerly" if is_eager else "the program continued without it"
        why = failed.why.rstrip(".") or failed.outcome
        what_to_do = find_cure_of_failure(failed)
        return f"compilation of {failed.function} failed ({why}), and {how}: {what_to_do}"
    breaks = session.tables["breaks"]
    if any(_DDP in hint for hints in breaks.columns["hints"] for hint in hints):
        return (
            "torch.compile skips DistributedDataParallel around a built-in torch.nn class: compile "
            "the module first, `DistributedDataParallel(torch.compile(model))`"
        )
    if left := session.header.left_alone:
        return (
            f"Dynamo skips the frames of {' and '.join(left)}, so its compile() compiles nothing: "
            "write `model = torch.compile(model)`, before any DistributedDataParallel"
        )
    if len(breaks):
        row = breaks[0]
        return (
            f"{row.function} breaks before its first operator ({place(row.file, row.line)}, "
            f"{row.kind}): {advise_on_break(row, rows, session.reports)}; {UNTRIED}"
        )
    if rows:
        names = ", ".join(dict.fromkeys(row.function for row in rows))
        return (
            f"the first call of {names} ran no tensor operators, so torch has skipped it since. "
            "Make the first call with tensors, or compile the function that computes"
        )
    return _explain_eager(session) or _NEVER


def _explain_eager(session: Session) -> str:
    """What was called and is run without being compiled; empty where nothing is."""
    for row in session.tables["fallbacks"]:
        todo = CURE_OF_GENERATOR if row.why == NO_GENERATOR else FIX_IT
        at = f" ({place(row.file, row.line)})" if row.file else ""
        return f"{row.function}{at} runs eagerly, because {row.why.rstrip('.')}: {todo}"
    return ""


def describe_harm(row: ProgramBreak) -> str:
    """What a break parts, in words; empty where torch did not tell."""
    if row.ops_before is None or row.ops_after is None:
        return ""
    if not row.ops_before or not row.ops_after:
        side = "after" if row.ops_before else "before"
        return f"harmless: there are no operators {side} it"
    before, after = plural(row.ops_before, "operator"), row.ops_after
    return f"{before} before the break cannot fuse with {after} after it"


def advise_on_break(
    row: ProgramBreak,
    compiles: Sequence[Compile],
    reports: Mapping[int, Report],
    compiled: Collection[str] = (),
) -> str:
    """What takes a break away, as rehearse has it; `compiled` are functions with a graph."""
    step = find_step(row)
    if step in compiled:
        return f"nothing to change: {step} has its own graph"
    known = _find_in_reports(row, compiles, reports)
    if known is not None:
        return advise(*known).words
    item = Break(
        "",
        row.file,
        row.line,
        row.function,
        row.text,
        row.kind,
        None,
        row.reason,
        "",
        row.hints,
        row.count,
    )
    return advise(item, None).words


def _find_in_reports(
    row: ProgramBreak, compiles: Sequence[Compile], reports: Mapping[int, Report]
) -> tuple[Break, Report] | None:
    """The break in the report that one of its compiles kept, which has the code around it."""
    if row.within:  # its code is torch's or Python's
        return None
    for at, compile in enumerate(compiles):
        if compile.id not in row.compile_ids or at not in reports:
            continue
        for item in reports[at].breaks:
            if (item.file, item.line, item.kind) == (row.file, row.line, row.kind):
                return item, reports[at]
    return None
