"""A log of tritonparse, or a folder of them, as a report of Triton kernels."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from workbench import __version__
from workbench.compiler.machine_code.code_readers import AssemblyRows, CompiledConfig, read_texts
from workbench.compiler.sources.sources import SourceTable
from workbench.device_kinds import GPU
from workbench.errors import UsageError
from workbench.file_path import check_file_path
from workbench.number_text import plural
from workbench.report import (
    TABLES,
    AutotuneChoice,
    Capability,
    Environment,
    Kernel,
    Link,
    Report,
    Request,
    Table,
    TextWriter,
)
from workbench.report.machine_rows import CODE_STAGES, Assembly, Launch, Resources
from workbench.report.report_header import KERNEL_LOG
from workbench.specs import Catalogue
from workbench.specs.device import Device
from workbench.worlds.logs.reading.kernel_events import (
    Called,
    Compilation,
    KernelLog,
    Tuned,
    number_in,
    part_of,
    word_in,
)
from workbench.worlds.logs.reading.log_report import opened, read_head
from workbench.worlds.logs.reading.source_places import LogPlaces

_NAMES = ("*.ndjson", "*.ndjson.gz")
_MAPPED = "_mapped"  # what tritonparse adds to the name of a log that it has worked over
_MOST_PACKED = 200  # times; logs of many launches are packed to a fortieth
_LEAST_UNPACKED = 1 << 30  # bytes
_HOW = (
    "To write one, call tritonparse.structured_logging.init(FOLDER, enable_trace_launch=True) in "
    "the program; the output of `tritonparseoss parse` works too"
)
_NEVER = "a tritonparse log covers only Triton kernels: it has no {}"
_NO_REGISTERS = (
    "the log has no cubin, and PTX does not have the registers that ptxas allocates: compile the "
    "kernel here for a virtual GPU"
)
_NO_LAUNCHES = (
    "the log has no launches: record it with enable_trace_launch=True (TRITON_TRACE_LAUNCH=1)"
)
_OTHER = (  # how other files begin, and what they are
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd: unpack it first (zstd -d)"),
    (b"PK", "is a zip file: unpack it first"),
    (b"V", "looks like a TORCH_TRACE log: open it with wb.read_trace"),
)


def read_tritonparse(path: str | PathLike[str]) -> Report:
    """Read a log or a folder of logs; see `workbench.read_tritonparse`."""
    log = KernelLog()
    for file in kernel_log_files(path):
        with opened(file) as content:
            most = max(_LEAST_UNPACKED, _MOST_PACKED * file.stat().st_size)
            log.read(content, most if isinstance(content, gzip.GzipFile) else 1 << 40)
            if not log.compilations and not log.unknown:
                refuse_other(file)
    if not log.compilations:
        passed = "; ".join(log.sentences())
        reason = f" ({passed})" if passed else ""
        raise UsageError(f"{path} has no tritonparse kernel{reason}. {_HOW}.")
    return _report(log)


def kernel_log_files(path: str | PathLike[str]) -> list[Path]:
    """The logs behind a path, by name; of one that was worked over, only that.

    Raises
    ------
    UsageError
        There is no such file or folder, or the folder holds no log.
    """
    where = Path(check_file_path(path)).expanduser()
    if where.is_file():
        return [where]
    if not where.is_dir():
        raise UsageError(f"The tritonparse log {where} does not exist. {_HOW}.")
    files = sorted(file for name in _NAMES for file in where.glob(name))
    if not files:
        raise UsageError(
            f"The folder {where} has no tritonparse log ({', '.join(_NAMES)}). {_HOW}."
        )
    stems = {file.name.partition(".")[0] for file in files}
    return [file for file in files if file.name.partition(".")[0] + _MAPPED not in stems]


def refuse_other(file: Path) -> None:
    """Raise for a file that begins as one of another kind does."""
    head = read_head(file)
    for begin, what in _OTHER:
        if head.startswith(begin):
            raise UsageError(f"{file} {what}.")
    if b'"traceEvents"' in head or b'"deviceProperties"' in head:
        raise UsageError(f"{file} is a torch.profiler trace: open it with wb.read_profile.")
    if b'"tables"' in head or b'"environment"' in head:
        raise UsageError(f"{file} is an aot-workbench report: open it with wb.Report.load.")


def _report(log: KernelLog) -> Report:
    compiled = list(log.compilations.values())
    stacks = [*(one.stack for one in compiled), *log.stacks.values()]
    files = [one.source.file for one in compiled if one.source]
    places = LogPlaces([*files, *(called.frame.file for stack in stacks for called in stack)])
    rows = KernelLogRows(log, places)
    capabilities = Table.of(TABLES["capabilities"], list(_capabilities(log, rows)))
    return Report(
        environment=Environment(
            workbench=__version__, python=places.python, triton=triton_versions(compiled) or None
        ),
        request=_request(log, compiled),
        tables={**rows.tables(), "capabilities": capabilities},
        texts=rows.texts.finish(),
        extra={"unknown_records": dict(log.unknown)},
    )


def _request(log: KernelLog, compiled: Sequence[Compilation]) -> Request:
    names = list(dict.fromkeys(one.name for one in compiled))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    targets = dict.fromkeys(filter(None, (architecture(one.metadata) for one in compiled)))
    notes = [*log.sentences(), *_timings(log)]
    if len(log.processes) > 1:
        notes.append(f"written by {plural(len(log.processes), 'process', 'processes')}")
    return Request(
        name=", ".join(names[:3]) + more,
        kind=KERNEL_LOG,
        backend="triton",
        target=", ".join(targets) or GPU,
        guards="as compiled",
        capture="tritonparse log",
        notes=tuple(notes),
    )


def _timings(log: KernelLog) -> Iterator[str]:
    """How many launches only timed a configuration."""
    count = sum(count for kind, count in log.launches.items() if kind.is_timing)
    if count:
        total = plural(log.launches.total(), "launch", "launches")
        yield f"{count:,} of {total} only timed configurations for autotuning"


def _capabilities(log: KernelLog, rows: KernelLogRows) -> Iterator[Capability]:
    """What such a log can hold, and why some of it is not in this one."""
    yield Capability("kernels", True)
    has_code = any(row.text is not None for row in rows.assembly)
    yield Capability("assembly", has_code, None if has_code else "the log has no code")
    has_launches = bool(rows.launches)
    yield Capability("launches", has_launches, None if has_launches else _NO_LAUNCHES)
    if any(row.registers is None for row in rows.resources):
        yield Capability("registers", False, _NO_REGISTERS)
    for name, what in (
        ("graphs", "graph"),
        ("guards", "guard"),
        ("breaks", "graph break"),
        ("fusion", "fusion decision"),
        ("phases", "timeline"),
        ("buffers", "buffer"),
    ):
        yield Capability(name, False, _NEVER.format(what))
    if not log.tuned:
        yield Capability("autotune", False, "the log has no timings of Triton's autotuner")


_NOT_OWN = re.compile(
    r"/triton/(?:runtime|compiler|backends|language|knobs|testing)\b|/(?:site|dist)-packages/|/torch/_"
    r"|/tritonparse/(?:structured_logging|context_manager)\.py$|/torchinductor_|^<frozen "
)
_UNKNOWN_REGISTERS = "the log does not have its register count"
_MOST_WARPS = 64  # of a block, on any GPU


class KernelLogRows:
    """The rows of one log or of several; texts go to `texts`."""

    def __init__(self, log: KernelLog, places: LogPlaces):
        self.texts = TextWriter()
        self.assembly: list[Assembly] = []
        self.resources: list[Resources] = []
        self.launches: list[Launch] = []
        self.kernels: list[Kernel] = []
        self.links: list[Link] = []
        self._log, self._places = log, places
        self._is_mixed = len({architecture(o.metadata) for o in log.compilations.values()}) > 1
        self._groups = list(group_configurations(log))
        self._configs = {
            one.hash: (f"k{n}", f"k{n}:c{m}")
            for n, group in enumerate(self._groups)
            for m, one in enumerate(group)
        }
        for one in log.compilations.values():
            self._note(one.stack)
        for stack in log.stacks.values():
            self._note(stack)
        self.sources = SourceTable([places], self.texts)
        self._read_launches()
        self._read_kernels()

    def tables(self) -> Mapping[str, Table[Any]]:
        """Every table by name."""
        rows: dict[str, list[Any]] = {
            "sources": self.sources.rows,
            "kernels": self.kernels,
            "assembly": self.assembly,
            "resources": self.resources,
            "launches": self.launches,
            "autotune": [
                row for n, one in enumerate(self._log.tuned) for row in list_choices(n, one)
            ],
            "links": self.links,
        }
        return {name: Table.of(TABLES[name], part) for name, part in rows.items()}

    def _note(self, stack: Iterable[Called]) -> None:
        for frame, text in _own(stack):
            self._places.note(frame.file, frame.line, frame.function, text)

    def _lines(self, stack: Iterable[Called]) -> tuple[str, ...]:
        """The `L:` ids of the user's lines of a stack, the innermost first."""
        ids = (
            self.sources.line_id(self._places.shown(frame.file), frame.line)
            for frame, _ in reversed(list(_own(stack)))
        )
        return tuple(dict.fromkeys(id for id in ids if id is not None))

    def _read_launches(self) -> None:
        launched = {kind.hash for kind in self._log.launches}
        for kind, count in self._log.launches.items():
            lines = self._lines(self._log.stacks.get(kind, ()))[:1]
            self.launches.append(
                Launch(
                    *self._configs[kind.hash],
                    grid=kind.grid,
                    count=count,
                    arguments=kind.arguments,
                    stream=kind.stream,
                    is_timing=kind.is_timing,
                    lines=lines,
                )
            )
        for hash, count in self._log.counted.items():
            if hash in self._configs and hash not in launched:  # only the summary is in the log
                self.launches.append(Launch(*self._configs[hash], (), count))

    def _read_kernels(self) -> None:
        rows = AssemblyRows(self.texts, self._places)
        counts: dict[str, int] = {}
        lines: dict[str, list[str]] = {}
        for launch in self.launches:
            if not launch.is_timing:
                counts[launch.kernel] = counts.get(launch.kernel, 0) + launch.count
            lines.setdefault(launch.kernel, []).extend(launch.lines)
        for n, group in enumerate(self._groups):
            id, first = f"k{n}", len(self.resources)
            for one in group:
                self._read_config(one, rows)
            stack = self._lines(group[0].stack)
            own = tuple(dict.fromkeys(lines.get(id) or stack[:1]))
            kernel = self._kernel(id, group[0], self.resources[first])
            row = replace(kernel, calls=counts.get(id, 1), lines=own, called_from=stack[1:])
            self.kernels.append(row)
            self.links += [Link(line, id, "line-kernel") for line in own]

    def _kernel(self, id: str, one: Compilation, row: Resources) -> Kernel:
        source = one.source
        return Kernel(
            id=id,
            name=one.name,
            language="triton",
            graph="",
            text=None if source is None else self.texts.add(self._places.shared(source.text)),
            registers=row.registers,
            spills=row.spills,
            smem_bytes=row.smem_bytes,
            occupancy=row.occupancy,
            estimate=row.estimate,
        )

    def _on(self, one: Compilation) -> str:
        """What a configuration is for, where the logs hold code for several architectures."""
        return f" on {architecture(one.metadata) or 'another GPU'}" if self._is_mixed else ""

    def _read_config(self, one: Compilation, rows: AssemblyRows) -> None:
        kernel, id = self._configs[one.hash]
        warps = number_in(one.metadata, "num_warps") or 0
        config = CompiledConfig(
            kernel=one.name,
            file=one.source.file if one.source else "",
            source=one.source.text if one.source else "",
            choice=f"{describe_constants(one)}{self._on(one)}",
            warps=warps,
            stages=number_in(one.metadata, "num_stages") or 0,
            dynamic_shared=number_in(one.metadata, "shared") or 0,
            texts=one.texts,
            binary=b"",
            lines_before=one.source.first_line - 1 if one.source else 0,
        )
        is_possible = 0 < warps <= _MOST_WARPS
        device = find_device(architecture(one.metadata)) if is_possible else None
        code = read_texts(config, device)
        note = _UNKNOWN_REGISTERS if code.resources.registers is None else code.resources.note
        assembly = [*rows.of(kernel, id, config, code)]
        assembly += [
            Assembly(kernel, id, stage, None, note=why) for stage, why in one.missing.items()
        ]
        self.assembly += sorted(assembly, key=lambda row: CODE_STAGES.index(row.stage))
        self.resources.append(replace(code.resources, kernel=kernel, config=id, note=note))


def group_configurations(log: KernelLog) -> Iterator[list[Compilation]]:
    """The configurations of each kernel, that of one name and text, the most launched first."""
    groups: dict[tuple[str, str], list[Compilation]] = {}
    for one in log.compilations.values():
        groups.setdefault((one.name, one.source.text if one.source else ""), []).append(one)
    launched: Counter[str] = Counter()
    for kind, count in log.launches.items():
        launched[kind.hash] += 0 if kind.is_timing else count
    for group in groups.values():
        yield sorted(group, key=lambda one: -launched[one.hash])


def _own(stack: Iterable[Called]) -> Iterator[Called]:
    """The frames that are the user's, outermost first."""
    return (called for called in stack if not _NOT_OWN.search(called.frame.file))


def list_choices(number: int, tuned: Tuned) -> Iterator[AutotuneChoice]:
    """What the autotuner timed of one kernel, and what it took."""
    operation = f"{tuned.kernel} {tuned.key}".strip()
    for n, (config, time) in enumerate(tuned.times_ms):
        note = "the log has no time" if time is None else None
        is_best = config == tuned.best
        yield AutotuneChoice(f"a{number}:{n}", operation, config, "triton", time, is_best, note)


_ARCH = re.compile(r"(?:sm_?)?(\d{2,3})[a-z]?")
_PLACE = re.compile(r"\((\d{1,4}),\)")
_NAME = re.compile(r"\s*\*{0,2}(\w+)")
_COMMENT = re.compile(r"#[^\n]*")
_OPEN, _CLOSED = "([{", ")]}"


def architecture(metadata: dict[str, Any]) -> str:
    """`sm_75`, `gfx942`, or empty where the log does not say."""
    arch = part_of(metadata, "target").get("arch") or metadata.get("arch")
    if isinstance(arch, str) and arch.startswith("gfx"):
        return arch.partition(":")[0]
    match = _ARCH.fullmatch(str(arch))
    return f"sm_{match[1]}" if match else ""


def find_device(arch: str) -> Device | None:
    """A GPU of an architecture: what its multiprocessors hold is the same for all of them."""
    gpus = (gpu for gpu in Catalogue.built_in() if gpu.arch == arch)
    return next(map(Device, gpus), None)


def describe_constants(compiled: Compilation) -> str:
    """The constants that were chosen for a configuration: `BLOCK_SIZE=1024`.

    Arguments that Triton made constants because they are 1 are left out where the source of the
    function tells them from the others.
    """
    constants = part_of(compiled.metadata, "src_constants")
    text = compiled.source.text if compiled.source else ""
    parameters = list_parameters(text, compiled.name)
    chosen = []
    for key, value in constants.items():
        match = _PLACE.fullmatch(key)
        place = int(match[1]) if match else -1
        declared = parameters[place] if 0 <= place < len(parameters) else key
        if not parameters or "constexpr" in declared or match is None:
            name = _NAME.match(declared)
            chosen.append(f"{name[1] if name and match else key}={str(value)[:80]}")
    return ", ".join(chosen)


def list_parameters(text: str, function: str) -> Sequence[str]:
    """The parameters of a function as they are declared, read without running or parsing Python."""
    _, start, rest = text.partition(f"def {function}(")
    rest = _COMMENT.sub("", rest)
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(rest):
        if letter in _OPEN:
            depth += 1
        elif letter in _CLOSED and depth:
            depth -= 1
        elif letter in _CLOSED or (letter == "," and not depth):
            parts.append(rest[begin:at].strip())
            begin = at + 1
            if letter != ",":
                return [part for part in parts if part and part not in "*/"] if start else []
    return []


def triton_versions(compilations: Sequence[Compilation]) -> str:
    """The versions of Triton that made them."""
    names = dict.fromkeys(word_in(one.metadata, "triton_version") for one in compilations)
    return ", ".join(filter(None, names))
