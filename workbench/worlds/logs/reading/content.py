"""The content of one log, sorted by subject; what can wait is not parsed yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BufferedIOBase
from typing import Any

from workbench.compiler.rows.dynamo_rows import CACHE_RECORDS, read_cache_event
from workbench.compiler.rows.phase_rows import Mark, read_mark
from workbench.compiler.sources.size_symbols import SYMBOL_RECORDS
from workbench.report import CacheEvent
from workbench.report.graph_stages import BY_RECORD
from workbench.worlds.logs.reading.log_records import Bounds, Damage, LogReader, LogRecord, Payload

_METRICS = (
    *("compile_id", "co_name", "co_filename", "co_firstlineno", "fail_type", "fail_reason"),
    *("fail_user_frame_filename", "fail_user_frame_lineno", "python_version", "triton_version"),
    *("inductor_config", "config_suppress_errors"),
    *("start_time", "entire_frame_compile_time_s", "backend_compile_time_s"),
    *("inductor_compile_time_s", "code_gen_time_s", "guard_count", "graph_op_count"),
)
_TIMES = tuple(name for name in _METRICS if name.endswith(("_time", "_time_s")))
_COUNTS = ("co_firstlineno", "fail_user_frame_lineno", "guard_count", "graph_op_count")
_LATEST = 1e11  # seconds since the epoch, such as calendars know
_EACH = 500  # bytes that a row takes beside its text
_FRAMES = 8  # of a stack, the innermost
_DEEPEST = 20  # levels of a record that is kept as it is
_UNUSED = frozenset(
    {
        *("describe_storage", "stack", "fx_graph_runnable", "aot_forward_graph_fw_metadata"),
        *("runtime_wrapper_orchestration", "compiled_fn_wrapper"),
        *("compiled_function_forward", "compiled_function_backward", "backward_prologue"),
        *("backward_epilogue", "inductor_runtime_and_tensor_meta", "link", "dump_file"),
        *("guard_added", "guard_added_fast", "propagate_real_tensors_provenance"),
        "compilation_metrics_runtime",
        *("aot_joint_graph_fw_metadata", "exported_program", "optimize_ddp_split_graph"),
        *("optimize_ddp_split_child", "compiled_autograd_graph"),
        "dynamo_side_effects",
        *("subclass_wrapper", "aot_forward_graph_fw_subclass_metadata"),
        *("backward_subclass_unwrap", "backward_subclass_wrapper"),
        "inductor_collective_schedule",  # the order of the programs, which are read
        *("inductor_provenance_tracking_kernel_stack_traces", "triton_kernel_info"),
    }
)
"""Kinds that are known and have no place in a report: they are counted only."""
_UNUSED_ENDS = ("_BYTECODE", ".config")
_KEPT_EACH = 100
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Piece(Payload):
    """One record that is read later.

    `after` is how many graphs come before it, or programs, for what belongs to a program.
    """

    after: int = 0


@dataclass
class LogContent:
    """One log: a process with everything that it compiled."""

    label: str = ""
    rank: int | None = None
    strings: dict[int, str] = field(default_factory=dict)
    damage: Damage = field(default_factory=Damage)
    graphs: list[Piece] = field(default_factory=list)
    codes: list[Piece] = field(default_factory=list)
    kernel_codes: list[Piece] = field(default_factory=list)
    mappings: list[Piece] = field(default_factory=list)
    guards: list[Piece] = field(default_factory=list)
    breaks: list[Piece] = field(default_factory=list)
    errors: list[Piece] = field(default_factory=list)
    partial: list[Piece] = field(default_factory=list)
    recompiles: list[Piece] = field(default_factory=list)
    starts: dict[str, list[Any]] = field(default_factory=dict)
    metrics: list[tuple[str | None, dict[str, Any]]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    cache: list[tuple[str | None, CacheEvent]] = field(default_factory=list)
    tensors: dict[tuple[Any, Any], dict[str, Any]] = field(default_factory=dict)
    sources: list[tuple[str | None, tuple[Any, Any], str]] = field(default_factory=list)
    symbols: list[tuple[str, str | None, dict[str, Any]]] = field(default_factory=list)
    torch: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    unknown: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def failures(self) -> list[Piece]:
        """The errors that reached the caller.

        After a break that Dynamo could not go on from, or where errors are suppressed, the function
        runs as Python.
        """
        broken = {piece.compile_id for piece in self.breaks}
        rows = dict(self.metrics)
        quiet = {id for id, row in rows.items() if row.get("config_suppress_errors")}
        given_up = {id for id in broken if rows.get(id, {}).get("fail_type") == "Unsupported"}
        return [piece for piece in self.errors if piece.compile_id not in quiet | given_up]


def read_content(file: BufferedIOBase, bounds: Bounds | None = None) -> LogContent:
    """Read one log to its end, or as far as the bounds let it."""
    bounds = bounds or Bounds()
    reader, total = LogReader(file, bounds), 0
    content = LogContent(damage=reader.damage, strings=reader.strings)
    sorter = _Sorter(content)
    for record in reader.records():
        content.counts[record.name] += 1
        if (total := total + sorter.size(record)) > bounds.kept:
            reader.damage.given_up = f"the part read so far takes {bounds.kept >> 20} MiB"
            break
        try:
            sorter.take(record)
        except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
            reader.damage.unreadable += 1  # a record of another shape than torch 2.13 writes
    content.rank = reader.rank
    return content


class _Sorter:
    """Puts every record where it belongs."""

    def __init__(self, content: LogContent):
        self._content = content
        c = content
        self._takers: dict[str, Callable[[LogRecord], object]] = {
            "chromium_event": self._on_event,
            "compilation_metrics": self._on_metrics,
            "bwd_compilation_metrics": self._on_metrics,
            "dynamo_start": self._on_start,
            "torch_version": self._on_version,
            "describe_tensor": self._on_tensor,
            "describe_source": self._on_source,
            **dict.fromkeys(SYMBOL_RECORDS, self._on_symbol),
            **dict.fromkeys(CACHE_RECORDS, self._on_cache),
            **dict.fromkeys(BY_RECORD, self._keeper(c.graphs)),
            "inductor_output_code": self._keeper(c.codes),
            "graph_dump": self._on_dump,
            "inductor_provenance_tracking_node_mappings": self._keeper(c.mappings, c.codes),
            "dynamo_cpp_guards_str": self._keeper(c.guards),
            "dynamo_graph_break_reason": self._keeper(c.breaks),
            "dynamo_error": self._keeper(c.errors),
            "make_fx_fail_partial": self._keeper(c.partial),
            "recompile_reasons": self._keeper(c.recompiles),
        }

    def size(self, record: LogRecord) -> int:
        """About how many bytes of memory the record will take."""
        is_kept = record.name in self._takers
        return _EACH + len(record.name) + (len(record.raw) if is_kept else 0)

    def take(self, record: LogRecord) -> None:
        """Take one record."""
        taker = self._takers.get(record.name)
        if taker is not None:
            taker(record)
        elif record.name not in _UNUSED and not record.name.endswith(_UNUSED_ENDS):
            self._on_unknown(record)

    def _keeper(
        self, pieces: list[Piece], others: list[Piece] | None = None
    ) -> Callable[[LogRecord], None]:
        before = self._content.graphs if others is None else others

        def keep(record: LogRecord) -> None:
            if not record.is_whole():
                self._content.damage.changed += 1
            pieces.append(Piece(record.name, record.compile_id, record.raw, len(before)))

        return keep

    def _on_dump(self, record: LogRecord) -> None:
        """The files of AOTInductor: the program comes before its kernels."""
        name, c = record.meta["name"], self._content
        pieces = {"inductor_aot_wrapper_code": c.codes, "inductor_aot_kernel_code": c.kernel_codes}
        if name in pieces:
            self._keeper(pieces[name], c.graphs if pieces[name] is c.codes else c.codes)(record)

    def _on_event(self, record: LogRecord) -> None:
        mark = read_mark(record.json(), None, record.compile_id)
        if mark is not None:
            self._content.marks.append(mark)

    def _on_metrics(self, record: LogRecord) -> None:
        metrics = {
            name: record.meta[name] for name in _METRICS if record.meta.get(name) is not None
        }
        valid = {name: value for name, value in metrics.items() if _is_metric(name, value)}
        self._content.damage.unreadable += len(valid) < len(metrics)
        if self._content.metrics:
            valid.pop("inductor_config", None)  # the same for every compilation, and large
        valid["is_backward"] = record.name.startswith("bwd_")
        self._content.metrics.append((record.compile_id, valid))

    def _on_start(self, record: LogRecord) -> None:
        if record.compile_id is not None:
            stack = record.meta["stack"]
            if not isinstance(stack, list) or not all(isinstance(frame, dict) for frame in stack):
                raise TypeError("a stack must be a list of frames")
            self._content.starts[record.compile_id] = stack

    def _on_version(self, record: LogRecord) -> None:
        self._content.torch = str(record.json()["pytorch_version"])

    def _on_tensor(self, record: LogRecord) -> None:
        meta = record.meta
        key = _key(meta)
        names = ("dtype", "device", "size", "is_parameter")
        self._content.tensors[key] = {name: meta.get(name) for name in names}

    def _on_source(self, record: LogRecord) -> None:
        key = _key(record.meta)
        self._content.sources.append((record.compile_id, key, str(record.meta["source"])))

    def _on_symbol(self, record: LogRecord) -> None:
        meta = {
            name: str(record.meta.get(name)) for name in ("symbol", "source", "vr", "value", "val")
        }
        sources, stack = record.meta.get("sources") or [], record.meta.get("user_stack") or []
        if not isinstance(sources, list) or not all(isinstance(frame, dict) for frame in stack):
            raise TypeError("a symbol must have sources and a stack")
        row = {**meta, "sources": [*map(str, sources)], "user_stack": stack[-_FRAMES:]}
        self._content.symbols.append((record.name, record.compile_id, row))

    def _on_cache(self, record: LogRecord) -> None:
        event = read_cache_event(record.name, record.json() or {})
        self._content.cache.append((record.compile_id, event))

    def _on_unknown(self, record: LogRecord) -> None:
        rows = self._content.unknown.setdefault(record.name, [])
        if len(rows) < _KEPT_EACH:
            meta = record.meta if _is_flat(record.meta) else None
            row: dict[str, Any] = {"compile_id": record.compile_id, "metadata": meta}
            if record.raw:
                row["payload"] = record.text()[:_LARGEST]
            rows.append(row)


def _key(meta: dict[str, Any]) -> tuple[int, int]:
    """By what records of one tensor refer to each other."""
    key = meta["describer_id"], meta["id"]
    if not all(isinstance(part, int) for part in key):
        raise TypeError("a tensor must have a number")
    return key


def _is_metric(name: str, value: Any) -> bool:
    """Whether a value is of torch's type: another would fail where it is used."""
    if name in _TIMES:
        return type(value) in (int, float) and 0 <= value < _LATEST
    if name in _COUNTS:
        return type(value) is int
    return isinstance(value, bool if name == "config_suppress_errors" else str)


def _is_flat(value: Any, left: int = _DEEPEST) -> bool:
    """Whether a value can be written into a record: it nests few lists in each other."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return left > 0 and all(_is_flat(part, left - 1) for part in inner)
    return True
