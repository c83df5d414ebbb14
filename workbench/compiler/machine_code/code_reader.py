"""Reads the code of configurations beside their compilation, several at once."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from workbench.compiler.machine_code.compiled_configs import CompiledConfig
from workbench.compiler.machine_code.device import Device
from workbench.compiler.machine_code.reading_code import MachineCode, read_codes

_TOGETHER = 16
"""Configurations that are worth a start of nvdisasm, which takes as long as reading them."""


@dataclass(frozen=True)
class ReadConfig:
    """A configuration with what is, or will be, read of it."""

    config: CompiledConfig
    code: Future[MachineCode] = field(default_factory=Future)


class CodeReader:
    """Reads configurations in a thread of its own once enough of them wait, or when it is asked."""

    def __init__(self, device: Device):
        self._device = device
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._lock = threading.Lock()
        self._waiting: list[ReadConfig] = []

    def add(self, config: CompiledConfig) -> ReadConfig:
        """Take a configuration, to be read with the next ones."""
        row = ReadConfig(config)
        with self._lock:
            self._waiting.append(row)
            is_worth_it = len(self._waiting) >= _TOGETHER
        if is_worth_it:
            self.read_now()
        return row

    def read_now(self) -> None:
        """Begin to read what waits."""
        self._pool.submit(self._read)

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False)

    def _read(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        rows = [row for row in waiting if row.code.set_running_or_notify_cancel()]
        try:
            for row, code in zip(
                rows, read_codes([row.config for row in rows], self._device), strict=True
            ):
                row.code.set_result(code)
        except BaseException as error:
            for row in rows:
                row.code.set_exception(error)
