"""What a failed compilation leaves: frames that hold tensors, and lines that torch logs.

Frames let go of what they hold before a collection does it. torch prints twenty lines in red, such
as "Error while creating guard", before it raises the same: they are held back, since our error says
it and has torch's within.
"""

from __future__ import annotations

import gc
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

import torch

from workbench.compiler.internals import torch_private as tp

_OF_FUNCTORCH = "(lvl="  # as torch writes a tensor inside of vmap, grad and jvp
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


def release_frames(error: BaseException) -> None:
    """Empty torch's frames in the tracebacks of an error and of its causes.

    torch's `_tensor_str._str` (2.11 to 2.15) keeps a guard of functorch in a local name, and so in
    the traceback where writing a tensor raises, as it does inside vmap and jvp. The guard puts back
    the dispatch state of that moment whenever it is freed: minutes later, by a collection of
    cycles, `torch.func.jvp`, `grad` and `vmap` end in an internal assertion from then on. The
    user's own frames stay as they are, for a debugger. 2.15 raises another error in its place,
    which names the tensor, and leaves the traceback in a cycle that nothing reachable leads to:
    its frames are looked for among all objects, which takes a tenth of a second.
    """
    with tp.PRESERVE_DISPATCH_KEYS.get()():
        for trace in _tracebacks(error):
            if trace.tb_frame.f_code.co_filename.startswith(_TORCH):
                _clear(trace.tb_frame)
        if any(_OF_FUNCTORCH in str(one) for one in _chain(error)):
            for frame in _list_writing_frames():
                _clear(frame)


def _list_writing_frames() -> list[FrameType]:
    """Every frame that writes a tensor, or did so when an error ended it."""
    code = tp.TENSOR_TEXT.get().__code__
    return [o for o in gc.get_objects() if type(o) is FrameType and o.f_code is code]


def _tracebacks(error: BaseException) -> Iterator[TracebackType]:
    """Each traceback entry of an error, its causes and its contexts, once."""
    for one in _chain(error):
        trace = one.__traceback__
        while trace is not None:
            yield trace
            trace = trace.tb_next


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, its causes and its contexts, each once."""
    pending, visited = [error], set[int]()
    while pending:
        one = pending.pop()
        if id(one) in visited:
            continue
        visited.add(id(one))
        yield one
        pending += [cause for cause in (one.__cause__, one.__context__) if cause is not None]


def _clear(frame: FrameType) -> None:
    try:
        frame.clear()
    except RuntimeError:  # it still runs, and will let go of its own when it ends
        return


@contextmanager
def hold_logs() -> Iterator[None]:
    """Hold back what torch says of guards in this thread until the block ends without an error."""
    loggers = [logging.getLogger(row.module) for row in tp.GUARD_LOGGERS]
    held: list[logging.LogRecord] = []
    thread = threading.get_ident()

    def keep(record: logging.LogRecord) -> bool:
        is_ours = record.thread == thread
        if is_ours:
            held.append(record)
        return not is_ours

    for logger in loggers:
        logger.addFilter(keep)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(keep)
    for record in held:
        logging.getLogger(record.name).handle(record)
