"""What torch.export refuses, as an error with the user's line, the reason and the cure."""

from __future__ import annotations

import contextlib
import logging
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import hold_messages, hold_torch_warnings
from workbench.compiler.sizes import dims
from workbench.compiler.sources.size_symbols import (
    BRANCH,
    NUMBER,
    SizeSymbols,
    explain_data_dependence,
    in_words,
)
from workbench.compiler.sources.sources import Places
from workbench.errors import CaptureError, UsageError, WorkbenchError, describe_error

_OURS = str(Path(__file__).parents[2])
_SHOWN = 2  # lines of decisions about sizes that are spelled out
_NOISE = re.compile(
    r"(?: For more information, run with TORCH_LOGS=\S+|\n\nThe error above occurred when calling.*"
    r"|For more information about this error, see: \S+)",
    re.DOTALL,
)
_NUMPY = "use torch operators instead of NumPy"
_UNKNOWN = re.compile(r"(?:Found|Unsupported input type) <class '(.+?)'>")
_NO_PYTREE = "a {} is part of the {}, and torch.export does not know which tensors are in it"
_PYTREE = (
    "register a dataclass with torch.export.register_dataclass(TheClass) before packaging, another "
    "class with torch.utils._pytree.register_pytree_node(TheClass, flatten, unflatten), or use a "
    "tuple, list or dict instead"
)
_OTHER = (
    "call the model itself with the same inputs; if that works, rewrite the line with torch "
    "operators, or make it a torch.library.custom_op"
)
_NO_FIX = (
    "use Dim.AUTO there, which keeps the dimension as dynamic as the code allows, or change the "
    "code"
)
_UNFUNCTIONAL = ("mutating a non-functional tensor", "to have an entirely functional graph")
_ORIGINAL = re.compile(r'File "([^"]+)", line (\d+), in ')
_OF_CONSTANT = (
    "the line writes in place to a copy of a tensor that is not a buffer of the model, which "
    "AOTInductor cannot compile",
    "make it a buffer, self.register_buffer('name', tensor), and copy that; or compute a new "
    "tensor instead of writing, such as x = x * 3",
)


def explain_export(
    error: Exception, title: str, sizes: SizeSymbols, guarded: Sequence[str] = ()
) -> WorkbenchError:
    """The error for whatever torch.export raised.

    `sizes` say what torch's symbols stand for, `guarded` are the lines at which it took decisions
    about declared sizes.
    """
    words = _NOISE.sub("", str(error)).strip() or type(error).__name__
    lines = find_lines(traceback.extract_tb(error.__traceback__))
    if isinstance(error, tp.DATA_DEPENDENT.get()):
        _, cure = NUMBER if words.startswith("Could not extract") else BRANCH
        return CaptureError(
            explain_refusal(title, lines, explain_data_dependence(words, sizes) or words, cure)
        )
    if dims.is_violated(error):
        return CaptureError(_violated(title, words, sizes, guarded))
    if isinstance(error, tp.CONSTRAINT_VIOLATION.get()):
        return UsageError(f"The example inputs do not fit dynamic_shapes: {in_words(words)}.")
    if isinstance(error, tp.USER_ERROR.get()):
        return UsageError(f"torch.export refuses the request for {title}: {in_words(words)}")
    if unknown := _UNKNOWN.search(words):
        kind = unknown[1].replace("__main__.", "")
        where = "output" if "in output" in words else "input"
        return CaptureError(explain_refusal(title, lines, _NO_PYTREE.format(kind, where), _PYTREE))
    cause = f"{type(error).__name__}: {sizes.named(_first_lines(words))}"
    cure = _NUMPY if ".numpy()" in words else _OTHER
    return CaptureError(explain_refusal(title, lines, cause, cure))


def explain_compile(error: Exception, title: str) -> CaptureError:
    """The error for whatever AOTInductor raised on a program that was captured."""
    if any(text in str(error) for text in _UNFUNCTIONAL):
        places = _ORIGINAL.findall(str(error))
        return CaptureError(
            explain_refusal(title, [f"{file}:{line}" for file, line in places[-1:]], *_OF_CONSTANT)
        )
    cause = error.__cause__ or error
    words = _first_lines(describe_error(cause), most=6)
    return CaptureError(
        f"{title} was captured, but AOTInductor cannot compile it: {words}\n  error.report has "
        "every step up to that point. If wb.aot_compile compiles the call, save that instead. "
        "Otherwise rewrite the line, or leave it out of the packaged model."
    )


def explain_refusal(title: str, lines: list[str], reason: str, cure: str) -> str:
    """The message of a refused export."""
    places = [f"  at {line}" for line in lines] or ["  (torch reports no line of your code for it)"]
    parts = [f"{title} cannot be exported.", *places, f"  Reason: {reason}.", f"  Cure: {cure}."]
    return "\n".join(parts)


def find_lines(stack: traceback.StackSummary) -> list[str]:
    """The innermost line outside of torch, then the innermost one of the user's own files."""
    places = Places()
    frames = [
        frame
        for frame in stack
        if places.is_user(frame.filename)
        and not frame.filename.startswith((_OURS, "<string>", "<frozen"))
    ]
    mine = [frame for frame in frames if "site-packages" not in frame.filename]
    lines = (
        f'{frame.filename}:{frame.lineno} in {frame.name}: "{(frame.line or "").strip()}"'
        for frame in (*frames[-1:], *mine[-1:])
    )
    return list(dict.fromkeys(lines))


def _violated(title: str, words: str, sizes: SizeSymbols, guarded: Sequence[str]) -> str:
    """Torch's text about a declared range that does not hold: conditions and suggested fixes."""
    head, _, fixes = words.partition("Suggested fixes:")
    places = [f"  at {line}" for line in guarded[:_SHOWN]]
    suggested = [line.strip() for line in fixes.splitlines() if line.strip()]
    cure = f"declare {'; '.join(suggested)}" if suggested else _NO_FIX
    if any(re.search(r"= [01]$", line) for line in suggested):
        cure = "use an example input of size 2 or more there: torch specializes 0 and 1"
    conditions = dims.list_conditions(head, {size.place: size.line for size in sizes.fixed()})
    return "\n".join([f"{dims.HEAD}{title}:", *conditions, *places, f"  Cure: {cure}."])


def _first_lines(words: str, most: int = 4) -> str:
    return "\n    ".join([line for line in words.splitlines() if line.strip()][:most]).rstrip(".")


@contextlib.contextmanager
def hold_torch_log() -> Iterator[None]:
    """Hold back what torch logs of a size without a line: the error names the line."""
    log = logging.getLogger(tp.DATA_DEPENDENT.module)
    with (
        hold_messages(log, "Unable to find user code"),
        hold_torch_warnings(),  # the error says it
        contextlib.redirect_stderr(_WithoutGraphs(sys.stderr)),
    ):
        yield


class _WithoutGraphs:
    """A stream that leaves out the half-built graphs that torch prints before it raises."""

    def __init__(self, stream: Any):
        self._stream = stream
        self._ends = False  # print writes the end of the line on its own

    def write(self, text: str) -> int:
        """Write what is no graph."""
        is_graph = "def forward(self, arg" in text and "torch.ops." in text
        left_out = is_graph or (self._ends and text == "\n")
        self._ends = is_graph
        return len(text) if left_out else int(self._stream.write(text) or 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
