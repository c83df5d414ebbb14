"""`wb.read_profile`."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from workbench.arguments import checked

if TYPE_CHECKING:
    from workbench.worlds.profiles.rows.run_profile import RunProfile

__all__ = ["read_profile"]


@checked
def read_profile(path: str | PathLike[str], gpu: str | None = None) -> RunProfile:
    """Read a `torch.profiler` trace, and attribute device time to modules and source lines.

    `.sentence` gives the total time and how busy the device was. `.frame("kernels")` has a row for
    each combination of kernel, operator and shapes. The other tables are `modules`, `lines`,
    `gaps`, `streams`, `collectives`, `steps`, `memory` and `launches`. Times are measured, in µs.
    Device work counts only if its launch is in the trace. `.notes` lists errors in the trace, and
    missing data with the torch.profiler option that records it. For a trace without GPU activity,
    the tables show CPU operators. No code from the file is executed, and torch is not imported.

    Parameters
    ----------
    path
        A `*.json` or `*.json.gz` file from `export_chrome_trace`, or a folder with one file per
        rank.
    gpu
        A GPU name from `targets()`, for traces in which the GPU name is missing or wrong.

    Raises
    ------
    ArtifactError
        The file is not a torch.profiler trace or cannot be read.
    UsageError
        The GPU is unknown, or the folder has no traces.

    Examples
    --------
    >>> p = wb.read_profile("trace.json.gz")
    >>> p.frame("kernels").operator[0]
    'aten::native_layer_norm_backward'
    """
    from workbench.worlds.profiles.reading.profile_reader import read_profile as run

    return run(path, gpu)
