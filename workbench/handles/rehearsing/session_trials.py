"""Tries what the advice on a session may give, on copies of its calls, before it is given."""

from __future__ import annotations

import time

import torch

from workbench.analysis.session.advice import group_recompiles, list_candidates
from workbench.compiler.call_state.reachable import list_tensors
from workbench.compiler.session.session_recorder import KeptCall, SessionRecorder
from workbench.errors import UsageError
from workbench.handles.rehearsing.recompile_trials import find_backend, try_patch
from workbench.report.session.session_rows import SessionRecompile, Trial
from workbench.tasks.background_task import Steps

_MOST_S = 20.0
"""Seconds that all trials of a session may take; what is left then was not tried."""
_MOST_BYTES = 256 << 20
"""Of the tensors that a function reads, which a trial copies to put them back."""


def try_candidates(recorder: SessionRecorder) -> None:
    """Try the changes for the causes that cost most first; the rows of the session have the rest.

    A function is called again only where nothing of the world can notice: whole graphs, of one
    process, that write to no parameter and to no global tensor.
    """
    if not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
        return
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return  # a collective would wait for the others
    tables = recorder.tables()
    causes = group_recompiles(tables["compiles"], tables["recompiles"]).values()
    began = time.monotonic()
    for rows in sorted(causes, key=lambda rows: -sum(row.cost_s for row in rows)):
        calls = _find_calls(recorder, rows)
        if not calls:
            continue
        backend = find_backend(recorder, rows)
        tried: list[Trial] = []
        for patch in list_candidates(rows):
            if time.monotonic() - began > _MOST_S:
                return
            if not all(_has_names(line, calls[0]) for line in patch.before_call):
                continue
            made = try_patch(patch, rows, calls, recorder.path_of, backend, Steps(lambda: None))
            tried.append((patch.id, made.verdict, made.checked))
        recorder.note_trials([row.compile_id for row in rows], tuple(tried))


def _find_calls(recorder: SessionRecorder, rows: list[SessionRecompile]) -> list[KeptCall]:
    """The calls of a cause; none where making them again could be noticed, or none were kept."""
    written = [row.writes for row in rows]
    if any(names is None for names in written):
        return []
    own = [name for names in written for name in names or ()]
    if any("_parameters[" in name or name.startswith("G[") for name in own):
        return []
    try:
        calls = recorder.find_calls([row.compile_id for row in rows])
        function = calls[0].function(calls[0].read()[1])
    except (UsageError, IndexError):  # gone, or too large to be kept
        return []
    tensors = list_tensors(function, code=True)
    size = sum(tensor.nbytes for tensor in tensors if not tensor.is_sparse)
    return [] if size > _MOST_BYTES else calls


def _has_names(line: str, call: KeptCall) -> bool:
    """Whether what a line assigns or marks is an argument of the frame by the same name."""
    try:
        code = compile(line, "<cure>", "exec")
    except SyntaxError:
        return False
    return {name for name in code.co_names if name not in _OF_LINES} <= {
        *call.values,
        *call.objects,
    }


_OF_LINES = frozenset((
    "torch", "_dynamo", "decorators", "maybe_mark_dynamic", "mark_unbacked", "tensor", "clone",
    "contiguous", "to", "dtype", "as_tensor", "requires_grad_", "float64", "float32", "float16",
    "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128",
))  # fmt: skip
"""Names in the lines of cures that are torch's."""
