"""One compile of a session while it goes on, and after it, with the call it was made for."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType
from typing import Any

import torch

from workbench.analysis.source.caught_errors import find_caught_errors, may_raise
from workbench.analysis.source.recompile_reasons import Reason
from workbench.compiler.call_state.call_leaves import copy_all_inputs
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.internals.trace import Record
from workbench.compiler.recording.recorder import Recorder
from workbench.errors import UsageError
from workbench.report.program.record_rows import Trial
from workbench.report.record import Report
from workbench.report.report_header import Outcome, Request
from workbench.worlds.sessions.recording.evidence import Evidence


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


MOST_KEPT = 64 << 20
"""Bytes of the inputs of all calls that a session keeps."""
_MOST_OF_CALL = 16 << 20
_PLAIN = (torch.Tensor, int, float, complex, bool, str, bytes, type(None))


@dataclass(frozen=True)
class Held:
    """A plain value, or an object that is not kept alive."""

    value: Any = None
    object: Callable[[], Any] | None = None

    @classmethod
    def of(cls, value: Any) -> Held:
        """Hold a value; raises `TypeError` for an object that can only be kept alive."""
        return cls(value) if isinstance(value, _PLAIN) else cls(None, weakref.ref(value))

    @property
    def is_gone(self) -> bool:
        """Whether the object is no longer there."""
        return self.object is not None and self.object() is None

    def read(self) -> Any:
        """The value, or the object as long as it is there."""
        return self.value if self.object is None else self.object()


@dataclass(frozen=True)
class KeptCall:
    """What one call of a frame was given: copies of tensors, numbers and containers of them.

    Other objects are held weakly: a session keeps nothing of the program alive.
    """

    code: CodeType
    globals: dict[str, Any] = field(repr=False)
    values: Mapping[str, Any] = field(repr=False)
    objects: Mapping[str, Held] = field(repr=False)
    cells: tuple[Held, ...] = field(repr=False)
    size: int

    def read(self) -> tuple[dict[str, Any], tuple[CellType, ...]]:
        """The arguments by name and the cells of the closure; raises `UsageError` for what is gone.

        Every call gets copies of its own.
        """
        gone = [name for name, held in self.objects.items() if held.is_gone]
        if gone or any(held.is_gone for held in self.cells):
            what = ", ".join(gone) or "a variable of the enclosing function"
            raise UsageError(f"The call cannot be replayed: {what} was freed.")
        (copies,), _ = copy_all_inputs((dict(self.values),), {})
        given = {**copies, **{name: held.read() for name, held in self.objects.items()}}
        return given, tuple(CellType(held.read()) for held in self.cells)

    def function(self, cells: tuple[CellType, ...], code: CodeType | None = None) -> FunctionType:
        """The frame as a function, of other code where that is given."""
        return FunctionType(code or self.code, self.globals, self.code.co_name, None, cells)

    def arrange(self, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by name as the call takes them."""
        code, names = self.code, self.code.co_varnames
        count, only = code.co_argcount, code.co_kwonlyargcount
        args = [given[name] for name in names[:count]]
        kwargs = {name: given[name] for name in names[count : count + only]}
        at = count + only
        if code.co_flags & 0x04:  # *args
            args += given[names[at]]
            at += 1
        if code.co_flags & 0x08:  # **kwargs
            kwargs |= given[names[at]]
        return tuple(args), kwargs


def keep_call(
    code: CodeType,
    globals_: dict[str, Any],
    given: Mapping[str, Any],
    closure: tuple[CellType, ...],
    left: int,
) -> KeptCall | None:
    """A call to be made again; None where its inputs are too large, or cannot be copied."""
    values: dict[str, Any] = {}
    objects: dict[str, Held] = {}
    for name, value in given.items():
        found = [leaf for _, leaf in leaves(value, Path(name))]
        if all(isinstance(leaf, _PLAIN) for leaf in found):
            values[name] = value
        else:
            objects[name] = Held.of(value)
    tensors = [
        leaf
        for _, leaf in leaves(values, Path("call"))
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided
    ]
    size = sum(tensor.nbytes for tensor in tensors)
    if size > min(left, _MOST_OF_CALL):
        return None
    (copies,), _ = copy_all_inputs((values,), {})
    cells = tuple(Held.of(cell.cell_contents) for cell in closure)
    return KeptCall(code, globals_, copies, objects, cells, size)
