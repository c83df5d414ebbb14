"""What torch raises while compiling, as an error that names the user's line and the cure."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.recording.recorder import Recorder
from workbench.compiler.sizes import dims
from workbench.compiler.sources.dynamo_messages import (
    explain_own_error,
    explain_refused_when_lowered,
    find_frames,
    hint_failed_compile,
    parse_break_message,
)
from workbench.compiler.sources.size_symbols import (
    BRANCH,
    NUMBER,
    SizeSymbols,
    explain_data_dependence,
    find_undecided,
)
from workbench.compiler.sources.sources import Places
from workbench.errors import CaptureError, RefusedCall, describe_error

_AUTOGRAD = "trace_autograd_ops"
_TRACE_AUTOGRAD = (
    "torch captures torch.autograd.grad and backward() only on request: compile inside `with "
    "torch._dynamo.config.patch(trace_autograd_ops=True):`. Later calls and "
    "saved files do not need it."
)
_RETURNED = re.compile(r"type <class '([\w.]+)'>")
_COMPILED_FILE = re.compile(r"^\S*\+\+\S* (/[^\n]*?)/[^/\n]+\.cpp\b", re.MULTILINE)
# torch has a library written under its final name, and takes any file there as finished (2.13)
_DAMAGED = re.compile(r"(/\S+\.so): (file too short|invalid ELF header)")
_KEPT = 6  # lines of a message at either end
_EVERY_BREAK = (
    "%aot_explain or workbench.explain(fn, args) runs the function and lists every break. To try "
    "fixes on a copy, use workbench.rehearse(fn, args). To save it with its breaks on the CPU, use "
    "workbench.variants(fn, [args])."
)
_NO_GRAPH = re.compile(r"backend_input (must not be|is not) None")


def explain(error: Exception, name: str, recorder: Recorder) -> CaptureError:
    """A `CaptureError` for what a compilation of `name` raised; files as the report has them."""
    if damaged := _DAMAGED.search(str(error)):
        return CaptureError(
            f"Compiling {name} failed: {damaged[1]}, a library in torch's cache, is damaged "
            f"({damaged[2]}). A killed compilation leaves such a file: delete it and recompile."
        )
    shared, named = recorder.places.shared, recorder.sizes.named
    if own := explain_own_error(str(getattr(error, "msg", error))):
        where = "\n".join(_line(error, recorder.places))
        return RefusedCall(name, shared(named(own)), shared(where))
    lowered = explain_refused_when_lowered(str(error).strip())
    if lowered is not None and find_undecided(str(error)) is None:
        refused, file, line = lowered
        where = f"  at {recorder.places.shown(file)}:{line}"
        return RefusedCall(name, shared(named(refused)), where)
    return CaptureError(shared(_words(error, name, recorder)))


def _words(error: Exception, name: str, recorder: Recorder) -> str:
    places, sizes = recorder.places, recorder.sizes
    if isinstance(error, (tp.UNSUPPORTED.get(), tp.UNCAPTURED.get())):
        return _graph_break(error, name, places, sizes)
    words = str(error).strip() or describe_error(error)
    if reason := explain_data_dependence(words, sizes):
        return _undecided(error, name, places, reason)
    if "does not implement SerializableCallable" in words:
        kind = _RETURNED.search(words)
        return (
            f"The backend's result for {name}{f', a {kind[1]},' if kind else ''} cannot be saved: "
            "it does not implement SerializableCallable. Return an object with "
            "serialize_compile_artifacts and deserialize_compile_artifacts, or use "
            "backend='inductor', 'aot_eager' or 'eager'."
        )
    if dims.is_violated(error):
        return dims.explained(name, words, {s.place: s.line for s in sizes.fixed()})
    if "No working C++ compiler found" in words:
        return (
            f"Compiling {name} failed: torch found no C++ compiler. Install g++, or name one in "
            "CXX before torch is imported."
        )
    if _NO_GRAPH.search(words):
        return (
            f"{name} computes no tensor, so there is nothing to compile. Call it in eager, or "
            "compile a function that returns or changes a tensor."
        )
    if "expected OutputCode, got" in words:
        return (
            f"torch {torch.__version__} cannot store this backend's result for {name}. Compile "
            "with backend='inductor' or 'eager', or use torch 2.12 or newer."
        )
    if "parametrize.Parametrized" in words:
        return (
            f"{name} has a parametrized part (torch.nn.utils.parametrize, weight_norm), whose "
            "class is created at run time, and this backend saves that class. Compile with "
            "backend='inductor', which does not save it."
        )
    if spaced := _folder_with_space(words):
        return (
            f"Compiling {name} failed: torch does not quote its cache folder {spaced!r}, which has "
            "a space, in the C++ compiler command. Set TORCHINDUCTOR_CACHE_DIR (or TMPDIR, which "
            "contains it) to another folder before the first compilation."
        )
    return _other(error, words, name, recorder)


def _other(error: Exception, words: str, name: str, recorder: Recorder) -> str:
    """What nobody foresaw."""
    named = recorder.sizes.named
    return (
        f"Compiling {name} failed: {named(_excerpt(_said(error, words)))}\nerror.report has "
        "every step up to that point. Compile with backend='eager' to see whether the capture or "
        "the code generation fails."
    )


def _said(error: Exception, words: str) -> str:
    """The class of what failed, and its words; of a C++ compiler the error without its command."""
    if "C++ compile error" in words or not str(error).strip():
        return describe_error(error.__cause__ or error)
    return f"{type(error.__cause__ or error).__name__}: {words}"


def _folder_with_space(words: str) -> str | None:
    """The folder of a file that the C++ compiler was given in several words, or None."""
    match = _COMPILED_FILE.search(words) if "C++ compile error" in words else None
    return match[1] if match is not None and " " in match[1] else None


def _excerpt(words: str) -> str:
    """The lines of a long message that say what is wrong: its beginning and its end.

    Triton puts the source between the place and the reason, which follows the line with a caret.
    """
    lines = [line for line in words.splitlines() if line.strip()]
    carets = [n for n, line in enumerate(lines) if line.strip() == "^"]
    if carets and carets[0] > 1:
        n = carets[0]
        return "\n".join([lines[0], *lines[n - 1 : n + 1], *lines[n + 1 : n + 1 + _KEPT]])
    if len(lines) <= 2 * _KEPT:
        return "\n".join(lines)
    return "\n".join([*lines[:_KEPT], "…", *lines[-_KEPT:]])


def _line(error: Any, places: Places) -> list[str]:
    """The user's own line, then the one inside a library that it led to."""
    stack = list(getattr(error, "real_stack", None) or [])
    if stack:
        return _lines(stack, places)
    cause = error.__cause__
    frames = traceback.extract_tb(cause.__traceback__) if cause else []
    return [f"  at {places.shown(frames[-1].filename)}:{frames[-1].lineno}"] if frames else []


def _lines(stack: Sequence[Any], places: Places) -> list[str]:
    own = [frame for frame in stack if places.is_own(frame.filename)]
    return list(dict.fromkeys(_at(frame, places) for frame in (*own[-1:], stack[-1])))


def _at(frame: Any, places: Places) -> str:
    place = f"{places.shown(frame.filename)}:{frame.lineno}"
    return f'  at {place} in {frame.name}: "{(frame.line or "").strip()}"'


def _undecided(error: Any, name: str, places: Places, reason: str) -> str:
    """What depends on data: a decision or a number that is known only at run time."""
    message = str(error)
    undecided = find_undecided(message)
    assert undecided is not None
    _, cure = NUMBER if undecided[1] else BRANCH
    cure = next(hint_failed_compile(message), cure)
    frames = getattr(error, "real_stack", None) or find_frames(message)
    lines = _lines(frames, places) if frames else []
    head = f"{name} cannot be captured in one graph: it depends on data."
    why = [f"  Reason: {reason}.", f"  Cure: {cure.rstrip('.')}."]
    return "\n".join([head, *lines, *why, _EVERY_BREAK])


def _graph_break(error: Any, name: str, places: Places, sizes: SizeSymbols) -> str:
    parts = parse_break_message(str(getattr(error, "msg", error)))
    lines = [f"{name} cannot be captured in one graph: {parts.kind or 'unsupported code'}."]
    lines += _line(error, places)
    lines += [f"  Explanation: {sizes.named(parts.explanation)}"] if parts.explanation else []
    for hint in parts.hints:
        is_switch = _AUTOGRAD in hint
        lines.append(f"  Cure: {_TRACE_AUTOGRAD}" if is_switch else f"  Hint: {hint}")
    lines.append(_EVERY_BREAK)
    return "\n".join(lines)
