"""What a graph break costs, and what to change: of torch's hints those that can be followed."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable

from workbench.number_text import plural
from workbench.report.session.session_rows import SessionBreak

_NO_ADVICE = re.compile(
    r"file an issue|report an issue|Dynamo bug|may be possible to|not yet (?:fully )?supported"
    r"|fails? in eager|fullgraph=False|^Avoid calling|dont_skip_tracing|^It may",
    re.IGNORECASE,
)
_AVOID = re.compile(r"^Avoid calling (?:the function |builtin )?`(?P<name>[\w.]+)`")
_STEP = re.compile(r"`(?P<name>\w+\.step)`")
_MESSAGES = ("print(", "logging.", "logger.", "log.", "warnings.warn(")
_OWN_CALL = "Call to `torch._dynamo.graph_break()`"
_OF_TORCH = ("site-packages/torch/", "python/")


def is_no_matter(row: SessionBreak, compiled: Collection[str]) -> bool:
    """Whether a break is none of the program's: in code of torch or Python, and parts no graph.

    So are the one that torch.optim makes on purpose, and a step that is called from what a
    scheduler put around it and compiled on its own; `compiled` are the functions that have a graph.
    """
    place = (row.within or row.file).replace("\\", "/")
    if not any(part in place for part in _OF_TORCH):
        return False
    is_empty = not row.ops_before and not row.ops_after
    step = next((match["name"] for hint in row.hints if (match := _STEP.search(hint))), "")
    return row.kind == _OWN_CALL or step in compiled or (is_empty and row.ops_before is not None)


def is_seen_twice(row: SessionBreak, rows: Iterable[SessionBreak]) -> bool:
    """Whether a break of torch's own call is met again in the line of the user's that led to it."""
    if row.kind != _OWN_CALL or "graph_break" in row.text:
        return False
    place = (row.file, row.line, row.kind)
    return any(
        place == (other.file, other.line, other.kind) and is_no_matter(other, ())
        for other in rows
        if other.within
    )


def harm(row: SessionBreak) -> str:
    """What a break parts, in words; empty where torch did not tell."""
    if row.ops_before is None or row.ops_after is None:
        return ""
    if not row.ops_before or not row.ops_after:
        side = "after" if row.ops_before else "before"
        return f"harmless, as no operator stands {side} it"
    before, after = plural(row.ops_before, "operator"), row.ops_after
    return f"{before} before it and {after} after it are not fused with each other"


def cure(row: SessionBreak) -> str:
    """What takes a break away, as far as that is known."""
    if row.kind == _OWN_CALL:
        return "leave the call out"
    if row.text.startswith(_MESSAGES) or "print" in row.kind:
        return "write it under `if not torch.compiler.is_compiling():`, or after the call"
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
