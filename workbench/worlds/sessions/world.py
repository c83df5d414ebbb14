"""What the world of sessions adds: `wb.session`, and the record of a program that runs."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench.worlds.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.report.program.program_record import ProgramRecords
    from workbench.views.kit.shown import Shown
    from workbench.worlds.sessions.magics import SessionMagics


class SessionsWorld(World):
    """What plain torch.compile does in a running program: compiles, recompiles, breaks, steps."""

    name = "sessions"
    title = "Sessions"
    names = MappingProxyType(
        {
            "session": "workbench.worlds.sessions.calls",
            "Session": "workbench.worlds.sessions.rows.session_record",
        }
    )

    def find_shown(self, kind: str) -> Shown | None:
        """Of a session."""
        if kind != "Session":
            return None
        from workbench.worlds.sessions.views.session_page import SHOWN

        return SHOWN[kind]

    def find_program_records(self) -> ProgramRecords:
        """Sessions."""
        from workbench.worlds.sessions.handles.session_records import SessionRecords

        return SessionRecords()

    def list_magics(self) -> Sequence[type[SessionMagics]]:
        """`%%aot_session`."""
        from workbench.worlds.sessions.magics import SessionMagics

        return (SessionMagics,)


WORLD = SessionsWorld()
