"""Dynamo's messages about graph breaks, refused inputs and guards: in parts, in plain words."""

from __future__ import annotations

import ast
import os
import re
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from workbench.compiler.sources.size_symbols import BRANCH, NUMBER, find_undecided
from workbench.errors import describe_error
from workbench.plain_data import parse_json

RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d+)$")
ANOTHER = "*** While handling this graph break, another graph break occurred: ***"
IN_LOOP = "graph break in loop"
OWN_CALL = "Call to `torch._dynamo.graph_break()`"
"""The kind of a break that a program asks for."""
DATA_DECISION, DATA_NUMBER = "Decision by data", "Number from data"
"""The kinds of a failure where a branch, or a number, depends on the values of a tensor."""
_URL = re.compile(r"gb(\d{4})\.html")
_IDLE_HINT = re.compile(
    r"(?:report|file|open) an issue|fullgraph=False|may result in an error when running in eager"
)
_OTHER_HINTS = {
    "compiled_autograd": (
        "Remove the backward hook from the compiled module; register it on your own module that "
        "calls the compiled one."
    ),
    "move sparse tensor creation": (
        "Compile the code before and after the sparse tensor as functions of dense tensors."
    ),
}
_WRAPPED = "Got graph break/error:"  # of torch.cond and its like, before the reason itself
_COMMENT = "  # "  # before the line of code that a guard came from, whose file torch cuts short
_SCRIPT = "`_CachedForward.__get__`"  # how Dynamo sees the call of a module of torch.jit
_OF_SCRIPT = (
    "It calls a module from torch.jit.trace or torch.jit.script, which has no Python to trace.\n  "
    "Hint: Call the eager module that the script was made from.\n  Hint: wb.package takes modules "
    "that call TorchScript."
)
_LOCK = "enter a `lock` context manager"
_OF_LOCK = (
    "It acquires a lock, which Dynamo cannot capture.\n  Hint: If only the first call acquires the "
    "lock (as in transformers models that install hooks), call the function once before compiling "
    "it.\n  Hint: Otherwise acquire the lock around the call of the compiled function."
)
_BACKWARD = "tracing `Tensor.backward()`"
_OF_BACKWARD = (
    "backward() is called inside the compiled function.\n  Hint: Return the loss, and call "
    ".backward() on the compiled function's result; its backward pass is compiled too.\n  Hint: To "
    "capture the call itself, set torch._dynamo.config.trace_autograd_ops."
)
_OPTIMIZER = re.compile(r"`Optimizer\.\w+`|torch/optim/|\bzero_grad\b")
_OF_OPTIMIZER = (
    "The optimizer is called inside the compiled function.\n  Hint: Compile the function that "
    "returns the loss. Call zero_grad(), backward() and step() outside."
)
_STACK = "\nUser stack trace:"
_RAISED = re.compile(
    r"with fake tensors: call_\w+ (.+?)\(\*\((.*)\), \*\*\{.*\}\): got (\w+)\((['\"])(.*?)\4\)",
    re.DOTALL,
)
_OPERATOR = re.compile(r"<(?:built-in )?(?:function|method) ([\w.]+)|([\w.]+)")
_TENSOR = re.compile(r"FakeTensor\(.*?size=\(([^)]*)\)(?:, dtype=torch\.(\w+))?")
_TENSORS = 4  # that are written out
_CONTEXT = r"Developer debug context: (?:{})"
_EXCEPTION = re.compile(
    _CONTEXT.format(r"raised exception (?P<kind>\w+)\((?P<text>.*?)\)\s*(?:\n|$)"), re.DOTALL
)
_MISUSED = re.compile(
    _CONTEXT.format(r"TypeError <[^>]*?(?P<name>\w+)(?: of [^>]*)?>: (?P<text>.+)")
)
_DEVICES = re.compile(r"found at least two devices, (?P<devices>.+?)!")
_CALLED = re.compile(_CONTEXT.format(r"call_\w+ <[^>]*?(?P<name>\w+)(?: of [^>]*)?>"))
_NO_NAME = re.compile(r"Failed to find name `(?P<name>\w+)`")
_NOT_HELD = re.compile(
    r"^Data-dependent (?:assertion failed|branching).*"
    + _CONTEXT.format(r"(?:value:|attempted to jump with) ConstantVariable\(bool: False\)"),
    re.DOTALL,
)
_LOWERED = re.compile(
    r"^(?P<text>[^\n]+)\s+While executing %\S+ : .*?target=(?P<target>[\w.]+)\]", re.DOTALL
)
_FRAME = re.compile(
    r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>\S+)$', re.MULTILINE
)
_NO_KERNEL = re.compile(r"could not find kernel for ([\w.:]+) at dispatch key")
_BACKEND = "Backend compiler exception"
_WHERE = re.compile(r"While executing %\S+ : .*?target=(?P<target>[\w.]+)\]")
# AOTAutograd reads a number out of a tensor; the second where Dynamo captures such numbers
_NUMBER_FROM = re.compile(r"aten\._local_scalar_dense|Could not extract specialized integer")
_INDEXED = {"setitem": "a write at an index", "getitem": "a read at an index"}
_AS_INDEX = (
    "Index with a one-element tensor: read with `value[:, at.view(1)]` and `.squeeze(1)`, write "
    "with `value.index_copy_(1, at.view(1), new.unsqueeze(1))`."
)
_IDENTITY = re.compile(r"\b\d{9,}\b")
_TEXTS = re.compile(
    r"""(?P<key>(?<=[\w\])])\[)?(?P<text>b?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))"""
)
"""A text as Python writes it; `key` is there where it is the key of an item."""
_SHORT = 3  # letters: such texts are in the environment by chance


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
    elif _OPTIMIZER.search(rest.partition("\n  Developer debug context: ")[0]):
        rest = _OF_OPTIMIZER
    url = _URL.search(message)
    body, _, context = rest.partition("\n  Developer debug context: ")
    explanation, *hints = re.split(r"\n\s*Hint: ", body)
    context = context.partition("\n\n For more details")[0].strip()
    kind = head.partition("\n")[0].strip()
    if missing := find_missing_kernel(message):
        explanation, hints, context = missing, [], ""
    elif refused := explain_refused_inputs(message):
        explanation, hints, context = f"During tracing, {refused}.", [], ""
    return BreakMessage(
        kind=kind,
        reason=f"{kind}: {_flat(context)}" if context else kind,
        explanation=_flat(explanation),
        hints=list(choose_hints(hints)),
        gb_id=f"GB{url[1]}" if url else None,
    )


def parse_data_break(condition: str, is_number: bool) -> BreakMessage:
    """The parts for a condition on data, as torch writes it, or for a number that it computes."""
    (reason, cure), verb = (NUMBER, "asked for") if is_number else (BRANCH, "cannot tell whether")
    kind = DATA_NUMBER if is_number else DATA_DECISION
    return BreakMessage(kind, f"{kind}: torch {verb} {condition}", f"{reason}.", [cure], None)


def strip_foreign_words(message: str) -> str:
    """A message without what torch.cond and its like put before the reason."""
    return message.rpartition(_WRAPPED)[2]


def choose_hints(hints: Iterable[str]) -> Iterator[str]:
    """Torch's hints without those that help nobody here; what replaces one, in its place.

    Reports to PyTorch take no break away, an option fullgraph=False is not one of the workbench,
    and with compiled autograd switched on torch 2.13 captures no module with a backward hook.
    """
    for hint in map(_flat, hints):
        other = next((text for mark, text in _OTHER_HINTS.items() if mark in hint), None)
        if other is not None:
            yield other
        elif hint and not _IDLE_HINT.search(hint):
            yield hint


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


def explain_refused_inputs(message: str) -> str | None:
    """What an operator refuses and why, in one sentence; None for any other message.

    `linear does not take tensors of shapes [2, 7] and [4, 8]: a and b must have same …`.
    """
    match = _RAISED.search(message)
    if match is None or _NO_KERNEL.search(message):
        return None
    operator, inputs, kind, _, reason = match.groups()
    names = _OPERATOR.match(operator)
    shapes = [
        f"[{size.rstrip(',')}]{f' of {dtype}' if dtype else ''}"
        for size, dtype in _TENSOR.findall(inputs)
    ]
    cause = reason.strip().rstrip(".")
    cause = cause if kind == "RuntimeError" else f"{kind}: {cause}"
    return (
        f"{names[1] or names[2] if names else operator} does not take {_tensors(shapes)}: {cause}"
    )


def explain_own_error(message: str) -> str | None:
    """What the program itself does wrong, whatever Dynamo calls it; None for a graph break.

    An operator that refuses what it is given, tensors of several devices, a name that is not
    there, an assertion that does not hold, an exception that leaves what is compiled.
    """
    if find_missing_kernel(message) is not None:  # torch's own gap
        return None
    if refused := explain_refused_inputs(message):
        return refused
    if "when making fake tensor call" in message and (match := _MISUSED.search(message)):
        return f"{match['name']} does not take these arguments: {_said(match['text'])}"
    if message.startswith("Tensor device mismatch") and (match := _DEVICES.search(message)):
        operator = _CALLED.search(message)
        name = operator["name"] if operator else "an operator"
        return f"{name} needs tensors on one device, not on {match['devices']}"
    if match := _NO_NAME.search(message):
        return f"it raises NameError: name {match['name']!r} is not defined"
    if _NOT_HELD.search(message):
        return "it raises AssertionError: its assertion fails"
    if message.startswith("Observed exception") and (match := _EXCEPTION.search(message)):
        text = _said(match["text"])
        return f"it raises {match['kind']}{f': {text}' if text else ''}"
    return None


def explain_refused_when_lowered(message: str) -> tuple[str, str, int] | None:
    """What an operator refuses of a graph that was captured, with the file and line of its call."""
    match, frames = _LOWERED.match(message), list(_FRAME.finditer(message))
    if match is None or not frames:
        return None
    name = match["target"].rpartition(".")[2]
    return f"{name}: {_said(match['text'])}", frames[-1]["file"], int(frames[-1]["line"])


def find_frames(message: str) -> list[traceback.FrameSummary]:
    """The frames of the traceback that torch.fx puts under a failure in a captured graph."""
    _, mark, trace = message.partition("Original traceback:")
    return [
        traceback.FrameSummary(frame["file"], int(frame["line"]), frame["name"], lookup_line=False)
        for frame in _FRAME.finditer(trace if mark else "")
    ]


def explain_failed_compile(error: BaseException) -> str:
    """Why torch cannot compile what runs without it, as a sentence without its full stop."""
    message = str(getattr(error, "msg", error)).strip()
    if raised := _RAISED.search(message):
        operator, _, kind, _, reason = raised.groups()
        names = _OPERATOR.match(operator)
        name = names[1] or names[2] if names else operator
        return (
            f"{name} runs in eager but fails under the compiler ({kind}): {_flat(reason)}".rstrip(
                "."
            )
        )
    if _NUMBER_FROM.search(message):
        where = _WHERE.search(message)
        name = where["target"].rpartition(".")[2] if where else "an operator"
        return (
            f"{_INDEXED[name]} needs the value of a tensor, which the compiler does not have"
            if name in _INDEXED
            else f"{name} needs the value of a tensor, which the compiler does not have"
        )
    return describe_error(error.__cause__ or error).partition("\n")[0].rstrip(". ")


def hint_failed_compile(message: str) -> Iterator[str]:
    """What to write in place of a line that the compiler behind Dynamo refuses."""
    where = _WHERE.search(message)
    if _NUMBER_FROM.search(message) and where and where["target"].rpartition(".")[2] in _INDEXED:
        yield _AS_INDEX


def _said(text: str) -> str:
    """What an exception says, from its arguments as Python writes them."""
    with suppress(SyntaxError, ValueError):  # several arguments, or one that is no constant
        text = str(ast.literal_eval(text))
    return _flat(text).rstrip(".")


def find_missing_kernel(message: str) -> str | None:
    """The operator of which this build of torch knows no result, what to do; else None."""
    match = _NO_KERNEL.search(message)
    if match is None:
        return None
    return (
        f"This torch build has neither a kernel nor a fake implementation of {match[1]}, which a "
        "virtual GPU needs. Compile for the host, or on a machine with the GPU, or use other "
        "operators."
    )


def _tensors(shapes: list[str]) -> str:
    if not shapes:
        return "its arguments"
    if len(shapes) == 1:
        return f"a tensor of shape {shapes[0]}"
    if len(shapes) > _TENSORS:
        shapes = [*shapes[:_TENSORS], f"{len(shapes) - _TENSORS} more"]
    return f"tensors of shapes {', '.join(shapes[:-1])} and {shapes[-1]}"


class GuardTexts:
    """Writes checks as Python, without object identities, which change, and secrets.

    Values of the environment may be such, and a record is handed on. They are looked up once for
    many guards.
    """

    def __init__(self) -> None:
        self._hidden = {repr(value) for value in os.environ.values() if len(value) > _SHORT}

    def of(self, parts: Iterable[str] | None) -> tuple[str, ...]:
        """The parts of one guard that say something, each once."""
        texts = [
            _IDENTITY.sub("<id>", str(part).partition("#")[0].rstrip()) for part in parts or ()
        ]
        return tuple(dict.fromkeys(map(self._strip, filter(None, texts))))

    def _strip(self, text: str) -> str:
        """Without what is compared there where it is of the environment."""
        if not any(value in text for value in self._hidden):
            return text

        def hidden(match: re.Match[str]) -> str:
            is_known = match["text"].removeprefix("b") in self._hidden and not match["key"]
            return "<of the environment>" if is_known else match[0]

        return _TEXTS.sub(hidden, text)
