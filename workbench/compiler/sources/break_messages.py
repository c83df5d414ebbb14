"""The texts of Dynamo's messages about graph breaks and recompilations, split into parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.compiler.sources.refused_inputs import explain_refused_inputs, find_missing_kernel
from workbench.compiler.sources.size_symbols import BRANCH, NUMBER, find_undecided
from workbench.plain_data import parse_json

RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d+)$")
ANOTHER = "*** While handling this graph break, another graph break occurred: ***"
IN_LOOP = "graph break in loop"
LOOP_HINT = "It is in a loop, so the whole function runs without being compiled."
_URL = re.compile(r"gb(\d{4})\.html")
_WRAPPED = "Got graph break/error:"  # of torch.cond and its like, before the reason itself
_COMMENT = "  # "  # before the line of code that a guard came from, whose file torch cuts short
_SCRIPT = "`_CachedForward.__get__`"  # how Dynamo sees the call of a module of torch.jit
_OF_SCRIPT = (
    "A module that torch.jit.trace or torch.jit.script made is called: it has no Python to trace."
    "\n  Hint: Call the eager module that the script was made from."
    "\n  Hint: wb.package takes modules that call TorchScript."
)
_LOCK = "enter a `lock` context manager"
_OF_LOCK = (
    "A lock is taken, and Dynamo captures none."
    "\n  Hint: If only the first call takes it, as in models of transformers, which install hooks "
    "then, call the function once before it is compiled."
    "\n  Hint: Otherwise take the lock around the call of what is compiled."
)
_BACKWARD = "tracing `Tensor.backward()`"
_OF_BACKWARD = (
    "backward() is called inside of what is compiled."
    "\n  Hint: Compile the loss; its backward comes along: return the loss, and call .backward() "
    "on what the compiled function returns."
    "\n  Hint: To capture the call itself, set torch._dynamo.config.trace_autograd_ops."
)
_CALL_IT = "Call it without compiling to see the same error, and mend that."
_STACK = "\nUser stack trace:"


@dataclass
class BreakMessage:
    """A message about a break, in parts; `gb_id` names its kind in torch's registry."""

    kind: str
    reason: str
    explanation: str
    hints: list[str]
    gb_id: str | None


def parse_break_message(message: str) -> BreakMessage:
    """The parts of Dynamo's message about a break."""
    if condition := find_undecided(message):
        return parse_data_break(*condition)
    head, _, rest = strip_foreign_words(message).strip().partition("\n  Explanation: ")
    if _SCRIPT in rest:
        rest = _OF_SCRIPT
    elif _LOCK in rest:
        rest = _OF_LOCK
    elif _BACKWARD in rest:
        rest = _OF_BACKWARD
    url = _URL.search(message)
    body, _, context = rest.partition("\n  Developer debug context: ")
    explanation, *hints = re.split(r"\n\s*Hint: ", body)
    context = context.partition("\n\n For more details")[0].strip()
    kind = head.partition("\n")[0].strip()
    if missing := find_missing_kernel(message):
        explanation, hints, context = missing, [], ""
    elif refused := explain_refused_inputs(message):
        explanation, hints, context = f"{refused}. {_CALL_IT}", [], ""
    return BreakMessage(
        kind=kind,
        reason=f"{kind}: {_flat(context)}" if context else kind,
        explanation=_flat(explanation),
        hints=[_flat(hint) for hint in hints if hint.strip()],
        gb_id=f"GB{url[1]}" if url else None,
    )


def parse_data_break(condition: str, is_number: bool) -> BreakMessage:
    """The parts for a condition on data, as torch writes it, or for a number that it computes."""
    (reason, cure), asked = (NUMBER, "asked for") if is_number else (BRANCH, "cannot tell whether")
    kind = "Number from data" if is_number else "Decision by data"
    return BreakMessage(kind, f"{kind}: torch {asked} {condition}", f"{reason}.", [cure], None)


def strip_foreign_words(message: str) -> str:
    """A message without what torch.cond and its like put before the reason."""
    return message.rpartition(_WRAPPED)[2]


def _flat(text: str) -> str:
    return " ".join(text.split())


def recompile_reasons(payload: str) -> Iterator[str]:
    """The reasons in a record that is JSON or a bare string, whatever it says that it is."""
    try:
        value = parse_json(payload)
    except ValueError:
        value = payload
    for reason in value if isinstance(value, list) else [value]:
        yield str(reason)


def strip_reason(reason: str) -> str:
    """The guard that failed, in one line, without the stack that torch adds."""
    return _flat(reason.partition(_STACK)[0].partition(_COMMENT)[0])
