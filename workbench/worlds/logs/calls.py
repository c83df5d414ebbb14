"""Logs that torch and tritonparse wrote on any machine, read as records."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from workbench.arguments import checked

if TYPE_CHECKING:
    from workbench.report import Report
    from workbench.worlds.logs.reading.log_report import Trace


__all__ = ["read_trace", "read_tritonparse"]


@checked
def read_trace(path: str | PathLike[str]) -> Trace:
    """Read torch's `TORCH_TRACE` output: one log, or a folder with the logs of several processes.

    The result is a report: graphs of every stage with their nodes, breaks, guards, recompiles,
    kernels, phases, cache hits and misses, failures. Its `capabilities` list what the log does not
    contain. For several logs, it combines all of them, and compile ids and threads include the name
    of their log. `.logs` has the report of each log, such as `.logs["rank 0"]`, ready for `diff`.
    `.session()` lists compiles, recompiles and skipped functions, as `wb.session` records them.

    Unknown kinds of records are in `.extra["unknown_records"]`. If a log is damaged, the notes of
    the request count the skipped parts. Texts are checked against the digests in their records;
    timers and other small records are not checked. Torch is not imported.

    Parameters
    ----------
    path
        A `*.log` or `*.log.gz` file, or a folder of them.

    Raises
    ------
    UsageError
        The log is missing or cannot be read.

    Examples
    --------
    >>> wb.read_trace("trace")  # the folder that TORCH_TRACE=trace python train.py wrote
    Trace(scores, looping, scaled, cpu, ok, 12 kernels, 2 breaks, 50 guards)
    """
    from workbench.worlds.logs.reading.log_report import read_trace as run

    return run(path)


@checked
def read_tritonparse(path: str | PathLike[str]) -> Report:
    """Read a tritonparse log: Triton kernels compiled and launched in any program.

    The result is a report. `frame("kernels")` has the kernels with their Python source, shared
    memory and launches. `frame("assembly")` has the TTIR, TTGIR, LLVM IR, PTX or AMD assembly of
    each configuration, mapped to source lines. `frame("resources")` has warps, stages and, on AMD,
    registers and spills. `frame("launches")` has grids and arguments with their counts;
    `frame("autotune")` has the timings of Triton's autotuner.

    Logs of several processes are read as one. A configuration that several processes compiled
    appears once. If a log is damaged, the notes of the request list the skipped parts. The
    capabilities list what such a log does not contain. Neither torch nor Triton is imported, and
    nothing from the log is executed.

    Parameters
    ----------
    path
        A `*.ndjson` or `*.ndjson.gz` file, written by the program or by `tritonparseoss parse`,
        or a folder of them.

    Raises
    ------
    UsageError
        The log is missing, cannot be read, or has no kernels.

    Examples
    --------
    >>> log = wb.read_tritonparse("triton_logs")  # the folder that tritonparse wrote to
    >>> log.frame("launches")[["config", "grid", "count", "is_timing"]]
      config   grid  count  is_timing
    0  k0:c0  (16,)      2      False
    1  k0:c2   (4,)      9       True
    2  k0:c0   (2,)      1      False
    """
    from workbench.worlds.logs.reading.kernel_log import read_tritonparse as run

    return run(path)
