"""Graph breaks and recompilations, each on the innermost user line."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from types import CodeType, MappingProxyType
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook
from workbench.compiler.internals.trace import Record
from workbench.compiler.rows.dynamo_rows import (
    BreakTable,
    list_recompiles,
    name_function,
    read_break,
)
from workbench.compiler.sources import dynamo_messages
from workbench.compiler.sources.sources import Frame, Places
from workbench.report import Recompile

PANE = "breaks"


class BreakRecorder:
    """Collects the breaks that Dynamo reports while it goes on.

    `named` puts sizes in place of torch's symbols, `files` has the files by torch's numbers.
    """

    def __init__(
        self,
        places: Places,
        named: Callable[[str], str] = str,
        files: Mapping[int, str] = MappingProxyType({}),
    ):
        self._places, self._named, self._files = places, named, files
        self.table = BreakTable()
        self._seen: set[int] = set()
        self._alive: list[BaseException] = []
        self._recompiles: list[Recompile] = []
        self._functions: dict[str, str] = {}
        self.ignored: frozenset[str] = frozenset()  # kinds that our own changes cause
        self.own_error: tuple[str, int] | None = None  # where the program itself is wrong
        self.gave_up = False  # whether Dynamo left a function that it could not resume

    def list_hooks(self) -> Iterator[Hook]:
        """Watch Dynamo's graph breaks and recompilations."""
        yield Hook(tp.LOG_GRAPH_BREAK, PANE, before=self._on_break)
        yield Hook("dynamo_start", PANE, after=self._on_start)
        yield Hook("recompile_reasons", PANE, after=self._on_recompile)

    def _on_break(self, translator: Any, *args: Any, **kwargs: Any) -> None:
        for value in (*args, *kwargs.values()):
            if isinstance(value, BaseException):
                self.take(value, translator)

    def take(self, error: BaseException, translator: Any = None) -> None:
        """Record the error that a break raises; the same error counts once."""
        if id(error) in self._seen or not hasattr(error, "msg"):
            return
        self._seen.add(id(error))
        self._alive.append(error)
        parts, is_given_up = read_break(str(error.msg))
        kind = parts.kind or str(getattr(error, "gb_type", "") or type(error).__name__)
        frame = self._frame(getattr(error, "real_stack", None) or ())
        if frame is None or _is_lost(translator) or kind in self.ignored:
            return
        if getattr(error, "skip_frame", False) or is_given_up:
            self.gave_up = True
        self._add(frame, replace(parts, kind=kind, gb_id=parts.gb_id or self._ids.get(kind)))

    def _add(self, frame: Frame, parts: dynamo_messages.BreakMessage) -> None:
        self._places.note(frame.file, frame.line, frame.function)
        text = linecache.getline(frame.file, frame.line).strip()
        self.table.add(self._places, frame, text, parts, self._named)

    def take_compile_failure(self, kind: str, error: BaseException, code: CodeType) -> None:
        """Record that torch cannot compile a frame that runs without it, on the line that it names.

        `code` is of the frame: its first line stands in where the error names none.
        """
        message = str(getattr(error, "msg", error)).strip()
        stack = getattr(error, "real_stack", None) or dynamo_messages.find_frames(message)
        own = Frame(code.co_filename, code.co_firstlineno, code.co_name)
        reason = dynamo_messages.explain_failed_compile(error)
        hints = list(dynamo_messages.hint_failed_compile(message))
        parts = dynamo_messages.BreakMessage(kind, f"{kind}: {reason}", f"{reason}.", hints, None)
        self._add(self._frame(stack) or own, parts)

    def _frame(self, stack: Iterable[Any]) -> Frame | None:
        """The innermost frame outside of torch and Python; of these, when there is no other.

        Dynamo goes into Python's own code, such as that of `os.path`, and breaks there; what can be
        changed is the call.
        """
        frames = [Frame(f.filename, f.lineno or 0, f.name) for f in stack]
        mine = [f for f in frames if self._places.is_user(f.file)]
        changeable = [f for f in mine if not self._places.is_python(f.file)]
        innermost = (changeable or mine or frames)[-1:]
        if not innermost:
            return None
        match = dynamo_messages.RESUMED.match(innermost[0].function)
        return replace(innermost[0], function=match[1]) if match else innermost[0]

    @cached_property
    def _ids(self) -> dict[str, str]:
        """Ids of the kinds of breaks, from torch's registry."""
        registry = tp.BREAK_REGISTRY.find()
        entries = {} if registry is None else registry()
        return {str(k): str(v[0] if isinstance(v, list) else v) for k, v in entries.items()}

    def take_failure(self, error: BaseException | None) -> None:
        """Take the break that ended a capture in one graph, if one did.

        What the program itself does wrong is no break: `own_error` says where.
        """
        classes = (row.find() for row in (tp.UNSUPPORTED, tp.USER_ERROR, tp.UNCAPTURED))
        kinds = tuple(kind for kind in classes if kind is not None)
        visited: set[int] = set()
        while error is not None and id(error) not in visited:
            visited.add(id(error))
            message = str(getattr(error, "msg", error))
            is_own = dynamo_messages.explain_own_error(message) is not None
            # since torch 2.15 an error of the program itself is of none of these kinds
            frame = self._frame(getattr(error, "real_stack", None) or ()) if is_own else None
            if frame is not None:
                self.own_error = frame.file, frame.line
                self._places.note(frame.file, frame.line, frame.function)
            elif isinstance(error, kinds) and not is_own:
                self.take(error)
            if frame is not None or isinstance(error, kinds):
                return
            error = error.__cause__ or error.__context__

    def _on_start(self, record: Record) -> None:
        """Which function a compilation is of: the last frame of the stack that led to it."""
        own = (record.meta.get("stack") or [{}])[-1]
        file = self._files.get(own.get("filename"), "")
        frame = Frame(file, own.get("line", 0), str(own.get("name", "")))
        self._functions[record.compile_id or ""] = name_function(self._places, frame)

    def _on_recompile(self, record: Record) -> None:
        self._recompiles += list_recompiles(
            record.payload or "", record.compile_id or "", "", self._places.shared
        )

    def recompiles(self) -> list[Recompile]:
        """Further compilations of a function, each with a guard of an earlier one that failed."""
        names = self._functions
        return [replace(row, function=names.get(row.compile_id, "")) for row in self._recompiles]

    def add(self, other: BreakRecorder) -> None:
        """Add the breaks that another run alone met, each once."""
        for frame in self.table.merge(other.table):
            self._places.note(frame.file, frame.line, frame.function)

    def close(self) -> None:
        """Let go of torch's objects."""
        self._alive.clear()
        self._seen.clear()


def _is_lost(translator: Any) -> bool:
    """Whether Dynamo does not know its line: back at the top of a loop that it has resumed.

    The bytecode that it wrote for the rest of the loop ascribes the top of the loop to the line of
    the break. The top was traced before, under its own lines.
    """
    code = getattr(translator, "f_code", None)
    match = None if code is None else dynamo_messages.RESUMED.match(code.co_name)
    positions = getattr(getattr(translator, "current_instruction", None), "positions", None)
    if match is None or positions is None:
        return False
    return positions.col_offset is None and str(positions.lineno) == match[2]
