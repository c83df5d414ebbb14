"""Lets go of what the frames of a failed compilation hold, before a collection does it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType

import torch

from workbench.compiler.internals import torch_private as tp

_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


def release_frames(error: BaseException) -> None:
    """Empty torch's frames in the tracebacks of an error and of its causes.

    torch's `_tensor_str._str` (2.11 to 2.15) keeps a guard of functorch in a local name, and so in
    the traceback where writing a tensor raises, as it does inside vmap and jvp. The guard puts back
    the dispatch state of that moment whenever it is freed: minutes later, by a collection of
    cycles, `torch.func.jvp`, `grad` and `vmap` end in an internal assertion from then on. The
    user's own frames stay as they are, for a debugger.
    """
    with tp.PRESERVE_DISPATCH_KEYS.get()():
        for trace in _tracebacks(error):
            if trace.tb_frame.f_code.co_filename.startswith(_TORCH):
                _clear(trace)


def _tracebacks(error: BaseException) -> Iterator[TracebackType]:
    """Each traceback entry of an error, its causes and its contexts, once."""
    pending, seen = [error], set[int]()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        trace = one.__traceback__
        while trace is not None:
            yield trace
            trace = trace.tb_next
        pending += [each for each in (one.__cause__, one.__context__) if each is not None]


def _clear(trace: TracebackType) -> None:
    try:
        trace.tb_frame.clear()
    except RuntimeError:  # it still runs, and will let go of its own when it ends
        return
