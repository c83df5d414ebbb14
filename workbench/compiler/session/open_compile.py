"""One compile of a session while it goes on, and after it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from workbench.analysis.source.caught_errors import find_caught_errors, may_raise
from workbench.analysis.source.recompile_reasons import Reason
from workbench.compiler.internals.trace import Record
from workbench.compiler.recording.recorder import Recorder
from workbench.compiler.session.evidence import Evidence
from workbench.compiler.session.kept_calls import KeptCall
from workbench.report.record import Report
from workbench.report.report_header import Outcome, Request
from workbench.report.session.session_rows import Trial


@dataclass
class OpenCompile:
    """A compile that goes on, or has ended: what its row is made from.

    `forward` of a backward is the compile whose recorder both share, `backward` of that the other.
    `code` is the frame as Python knows it, of a wrapper the wrapper's; `around` gives what that
    wraps, `arguments` the names of its `args`.
    """

    id: str
    function: str
    file: str
    line: int
    step: int
    at_s: float
    kind: str
    request: Request
    recorder: Recorder | None
    forward: OpenCompile | None = None
    backward: OpenCompile | None = None
    code: CodeType | None = None
    around: Callable[[], Any] | None = None
    arguments: tuple[str, ...] = ()
    resumed_at: int = 0
    thread: str = field(default_factory=lambda: threading.current_thread().name)
    total_s: float = 0.0
    dynamo_s: float | None = None
    backend_s: float | None = None
    codegen_s: float | None = None
    guards: int | None = None
    ops: int | None = None
    breaks: int = 0
    outcome: str = "unfinished"
    cache: str = ""
    why: str = ""
    inputs: str = ""
    writes: frozenset[str] | None = None
    tried: tuple[Trial, ...] = ()
    reasons: list[tuple[Reason, bool, int]] = field(default_factory=list)
    also: tuple[str, ...] = ()
    caught: tuple[str, ...] = ()
    is_last_batch: bool = False
    fixed_by: str = ""
    evidence: Evidence = field(default_factory=Evidence)
    is_of_module: bool = False
    call: KeptCall | None = None
    is_automatic: bool = True
    is_over: bool = False
    report: Report | None = None

    @property
    def first(self) -> OpenCompile:
        """The compile that holds what was recorded: of a backward its forward."""
        return self.forward or self

    @property
    def whole_s(self) -> float:
        """Seconds of it and of its backward."""
        return self.total_s + (self.backward.total_s if self.backward else 0.0)

    @property
    def has_report(self) -> bool:
        """Whether what was recorded of it is there; while it or its backward goes on, it is not."""
        own = self.first
        is_over = own.is_over and (own.backward is None or own.backward.is_over)
        return own.recorder is not None and is_over

    @property
    def is_of_wrapper(self) -> bool:
        """Whether the frame is a wrapper's, whose code stands for several functions."""
        return self.around is not None

    def is_same(self, other: OpenCompile) -> bool:
        """Whether another compile is of the same function or module."""
        own, its = self.around and self.around(), other.around and other.around()
        return self.code is other.code and own is its

    def recorded(self) -> Report:
        """A report of what was recorded; raises `KeyError` where that was let go."""
        if self.recorder is None:
            raise KeyError(self.id)
        parts = (self, self.backward) if self.backward else (self,)
        worst = next((one for one in parts if one.outcome not in ("graph", "no graph")), None)
        is_ok = worst is None
        error = None if worst is None else worst.why or worst.outcome
        is_cancelled = worst is not None and worst.outcome == "interrupted"
        return self.recorder.report(
            Outcome(is_ok, None if is_ok else "capture", error, is_cancelled)
        )

    def note_caught_errors(self) -> None:
        """Note where what was captured may raise what only eager code catches."""
        if self.recorder is not None and may_raise(self.recorder.graphs.targets()):
            self.caught = find_caught_errors(self.recorder.captured())

    def keep_bytecode(self, result: Any) -> None:
        """Add what Dynamo put in the place of the frame, which it gives when it is done."""
        compiled = getattr(result, "guarded_code", None)
        if compiled is not None and self.recorder is not None:
            self.recorder.bytecode.keep(compiled.code, self.id)

    def metrics(self, record: Record) -> None:
        """Take torch's own account of the compile; a backward has one of its own."""
        told: dict[str, Any] = record.meta if isinstance(record.meta, dict) else {}
        self.guards = told.get("guard_count") if self.guards is None else self.guards
        self.ops = told.get("graph_op_count") if self.ops is None else self.ops
        whole = told.get("entire_frame_compile_time_s")
        backend = told.get("backend_compile_time_s") or told.get("inductor_compile_time_s")
        self.backend_s = backend if self.backend_s is None else self.backend_s
        code = told.get("code_gen_time_s")
        self.codegen_s = code if self.codegen_s is None else self.codegen_s
        if whole is not None and self.kind != "backward":
            self.dynamo_s = max(0.0, whole - (backend or 0.0))


def request_of(level: str, backend: Any) -> Request:
    """What torch.compile was asked for, as its backend knows it."""
    name = getattr(backend, "_compiler_name", None) or getattr(backend, "__name__", None)
    config = getattr(backend, "config", None)
    options = config.items() if isinstance(config, dict) else ()
    return Request(
        backend=str(name or "not known"),
        options=tuple((str(key), str(value)) for key, value in options),
        capture=level,
    )
