"""What a session says first when nothing of its program was compiled."""

from __future__ import annotations

from workbench.analysis.session.break_cures import UNTRIED, cure, find_code
from workbench.report.session.session_record import Session, has_run_nothing
from workbench.report.session.session_rows import NO_GENERATOR, Compile, place

_NEVER = (
    "no function that torch.compile returned was called: call what it returns, which is another "
    "function than the one that it is given; `compile()` of nn.Sequential and of other modules of "
    "torch.nn compiles nothing, `model = torch.compile(model)` does; look also for "
    "TORCH_COMPILE_DISABLE and torch.compiler.set_stance"
)
CURE_OF_GENERATOR = (
    "return its values as a list, or compile the functions that it calls in place of it"
)
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
            "its code fixes a size that is marked as dynamic, or not every input that shares the "
            "size is marked: torch._dynamo.maybe_mark_dynamic marks it where it can be"
        )
    return "mend that"


def _is_failed(row: Compile) -> bool:
    """Whether a compile ended with an error, or before its first operator for one of the code's."""
    is_own = row.outcome == "no graph" and row.kind == "first" and row.why != ""
    return is_own or row.outcome in ("error", "skipped", "interrupted")


def _why(session: Session) -> str:
    rows: list[Compile] = list(session.tables["compiles"])
    failed = next((row for row in rows if _is_failed(row)), None)
    if failed is not None:
        is_eager = failed.outcome in ("skipped", "no graph")
        how = "it runs eagerly" if is_eager else "the program went on without"
        why = failed.why.rstrip(".") or failed.outcome
        what_to_do = find_cure_of_failure(failed)
        return f"the compile of {failed.function} failed ({why}), and {how}: {what_to_do}"
    breaks = session.tables["breaks"]
    if any(_DDP in hint for hints in breaks.columns["hints"] for hint in hints):
        return (
            "torch compiles nothing of DistributedDataParallel around a module of torch.nn: "
            "compile the module first, `DistributedDataParallel(torch.compile(model))`"
        )
    if left := session.header.left_alone:
        return (
            f"compile() of {' and '.join(left)} asks torch to compile its own frames, which it "
            "leaves out: write `model = torch.compile(model)`, before DistributedDataParallel "
            "where there is one"
        )
    if len(breaks):
        row = breaks[0]
        return (
            f"{row.function} breaks before its first operator ({place(row.file, row.line)}: "
            f"{row.kind}): {cure(row, (), find_code(row, rows, session.reports))}; {UNTRIED}"
        )
    if rows:
        names = ", ".join(dict.fromkeys(row.function for row in rows))
        return (
            f"what was compiled holds no operator on tensors in its first call ({names}), and "
            "torch leaves it alone since: call it first with what computes, or compile what does"
        )
    return _explain_eager(session) or _NEVER


def _explain_eager(session: Session) -> str:
    """What was called and is run without being compiled; empty where nothing is."""
    for row in session.tables["fallbacks"]:
        todo = CURE_OF_GENERATOR if row.why == NO_GENERATOR else "mend that"
        at = f" ({place(row.file, row.line)})" if row.file else ""
        return f"{row.function}{at} runs eagerly, as {row.why.rstrip('.')}: {todo}"
    return ""
