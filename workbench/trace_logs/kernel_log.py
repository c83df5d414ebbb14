"""A log of tritonparse, or a folder of them, as a report of Triton kernels."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

from workbench import __version__
from workbench.device_kinds import GPU
from workbench.errors import UsageError
from workbench.file_path import check_file_path
from workbench.number_text import plural
from workbench.report import TABLES, Capability, Environment, Report, Request, Table
from workbench.report.report_header import KERNEL_LOG
from workbench.trace_logs.kernel_events import Compilation, KernelLog
from workbench.trace_logs.kernel_log_rows import KernelLogRows
from workbench.trace_logs.kernel_metadata import architecture, triton_versions
from workbench.trace_logs.log_report import opened, read_head
from workbench.trace_logs.source_places import LogPlaces

_NAMES = ("*.ndjson", "*.ndjson.gz")
_MAPPED = "_mapped"  # what tritonparse adds to the name of a log that it has worked over
_MOST_PACKED = 200  # times; logs of many launches are packed to a fortieth
_LEAST_UNPACKED = 1 << 30  # bytes
_HOW = (
    "tritonparse.structured_logging.init(FOLDER, enable_trace_launch=True) in the program writes "
    "one, `tritonparseoss parse` another with more in it: both are read"
)
_NEVER = "a log of tritonparse tells of Triton's kernels alone: no {} is in it"
_NO_REGISTERS = (
    "the log holds no machine code (cubin) of NVIDIA's kernels, and PTX does not say how many "
    "registers ptxas takes: compile the kernel here for a virtual GPU to know"
)
_NO_LAUNCHES = (
    "the log holds no launches: record it with enable_trace_launch=True (TRITON_TRACE_LAUNCH=1)"
)
_OTHER = (  # how other files begin, and what they are
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd: unpack it first (zstd -d), then read it"),
    (b"PK", "is a zip file: unpack it first"),
    (b"V", "looks like a log that torch wrote under TORCH_TRACE: wb.read_trace reads it"),
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
        said = f" ({passed})" if passed else ""
        raise UsageError(f"{path} holds no kernel that tritonparse recorded{said}: {_HOW}.")
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
        raise UsageError(f"There is no log of tritonparse {where}: {_HOW}.")
    files = sorted(file for name in _NAMES for file in where.glob(name))
    if not files:
        raise UsageError(
            f"The folder {where} holds no log of tritonparse ({', '.join(_NAMES)}): {_HOW}."
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
        raise UsageError(f"{file} is a trace of torch.profiler: wb.read_profile opens it.")
    if b'"tables"' in head or b'"environment"' in head:
        raise UsageError(f"{file} is a record of this workbench: wb.Report.load opens it.")


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
        notes.append(f"{plural(len(log.processes), 'process', 'processes')} wrote what is here")
    return Request(
        name=", ".join(names[:3]) + more,
        kind=KERNEL_LOG,
        backend="triton",
        target=", ".join(targets) or GPU,
        guards="as compiled",
        capture="log of tritonparse",
        notes=tuple(notes),
    )


def _timings(log: KernelLog) -> Iterator[str]:
    """How many launches only timed a configuration."""
    count = sum(count for kind, count in log.launches.items() if kind.is_timing)
    if count:
        total = plural(log.launches.total(), "launch", "launches")
        yield f"{count:,} of {total} only timed configurations, for an autotuner"


def _capabilities(log: KernelLog, rows: KernelLogRows) -> Iterator[Capability]:
    """What such a log can hold, and why some of it is not in this one."""
    yield Capability("kernels", True)
    has_code = any(row.text is not None for row in rows.assembly)
    yield Capability("assembly", has_code, None if has_code else "the log holds no code")
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
        yield Capability("autotune", False, "the log holds no timings of Triton's autotuner")
