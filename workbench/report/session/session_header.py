"""Where and how a session was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.report.report_header import Environment


@dataclass(frozen=True)
class SessionHeader:
    """Where a session ran: seconds of the clock, numbers of steps and events, names of threads.

    `steps_ended` are those that the program ended, None where a record does not tell; without any
    the whole is one step. `missing` names what could not be seen, with the reason. `ran_compiled`:
    whether a compiled graph was called, None where that could not be told. `left_alone` are modules
    that were asked to be compiled, and of which torch compiles no frame.
    """

    environment: Environment = field(default_factory=Environment)
    capture: str = "light"
    began_at: float = 0.0
    wall_s: float = 0.0
    steps: int = 0
    steps_ended: int | None = None
    events: int = 0
    threads: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    ran_compiled: bool | None = None
    left_alone: tuple[str, ...] = ()
