"""What every kernel became for the GPU, as tables of the report."""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.compiler.internals.patches import Patches
from workbench.compiler.machine_code.code_readers import (
    PANE,
    AssemblyRows,
    CompiledConfig,
    ConfigRecorder,
    MachineCode,
    read_codes,
)
from workbench.compiler.sources.sources import Places
from workbench.report import Capability, Kernel, Report, Table, TextWriter
from workbench.report.machine_rows import Assembly, Resources
from workbench.specs.device import Device

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


class MachineCodeRecorder(ExitStack):
    """Records the machine code of every kernel compiled inside of the `with`.

    Those count that are compiled in this thread, or in one of `threads` by their identifiers.

    Disassembling runs beside the compilation. `added` waits for it.
    """

    def __init__(self, device: Device, *, threads: Collection[int] = ()):
        super().__init__()
        self._reader = CodeReader(device)
        self.callback(self._reader.close)
        self._patches = self.enter_context(Patches())
        self._patches.threads.update(threads)
        self._found: list[ReadConfig] = []
        ConfigRecorder(self._patches, self._on_config).install()

    def _on_config(self, config: CompiledConfig) -> None:
        self._found.append(self._reader.add(config))

    def hurry(self) -> None:
        """Leave out what is not being read yet, so that what was read can be used at once."""
        self._found = [row for row in self._found if not row.code.cancel()]

    def registers(self) -> dict[bytes, int | None]:
        """The registers of each machine code, as the report has them."""
        self._reader.read_now()
        return {row.config.binary: row.code.result().resources.registers for row in self._found}

    def added(self, report: Report) -> Report:
        """The report with the tables `assembly` and `resources`."""
        self._reader.read_now()
        writer = TextWriter()
        for text in report.texts.values():
            writer.add(text)
        places = Places()
        rows = AssemblyRows(writer, places)
        assembly: list[Assembly] = []
        resources: list[Resources] = []
        kernels: list[Kernel] = []
        for kernel in report.kernels:
            text = report.texts.get(kernel.text or "", "")
            configs = self._matching(kernel.name, text, places)
            for n, row in enumerate(configs):
                id_, code = f"{kernel.id}:c{n}", row.code.result()
                assembly += rows.of(kernel.id, id_, row.config, code)
                resources.append(replace(code.resources, kernel=kernel.id, config=id_))
            kernels.append(_with_resources(kernel, resources[-len(configs)]) if configs else kernel)
        reason = self._patches.missing.get(PANE) or self._patches.failed.get(PANE)
        capabilities = [*report.capabilities, Capability(PANE, reason is None, reason)]
        tables: dict[str, Table[Any]] = {
            **report.tables,
            "kernels": Table.of(Kernel, kernels),
            "assembly": Table.of(Assembly, assembly),
            "resources": Table.of(Resources, resources),
            "capabilities": Table.of(Capability, capabilities),
        }
        return replace(report, tables=tables, texts=writer.finish())

    def _matching(self, name: str, text: str, places: Places) -> list[ReadConfig]:
        """The configurations of one kernel: those of its text, as graphs may reuse a name."""
        named = [row for row in self._found if row.config.kernel == name]
        exact = [f for f in named if places.shared(f.config.source.strip("\n")) == text]
        return exact or named


def _with_resources(kernel: Kernel, row: Resources) -> Kernel:
    """A kernel with what its first configuration takes; Inductor calls the user's own external."""
    return replace(
        kernel,
        language="triton",
        registers=row.registers,
        spills=row.spills,
        smem_bytes=row.smem_bytes or 0,
        occupancy=row.occupancy,
        estimate=row.estimate,
    )
