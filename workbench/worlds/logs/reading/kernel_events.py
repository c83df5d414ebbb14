"""The events of a log of tritonparse: what Triton compiled and launched, one JSON object a line.

Values are taken only where they have the type that tritonparse gives them. Launches of one kind,
that is of one kernel with the same grid and arguments, are counted and not kept one by one.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedIOBase
from typing import Any, NamedTuple

import orjson

from workbench.compiler.sources.sources import Frame
from workbench.number_text import plural
from workbench.report.machine_rows import CODE_STAGES

LONGEST_LINE = 128 << 20  # bytes; tritonparse cuts each text in an event at 10 MB
_MOST_TEXT = 1 << 30  # characters of the compilers' texts that are kept
_MOST_KINDS = 100_000  # of launches that are told apart
_LARGEST_NUMBER = 1 << 53
_MOST_LINES = 10_000_000  # of a file of Python
_LONGEST_WORD = 200  # letters of an argument
_LEFT_OUT = "<"  # how a message begins that stands in place of a text
_TIMING = re.compile(r"/triton/(?:testing|runtime/autotuner)\.py$|/torch/_inductor/runtime/bench")
_BENCH = ("do_bench", "do_bench_cudagraph", "_bench", "benchmark", "benchmark_gpu")


class Called(NamedTuple):
    """A frame of a stack with the text of its line."""

    frame: Frame
    text: str


@dataclass(frozen=True)
class PythonSource:
    """The text of a kernel's function and where it is."""

    file: str
    first_line: int
    text: str


@dataclass
class Compilation:
    """One kernel in one configuration; `missing` says of stages why their text is not there."""

    name: str
    hash: str
    metadata: dict[str, Any]
    texts: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    source: PythonSource | None = None
    stack: tuple[Called, ...] = ()


class LaunchKind(NamedTuple):
    """What launches that are counted together have in common."""

    hash: str
    grid: tuple[int, ...]
    arguments: tuple[tuple[str, str], ...]
    stream: int | None
    is_timing: bool  # made to time a configuration, as autotuners do


class Tuned(NamedTuple):
    """What the autotuner timed for one kernel, in milliseconds by configuration."""

    kernel: str
    key: str
    best: str
    times_ms: tuple[tuple[str, float | None], ...]


@dataclass
class KernelLog:
    """Everything that one or several logs hold, compilations by their hash."""

    compilations: dict[str, Compilation] = field(default_factory=dict)
    launches: Counter[LaunchKind] = field(default_factory=Counter)
    stacks: dict[LaunchKind, tuple[Called, ...]] = field(default_factory=dict)  # of the first
    counted: dict[str, int] = field(default_factory=dict)  # launches in summaries, by hash
    tuned: list[Tuned] = field(default_factory=list)
    processes: set[int] = field(default_factory=set)
    unknown: Counter[str] = field(default_factory=Counter)  # events by their kind
    unreadable: int = 0  # lines that are no event
    oversized: int = 0  # lines that were too long to be read
    is_cut_off: bool = False
    given_up: str = ""  # why the rest was not read
    kept: int = 0  # characters of texts

    def read(self, file: BufferedIOBase, most: int) -> None:
        """Take the events of one log, of which at most so many bytes are read."""
        is_whole = True
        for line in self._lines(file, most):
            if not line.strip():
                continue
            is_whole = line.endswith(b"\n")
            try:
                event = orjson.loads(line)
            except ValueError:
                self.unreadable += is_whole
                self.is_cut_off |= not is_whole
                continue
            self._take(event)

    def sentences(self) -> Iterator[str]:
        """What was passed over, in words."""
        if self.unreadable:
            yield f"skipped {plural(self.unreadable, 'line')} without an event"
        if self.oversized:
            size = f"{LONGEST_LINE >> 20} MiB"
            yield f"skipped {plural(self.oversized, 'event')} larger than {size}"
        if self.unknown:
            kinds = ", ".join(sorted(self.unknown)[:8])
            yield f"unsupported kinds of events: {kinds}"
        if self.given_up:
            yield f"the rest of the log was not read: {self.given_up}"
        if self.is_cut_off:
            yield "the log ends within an event: the process was stopped or is still writing"

    def _lines(self, file: BufferedIOBase, most: int) -> Iterator[bytes]:
        whole, is_inside = 0, False
        try:
            while line := file.readline(LONGEST_LINE):
                whole += len(line)
                if whole > most:
                    self.given_up = f"it exceeds {most >> 20} MiB unpacked"
                    return
                is_end = line.endswith(b"\n")
                if len(line) == LONGEST_LINE and not is_end:
                    if not self.compilations and not self.unknown:
                        self.given_up = f"its first {LONGEST_LINE >> 20} MiB contain no event"
                        return
                    self.oversized += not is_inside
                    is_inside = True
                elif is_inside:
                    is_inside = not is_end
                else:
                    yield line
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.is_cut_off = True

    def _take(self, event: Any) -> None:
        kind = event.get("event_type") if isinstance(event, dict) else None
        if not isinstance(kind, str):
            self.unreadable += 1
            return
        if (pid := number_in(event, "pid")) is not None:
            self.processes.add(pid)
        match kind:
            case "compilation":
                self._compiled(event)
            case "launch":
                self._launched(event)
            case "launch_diff":
                self._summed(event)
            case "autotune":
                self._autotuned(event)
            case _:
                self.unknown[kind[:_LONGEST_WORD]] += 1

    def _compiled(self, event: dict[str, Any]) -> None:
        payload = part_of(event, "payload")
        compilation = self._known(part_of(payload, "metadata"), _stack(event))
        if compilation.texts or compilation.missing:  # another process took it from Triton's cache
            return
        compilation.source = _python_source(part_of(payload, "python_source"))
        for file, text in part_of(payload, "file_content").items():
            stage = file.rpartition(".")[2]
            if stage not in CODE_STAGES or not isinstance(text, str):
                continue
            if text.startswith(_LEFT_OUT) and "\n" not in text:
                compilation.missing[stage] = f"tritonparse: {text.strip('<>')[:_LONGEST_WORD]}"
            elif self.kept + len(text) > _MOST_TEXT:
                compilation.missing[stage] = "not kept: the logs have too much text"
            else:
                self.kept += len(text)
                compilation.texts[stage] = text

    def _known(self, metadata: dict[str, Any], stack: tuple[Called, ...]) -> Compilation:
        """The compilation that metadata belong to, begun where they are the first of it."""
        name = word_in(metadata, "name") or "?"
        hash = word_in(metadata, "hash") or f"? {name}"
        return self.compilations.setdefault(hash, Compilation(name, hash, metadata, stack=stack))

    def _launched(self, event: dict[str, Any]) -> None:
        stack = _stack(event)
        metadata = part_of(event, "compilation_metadata")
        named = {"name": word_in(event, "name")}
        compiled = self._known({**named, **metadata}, stack)
        arguments = part_of(event, "extracted_args").items()
        kind = LaunchKind(
            compiled.hash,
            _grid(event),
            tuple((name[:_LONGEST_WORD], _argument(value)) for name, value in arguments),
            number_in(event, "stream"),
            any(_TIMING.search(f.file) and f.function in _BENCH for f, _ in stack),
        )
        if kind not in self.launches and len(self.launches) >= _MOST_KINDS:
            kind = LaunchKind(compiled.hash, (), (), None, kind.is_timing)
        self.launches[kind] += 1
        self.stacks.setdefault(kind, stack)

    def _summed(self, event: dict[str, Any]) -> None:
        hash, count = word_in(event, "hash"), number_in(event, "total_launches")
        if hash and count:
            self.counted[hash] = count

    def _autotuned(self, event: dict[str, Any]) -> None:
        times = part_of(event, "configs_timings")
        self.tuned.append(
            Tuned(
                word_in(event, "kernel_name") or "?",
                word_in(event, "autotune_key"),
                word_in(event, "best_config"),
                tuple((config, _first_time(value)) for config, value in times.items()),
            )
        )


def part_of(data: dict[str, Any], name: str) -> dict[str, Any]:
    """The object of that name, empty where it is none."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def word_in(data: dict[str, Any], name: str) -> str:
    """The text of that name, empty where it is none."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def number_in(data: dict[str, Any], name: str) -> int | None:
    """The count of that name, None where it is none."""
    value = data.get(name)
    return value if _is_count(value) else None


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _LARGEST_NUMBER


def _stack(event: dict[str, Any]) -> tuple[Called, ...]:
    rows = event.get("stack")
    frames = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return tuple(
        Called(Frame(file, line, word_in(row, "name")), word_in(row, "loc").strip())
        for row in frames
        if (file := word_in(row, "filename")) and (line := number_in(row, "line"))
    )


def _python_source(part: dict[str, Any]) -> PythonSource | None:
    """The function alone, also where the log has its whole file."""
    code, file = word_in(part, "code"), word_in(part, "file_path")
    first = number_in(part, "start_line") or 1
    if not code or not file or first > _MOST_LINES:
        return None
    begin, end = number_in(part, "function_start_line"), number_in(part, "function_end_line")
    if begin and end and first <= begin <= end:
        own_lines = code.split("\n")[begin - first : end - first + 1]
        first, code = begin, "\n".join(own_lines)
    lines = code.lstrip("\n")
    return PythonSource(file, first + len(code) - len(lines), lines.rstrip("\n"))


def _grid(event: dict[str, Any]) -> tuple[int, ...]:
    grid = event.get("grid")
    return tuple(size for size in grid[:3] if _is_count(size)) if isinstance(grid, list) else ()


def _argument(value: Any) -> str:
    """An argument in words: a tensor by dtype and sizes, a number as it is."""
    if not isinstance(value, dict):
        return str(value)[:_LONGEST_WORD]
    shape = value.get("shape")
    if not isinstance(shape, list):
        text = value.get("value", word_in(value, "type") or "?")
        return str(text)[:_LONGEST_WORD]
    dtype = word_in(value, "dtype").removeprefix("torch.") or word_in(value, "type")
    strides = f" strides {value.get('stride')}" if value.get("is_contiguous") is False else ""
    return f"{dtype}{shape}{strides}"[:_LONGEST_WORD]


def _first_time(value: Any) -> float | None:
    """The time that Triton compares: the first of several; one that failed has none."""
    first = value[0] if isinstance(value, list) and value else value
    is_time = type(first) in (int, float) and 0 <= first < _LARGEST_NUMBER
    return float(first) if is_time else None
