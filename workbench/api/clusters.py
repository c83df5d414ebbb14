"""One rank of a cluster that is not there: what it compiles to, without a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from workbench.api.host import require_torch
from workbench.arguments import checked

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


__all__ = ["virtual_cluster"]


@require_torch
@checked
@contextmanager
def virtual_cluster(
    mesh: Mapping[str, int],
    rank: int = 0,
    *,
    gpus_per_node: int = 8,
    nvlink_gb_s: float | None = None,
    nic_gb_s: float | None = None,
) -> Iterator[DeviceMesh]:
    """Be one rank of a cluster of any size, in this process and without a network.

    Inside the block a model is made parallel as on a real cluster, with the mesh that is given, and
    `aot_compile` compiles what this rank would run: collectives, shards and the kernels between
    them. Its process group is torch's fake one, which sends nothing: what a call gives inside the
    block are numbers of no rank, and `verify` says so. A real process group, such as that of one
    rank that torchrun started, needs no block: `aot_compile` finds it.

    Parameters
    ----------
    mesh
        The dimensions of the mesh, each with its number of GPUs: `{"dp": 64, "tp": 8}` is 512.
        Ranks are counted along the last one first, as `init_device_mesh` does.
    rank
        Which of them this process is.
    gpus_per_node
        GPUs that are linked with one another and not through the network.
    nvlink_gb_s, nic_gb_s
        What one GPU sends to others of its node, and to other nodes, in GB/s, for the estimates by
        which Inductor orders collectives. Left out, torch's table for the GPU holds.

    Returns
    -------
    DeviceMesh
        What `with` gives: the mesh of torch, on the CPU. Build models on meta, which takes no
        memory, or on the CPU.

    Raises
    ------
    UsageError
        A size, the rank or a rate is none, a process group is there already, or this build of torch
        has no `torch.distributed`. There is no process group afterwards, also after an error.

    Examples
    --------
    >>> import torch.distributed._functional_collectives as fc
    >>> with wb.virtual_cluster({"dp": 64, "tp": 8}) as mesh:
    ...     def rows(x, w):
    ...         return torch.relu(fc.all_reduce(x @ w, "sum", (mesh, 1)))
    ...     w = torch.empty(8, 8, device="meta")
    ...     compiled = wb.aot_compile(rows, (w, w), target="h100")
    >>> compiled.report.frame("collectives")[["op", "bytes", "group_size"]].values.tolist()
    [['all_reduce', 256, 8]]
    """
    from workbench.compiler.cluster.cluster import Topology, enter_virtual_cluster

    topology = Topology(gpus_per_node, nvlink_gb_s, nic_gb_s)
    with enter_virtual_cluster(mesh, rank, topology) as made:
        yield made
