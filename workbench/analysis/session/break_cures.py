"""What a graph break costs, and what to change: of torch's hints those that can be followed."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence

from workbench.analysis.breaks.cures import Cure, find_advice, find_cures
from workbench.number_text import plural
from workbench.report import Break, Report
from workbench.report.session.session_rows import OWN_CALL, Compile, SessionBreak, find_step

_NO_ADVICE = re.compile(
    r"file an issue|report an issue|Dynamo bug|may be possible to|not yet (?:fully )?supported"
    r"|fails? in eager|fullgraph=False|^Avoid calling|dont_skip_tracing|^It may",
    re.IGNORECASE,
)
_AVOID = re.compile(r"^Avoid calling (?:the function |builtin )?`(?P<name>[\w.]+)`")
_CHECK = "keep the condition a tensor, as in `assert ~torch.isnan(x).any()`"
_BOTH = (
    "choose between both sides with torch.where, or with torch.cond where only one may be computed"
)
UNTRIED = "this was not tried: `wb.rehearse(fn, args)` tries the fixes that it knows"
"""What is said behind the advice on a break: a session has no copy of the call that it was in."""
_MESSAGES = ("print(", "logging.", "logger.", "log.", "warnings.warn(")


def describe_harm(row: SessionBreak) -> str:
    """What a break parts, in words; empty where torch did not tell."""
    if row.ops_before is None or row.ops_after is None:
        return ""
    if not row.ops_before or not row.ops_after:
        side = "after" if row.ops_before else "before"
        return f"harmless, as no operator stands {side} it"
    before, after = plural(row.ops_before, "operator"), row.ops_after
    return f"{before} before it and {after} after it are not fused with each other"


def find_code(
    row: SessionBreak, compiles: Sequence[Compile], reports: Mapping[int, Report]
) -> Cure | None:
    """The change that rehearse tries first for a break, by the report that a compile of it kept."""
    if row.within:  # its code is torch's or Python's
        return None
    for at, compile in enumerate(compiles):
        if compile.id not in row.compile_ids or at not in reports:
            continue
        for item in reports[at].breaks:
            if (item.file, item.line, item.kind) == (row.file, row.line, row.kind):
                cures = (one for one in find_cures(reports[at], item) if one.kind != "explicit")
                return next(cures, None)
    return None


def cure(row: SessionBreak, compiled: Collection[str] = (), known: Cure | None = None) -> str:
    """What takes a break away; `compiled` are functions with a graph, `known` is a change of it."""
    step = find_step(row)
    if step in compiled:
        return f"nothing to change: {step} is compiled on its own"
    if row.kind == OWN_CALL:
        return "leave the call out"
    if row.text.startswith(_MESSAGES) or "print" in row.kind:
        return "write it under `if not torch.compiler.is_compiling():`, or after the call"
    if row.kind.startswith("Data-dependent branching"):
        return _CHECK if row.text.startswith("assert") else _BOTH
    hints = [hint.rstrip(".") for hint in row.hints if not _NO_ADVICE.search(hint)]
    if plain := [hint for hint in hints if not hint.startswith("If ")]:
        return plain[0]
    return _word(known) if known is not None else _without_change(row, hints)


def _without_change(row: SessionBreak, hints: Sequence[str]) -> str:
    """What to do about a break that no change of its line is known for."""
    names = (match["name"] for hint in row.hints if (match := _AVOID.match(hint)) is not None)
    for name in names:
        if not name.startswith("_") and "._" not in name:
            return f"call {name} before or after the compiled function"
    if _is_call(row.text):
        return "move the line before or after the call of the compiled function"
    return hints[0] if hints else find_advice(_break_of(row))


def _word(known: Cure) -> str:
    """A change as the end of a sentence, with its code where that is one line."""
    title = known.text.partition(". ")[0].rstrip(".")
    title = f"{title[:1].lower()}{title[1:]}"
    code = known.code.strip()
    shown = "" if "\n" in code or not code else f": `{code}`"
    return f"{title}{shown}"


def _break_of(row: SessionBreak) -> Break:
    """A break of a session as a report has it."""
    return Break(
        "", row.file, row.line, row.function, row.text, row.kind, None, row.reason, "", row.hints,
        row.count,
    )  # fmt: skip


def _is_call(text: str) -> bool:
    """Whether a line is a call whose answer nobody takes."""
    try:
        body = ast.parse(text).body
    except SyntaxError:  # a part of a statement
        return False
    return len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Call)
