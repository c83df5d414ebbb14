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
    """Read what `torch.profiler` wrote of a device: where its time went, by module and line.

    `.sentence` says how long it took and how busy the device was, `.frame("kernels")` has a row for
    each kernel by operator and shapes; further tables are `modules`, `lines`, `gaps`, `streams`,
    `collectives`, `steps`, `memory` and `launches`. Times are measured, in µs. Only work of the
    device counts whose launch is in the trace. `.notes` say what the trace lacks, with the option
    of torch.profiler that records it, and what is wrong with it. Of a trace without a GPU it shows
    the operators of the CPU. Nothing of the file is run; torch is not imported.

    Parameters
    ----------
    path
        A `*.json` or `*.json.gz` file of `export_chrome_trace`, or a folder with one for each rank.
    gpu
        The GPU by its name in `targets()`, where the trace names none or another.

    Raises
    ------
    ArtifactError
        The file is no trace of torch.profiler, or nothing of it can be read.
    UsageError
        There is no such GPU, or no trace in the folder.

    Examples
    --------
    >>> p = wb.read_profile("trace.json.gz")
    >>> p.frame("kernels").operator[0]
    'aten::native_layer_norm_backward'
    """
    from workbench.worlds.profiles.reading.profile_reader import read_profile as run

    return run(path, gpu)
