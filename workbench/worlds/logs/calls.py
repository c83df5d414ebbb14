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
    """Read torch's `TORCH_TRACE` output: a log, or a folder with logs from several processes.

    Return a report with the graphs of every stage and their nodes, breaks, guards, recompiles,
    kernels, phases, cache hits and misses, and failures. The report's `capabilities` list data that
    the log does not contain. Several logs are combined into one report, in which compile ids and
    threads include the log name. `.logs` has a separate report for each log to pass to `diff`, such
    as `.logs["rank 0"]`. `.session()` lists compiles, recompiles and skipped functions, as in
    `wb.session`.

    Unknown record types are stored in `.extra["unknown_records"]`. If a log is damaged, the
    request's notes give the number of skipped parts. Payloads are checked against the digests in
    their records. Timers and other small records are not checked. torch is not imported.

    Parameters
    ----------
    path
        A `*.log` or `*.log.gz` file, or a folder of such files.

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

    Return a report. `frame("kernels")` lists the kernels with their Python source, shared memory
    and launches. `frame("assembly")` has the TTIR, TTGIR, LLVM IR, PTX or AMD assembly of each
    configuration, mapped to source lines. `frame("resources")` has warps, stages and, on AMD,
    registers and spills. `frame("launches")` has launch counts by grid and arguments.
    `frame("autotune")` has the timings from Triton's autotuner.

    Logs from several processes are merged. A configuration compiled by several processes appears
    once. If a log is damaged, the request's notes list the skipped parts. The report's
    `capabilities` list data that these logs do not contain. torch and Triton are not imported, and
    no code from the log is executed.

    Parameters
    ----------
    path
        A `*.ndjson` or `*.ndjson.gz` file, written by the program or by `tritonparseoss parse`, or
        a folder of such files.

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
