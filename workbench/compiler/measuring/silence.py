"""What one thread prints is kept from the screen; what others print meanwhile appears."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections.abc import Iterator
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp


@contextlib.contextmanager
def silent() -> Iterator[io.StringIO]:
    """Keep what this thread writes to the standard streams, as text."""
    written = io.StringIO()
    out, errors = _OfOthers(sys.stdout, written), _OfOthers(sys.stderr, written)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        yield written


class _OfOthers(io.TextIOBase):
    """A stream to which the thread that made it writes nothing."""

    def __init__(self, inner: Any, written: io.StringIO):
        self._inner = inner
        self._kept = written
        self._thread = threading.get_ident()
        if tp.DYNAMO_CONFIG.module in sys.modules:  # a break is to stand on the user's line
            outside: Any = torch.compiler.disable
            self.write = outside(self.write)  # type: ignore[method-assign]
            self.flush = outside(self.flush)  # type: ignore[method-assign]

    def write(self, text: str) -> int:
        """Keep the text, or pass on that of another thread."""
        is_ours = threading.get_ident() == self._thread
        (self._kept if is_ours else self._inner).write(text)
        return len(text)

    def flush(self) -> None:
        """Pass on what is held back."""
        self._inner.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
