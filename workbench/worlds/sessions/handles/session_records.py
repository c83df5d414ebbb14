"""Sessions as the records of programs that the rest of the workbench asks for."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.report.program.program_record import Capture, Steps
from workbench.report.program.record_rows import ProgramHeader
from workbench.report.table import Table
from workbench.worlds.sessions.rows.session_record import Session, make_empty_tables

if TYPE_CHECKING:
    from workbench.analysis.quantities.quantities import Quantity
    from workbench.worlds.sessions.handles.live_session import LiveSession


class SessionRecords:
    """See `ProgramRecords`. Torch is imported where a program is recorded, not to read a file."""

    def is_recording(self) -> bool:
        """Whether a session records in this process."""
        from workbench.worlds.sessions.recording.session_recorder import is_recording

        return is_recording()

    def record(self, capture: Capture = "light", steps: Steps = None) -> LiveSession:
        """A session, which records inside of `with`."""
        from workbench.worlds.sessions.handles.live_session import LiveSession

        return LiveSession(capture, steps)

    def make(self, header: ProgramHeader, tables: Mapping[str, Table[Any]]) -> Session:
        """A session without reports."""
        return Session(header, {**make_empty_tables(), **tables}, {})

    def load(self, path: str | PathLike[str]) -> Session:
        """A session from a `.wbs` file."""
        return Session.load(path)

    def read(self, content: bytes, path: str | PathLike[str]) -> Session:
        """A session from its bytes."""
        return Session.from_bytes(content, path)

    def read_quantity(self, record: Any, name: str) -> Quantity:
        """One number of a session."""
        from workbench.worlds.sessions.findings.session_quantities import read_session_quantity

        return read_session_quantity(record, name)
