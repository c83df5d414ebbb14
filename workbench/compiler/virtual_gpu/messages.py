"""What the user's process and the worker that compiles for virtual GPUs say to one another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.compiler.aot_files.program import NoProgram, Program
from workbench.compiler.machine_code.device import Device
from workbench.report import Report


@dataclass(frozen=True)
class Surroundings:
    """What the code that is compiled finds around it: where to import from, sources, cells.

    `sources` holds the lines of files that exist only in the user's process, `cells` the execution
    count of those that are cells of a notebook.
    """

    import_path: tuple[str, ...] = ()
    folder: str = ""
    sources: Mapping[str, tuple[str, ...]] | None = None
    cells: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Job:
    """One compilation; `call` is what `shipping.pack` made."""

    gpu: Device
    call: bytes
    surroundings: Surroundings


@dataclass(frozen=True)
class Stop:
    """End the job at hand and send what was recorded until then, as `Failed`."""


@dataclass(frozen=True)
class Ready:
    """The worker can take jobs; `no_training` says why it cannot compile a backward pass."""

    no_training: str | None


@dataclass(frozen=True)
class Told:
    """What happened, `elapsed` seconds after the compilation began: "begin", "end" or "kernel"."""

    what: str
    name: str
    elapsed: float = 0.0


@dataclass(frozen=True)
class Done:
    """The record of a compilation that worked, and its program or why there is none."""

    report: Report
    program: Program | NoProgram


@dataclass(frozen=True)
class Failed:
    """An error: the name of its class in `workbench.errors`, its message, what was recorded.

    The class of a job that was stopped is "KeyboardInterrupt".
    """

    kind: str
    message: str
    report: Report | None = None
