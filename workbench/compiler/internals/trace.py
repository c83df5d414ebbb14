"""torch's structured trace stream, received in process and handed on by kind of record."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook, Patches

CONTEXT = frozenset(
    (
        *("rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt"),
        *("has_payload", "stack", "subgraph_name"),
    )
)
"""The keys of a record that are not its kind."""

PANE = "trace"
OWN_FRAME_ID = 7001  # names what aot_compile leaves unnamed, and saves torch a stack per record


@dataclass(frozen=True, slots=True)
class Record:
    """One record of the stream; `name` is the artifact's name or the kind."""

    name: str
    meta: Any
    payload: str | None
    compile_id: str | None
    thread: int


class TraceHandler(logging.Handler):
    """Passes records of the recorded threads to the listeners for their names.

    Records without a listener are counted by name: a new torch may send new kinds.
    """

    def __init__(self, patches: Patches):
        super().__init__(level=logging.DEBUG)
        self._patches = patches
        self._listeners: dict[str, list[tuple[str, Callable[[Record], object]]]] = {}
        self.others: Counter[str] = Counter()
        self.strings: dict[int, str] = {}
        self.compile_id: str | None = None

    def on(self, name: str, listener: Callable[[Record], object], pane: str) -> None:
        """Call `listener` for every record of this name, once."""
        listeners = self._listeners.setdefault(name, [])
        if (pane, listener) not in listeners:
            listeners.append((pane, listener))

    def watch(self, hooks: Iterable[Hook]) -> None:
        """Call each hook until the patches are undone."""
        for hook in hooks:
            if isinstance(hook.at, str):
                assert hook.after is not None
                self.on(hook.at, hook.after, hook.pane)
            elif hook.around is not None:
                self._patches.wrap(hook.at, hook.around, hook.pane)
            else:
                self._patches.observe(hook.at, hook.pane, before=hook.before, after=hook.after)

    def off(self, name: str, listener: Callable[[Record], object], pane: str) -> None:
        """No longer call it."""
        self._listeners[name].remove((pane, listener))

    def install(self) -> None:
        """Listen until the patches are undone."""
        log = tp.TRACE_LOG.find()
        if log is None:
            self._patches.missing.setdefault(PANE, "this torch has no structured trace")
            return
        table = tp.INTERN_TABLE.find() or {}
        self.strings.update((index, text) for text, index in table.items())
        log.addHandler(self)
        self._patches.callback(lambda: log.removeHandler(self))
        if _is_ours(log):  # else a file of TORCH_TRACE would name the wrapper as the sender
            unread = partial(_without_unread, log)
            self._patches.wrap(tp.TRACE_STRUCTURED, unread, PANE, is_everywhere=True)
        rows = (tp.COMPILE_ID, tp.COMPILE_CONTEXT, tp.IN_CONTEXT)
        names: list[Any] = [row.find() for row in rows]
        current = tp.CURRENT_COMPILE_ID.find()
        is_named = current is not None and current() is not None  # inside of a frame's compile
        if None not in names and not is_named:
            compile_id, context, enter = names
            self._patches.enter_context(
                enter(context(compile_id(frame_id=OWN_FRAME_ID, frame_compile_id=0)))
            )

    def listens(self, name: str) -> bool:
        """Whether a record of this name is read."""
        return name in self._listeners

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record of the stream; never raises."""
        metadata: dict[str, Any] | None = getattr(record, "metadata", None)
        if metadata is None:
            return
        kind = next((key for key in metadata if key not in CONTEXT), None)
        if kind is None:
            return
        if kind == "str":  # file names are sent once per process, for all compilations
            text, index = metadata["str"]
            self.strings[index] = text
            return
        if record.thread not in self._patches.threads:
            return
        self._patches.guarded(PANE, self._dispatch, kind, metadata, record)

    def _dispatch(self, kind: str, metadata: dict[str, Any], record: logging.LogRecord) -> None:
        meta = metadata[kind]
        is_artifact = kind == "artifact" and isinstance(meta, dict)
        name = str(meta.get("name", kind)) if is_artifact else kind
        listeners = self._listeners.get(name)
        if listeners is None:
            self.others[name] += 1
            return
        compile_id = self._compile_id(metadata)
        payload = getattr(record, "payload", None)
        row = Record(name, meta, payload, compile_id, record.thread or 0)
        for pane, listener in listeners:
            self._patches.guarded(pane, listener, row)

    def _compile_id(self, metadata: dict[str, Any]) -> str | None:
        """Torch's name of the compilation; backend records of aot_compile carry ours instead."""
        if metadata.get("frame_id", OWN_FRAME_ID) == OWN_FRAME_ID:
            return self.compile_id
        text = f"{metadata['frame_id']}/{metadata.get('frame_compile_id')}"
        outer = metadata.get("compiled_autograd_id")
        self.compile_id = text if outer is None else f"!{outer}/{text}"
        return self.compile_id


def _without_unread(log: logging.Logger, inner: Callable[..., Any]) -> Callable[..., Any]:
    """Leave out texts that nobody reads, such as listings of bytecode, which take torch long."""

    def trace_structured(name: str, metadata_fn: Callable[[], Any] = dict, **options: Any) -> Any:
        if "payload_fn" in options and not _is_read(log, name, metadata_fn):
            options["payload_fn"] = _nothing
        return inner(name, metadata_fn, **options)

    return trace_structured


def _is_read(log: logging.Logger, kind: str, metadata_fn: Callable[[], Any]) -> bool:
    if not _is_ours(log):
        return True
    meta = metadata_fn() if kind == "artifact" else None
    name = str(meta.get("name", kind)) if isinstance(meta, dict) else kind
    handlers = [*log.handlers]
    return any(isinstance(own, TraceHandler) and own.listens(name) for own in handlers)


def _is_ours(log: logging.Logger) -> bool:
    """Whether nobody else reads the stream."""
    return all(isinstance(handler, TraceHandler) for handler in [*log.handlers])


def _nothing() -> None:
    """In the place of a text."""
