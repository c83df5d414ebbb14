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
    """Read what torch wrote under `TORCH_TRACE`: one log, or a folder with those of processes.

    The result is a report: graphs of every stage with their nodes, breaks, guards, recompilations,
    kernels, phases, cache answers, failures. Its capabilities say what a log cannot tell. Of
    several logs it holds everything, compile ids and threads named after the log; `.logs` has the
    report of each alone, such as `.logs["rank 0"]`, ready to be compared with `diff`.
    `.session()` is what was compiled, again and given up, as `wb.session` records it. Kinds of
    records that are not known are in `.extra["unknown_records"]`; what was passed over in a
    damaged log is counted in the notes of the request. Texts are checked against the digests in
    their records, timers and other small records are not. Torch is not imported.

    Parameters
    ----------
    path
        A `*.log` or `*.log.gz` file, or a folder of them.

    Raises
    ------
    UsageError
        There is no log, or it cannot be read.

    Examples
    --------
    >>> wb.read_trace("trace")  # the folder that TORCH_TRACE=trace python train.py wrote
    Trace(scores, looping, scaled, cpu, ok, 12 kernels, 2 breaks, 50 guards)
    """
    from workbench.worlds.logs.reading.log_report import read_trace as run

    return run(path)


@checked
def read_tritonparse(path: str | PathLike[str]) -> Report:
    """Read what tritonparse recorded of Triton kernels that were compiled and launched elsewhere.

    The result is a report: `frame("kernels")` has the kernels with their Python source, shared
    memory and launches, `frame("assembly")` the TTIR, TTGIR, LLVM IR, PTX or AMD assembly of each
    configuration with the line of the source that it comes from, `frame("resources")` warps, stages
    and, on AMD, registers and spills, `frame("launches")` grids and arguments with their counts,
    `frame("autotune")` what Triton's autotuner timed. Logs of several processes are read as one; a
    configuration that several of them compiled is there once. What was passed over in a damaged log
    is told in the notes of the request, what such a log cannot tell in the capabilities. Neither
    torch nor Triton is imported, and nothing of the log is run.

    Parameters
    ----------
    path
        A `*.ndjson` or `*.ndjson.gz` file, as the program wrote it or `tritonparseoss parse` left
        it, or a folder of them.

    Raises
    ------
    UsageError
        There is no log, or it cannot be read, or no kernel is in it.

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
