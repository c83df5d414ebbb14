"""Stops a compilation from another thread of its process: it ends as after an interrupt."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

_SIGNAL = signal.SIGUSR1


class Stoppable:
    """What runs in `with` ends with `KeyboardInterrupt` once `stop` is called; make it in main.

    A signal reaches the main thread also while it waits for a process such as the assembler.
    """

    def __init__(self) -> None:
        self._is_wanted = False
        self._is_running = False
        signal.signal(_SIGNAL, self._on_signal)

    def __enter__(self) -> None:
        self._is_running = True
        if self._is_wanted:  # asked for before there was anything to stop
            self._interrupt()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_running = False

    def stop(self) -> None:
        """Interrupt what runs, or what will run next."""
        self._is_wanted = True
        main = threading.main_thread().ident
        if main is not None:
            signal.pthread_kill(main, _SIGNAL)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._is_running and self._is_wanted:
            self._interrupt()

    def _interrupt(self) -> None:
        self._is_running = self._is_wanted = False
        raise KeyboardInterrupt
