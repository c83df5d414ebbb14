"""What a graph break costs, and what to change: of torch's hints those that can be followed."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from workbench.number_text import plural
from workbench.report.session.own_breaks import OWN_CALL, find_step
from workbench.report.session.session_rows import SessionBreak

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


def cure(row: SessionBreak, compiled: Collection[str] = ()) -> str:
    """What takes a break away, as far as that is known; `compiled` are functions with a graph."""
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
    names = (match["name"] for hint in row.hints if (match := _AVOID.match(hint)) is not None)
    for name in names:
        if not name.startswith("_") and "._" not in name:
            return f"call {name} before or after the compiled function"
    if _is_call(row.text):
        return "move the line before or after the call of the compiled function"
    if hints:
        return hints[0]
    return "no change is known that takes it away; its report has all that torch says of it"


def _is_call(text: str) -> bool:
    """Whether a line is a call whose answer nobody takes."""
    try:
        body = ast.parse(text).body
    except SyntaxError:  # a part of a statement
        return False
    return len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Call)
