"""The record of a running program's compilations: a world makes it, saves it and reads it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol

from workbench.errors import UsageError
from workbench.report.presenter import Presented
from workbench.report.program.record_rows import ProgramHeader
from workbench.report.record import Report
from workbench.report.table import Table
from workbench.worlds.world import ask, list_worlds

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

Capture = Literal["light", "full"]
Steps = Literal["optimizer"] | None


class ProgramRecord(Presented, ABC):
    """What a program compiled while it ran, in tables, with a report of each compile."""

    @property
    @abstractmethod
    def header(self) -> ProgramHeader:
        """Where and how long it was recorded."""

    @property
    @abstractmethod
    def tables(self) -> Mapping[str, Table[Any]]:
        """Every table by name."""

    @property
    @abstractmethod
    def reports(self) -> Mapping[int, Report]:
        """The reports that were kept, by the row of their compile."""

    @property
    @abstractmethod
    def is_running(self) -> bool:
        """Whether it records."""

    @property
    @abstractmethod
    def advice(self) -> tuple[str, ...]:
        """Suggested changes, in sentences, the most expensive cause first."""

    @abstractmethod
    def so_far(self) -> ProgramRecord:
        """What there is now, as plain data, also while it records."""

    @abstractmethod
    def frame(self, name: str) -> pandas.DataFrame:
        """One table as a DataFrame; raises `UsageError` for another name."""

    @abstractmethod
    def report(self, which: int | str) -> Report:
        """The report of one compile, by its row or its id; raises `UsageError` without one."""

    @abstractmethod
    def check(
        self,
        *,
        recompiles: int | None = None,
        fallbacks: int | None = None,
        breaks: int | None = None,
    ) -> None:
        """Raise `ExpectationError` where there were more than so many."""

    @abstractmethod
    def plot(self) -> matplotlib.figure.Figure:
        """The time of each step by phase; raises `UsageError` if no step has ended."""

    @abstractmethod
    def to_html(self, path: str | PathLike[str] | None = None, *, redact: bool = False) -> str:
        """A self-contained page, written to `path` when given; `redact` drops sources."""

    @abstractmethod
    def save(self, path: str | PathLike[str]) -> None:
        """Write a file, atomically, with the reports."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """What `save` writes."""


class ProgramRecords(Protocol):
    """What a world gives that records programs: the rest of the workbench asks it alone."""

    def is_recording(self) -> bool:
        """Whether a program is recorded in this process."""

    def record(
        self, capture: Capture = "light", steps: Steps = None
    ) -> AbstractContextManager[ProgramRecord]:
        """Records what torch.compile does until the context ends."""

    def make(self, header: ProgramHeader, tables: Mapping[str, Table[Any]]) -> ProgramRecord:
        """A record of tables that something else told; those that are left out are empty."""

    def load(self, path: str | PathLike[str]) -> ProgramRecord:
        """A record from its file; raises `ArtifactError` where it cannot be read."""

    def read(self, content: bytes, path: str | PathLike[str]) -> ProgramRecord:
        """A record from what `to_bytes` gave; raises as `load` does, naming `path`."""

    def read_quantity(self, record: Any, name: str) -> Any:
        """One number of a record as a `Quantity`, by a name that reports have too."""


def find_program_records() -> ProgramRecords | None:
    """What records programs and reads such records; None where no world does."""
    for world in list_worlds():
        records: ProgramRecords | None = ask(
            world, lambda each: each.find_program_records(), None, "what records programs"
        )
        if records is not None:
            return records
    return None


def require_program_records(what: str) -> ProgramRecords:
    """The same; raises `UsageError` where no world does. `what` begins the sentence."""
    records = find_program_records()
    if records is None:
        raise UsageError(f"{what}: sessions are not installed. Reinstall aot-workbench.")
    return records
