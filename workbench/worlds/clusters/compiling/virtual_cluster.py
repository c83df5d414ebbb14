"""Being one rank of a cluster that is not there, by a fake process group of torch's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.process_groups.cluster import (
    MESH,
    Topology,
    keep_process_state,
    keep_topology,
)
from workbench.errors import UsageError

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


@contextmanager
def enter_virtual_cluster(
    mesh: Mapping[str, int], rank: int, topology: Topology
) -> Iterator[DeviceMesh]:
    """Be one rank of a cluster of these sizes by name, until it is left.

    The mesh is on the CPU: a model on it, or on meta, is compiled for GPUs by what compiles it.
    Raises `UsageError` for sizes, a rank or a topology that no cluster has, and beside a process
    group that is there already.
    """
    check_mesh(mesh, rank)
    check_topology(topology)
    import torch.distributed as dist

    if not dist.is_available():
        raise UsageError(
            "This torch build has no torch.distributed, which a virtual cluster needs. Install a "
            "build from torch's own index, which has it."
        )
    if dist.is_initialized():
        raise UsageError(
            "A process group exists already "
            f"({dist.get_backend()}, rank {dist.get_rank()} of {dist.get_world_size()}). Compile "
            "without wb.virtual_cluster, or call torch.distributed.destroy_process_group() first."
        )
    from torch.distributed.device_mesh import init_device_mesh

    store = tp.FAKE_STORE.get()()
    with keep_process_state() as process_patches:
        dist.init_process_group("fake", store=store, rank=rank, world_size=prod(mesh.values()))
        process_patches.callback(_destroy_group)
        keep_topology(topology, process_patches)
        process_patches.attribute(tp.DISTRIBUTED_WORLD.get(), MESH, dict(mesh))
        yield init_device_mesh("cpu", tuple(mesh.values()), mesh_dim_names=tuple(mesh))


def _destroy_group() -> None:
    import torch.distributed as dist

    if dist.is_initialized():  # the user may have done so
        dist.destroy_process_group()


_MOST_GPUS = 2**20
"""Ranks of a mesh. Torch lists each of them, and its group takes a size below 2**31."""


def check_mesh(mesh: Mapping[str, int], rank: int = 0) -> None:
    """Raise `UsageError` for sizes, or a rank, that no mesh has."""
    if not mesh or not all(name and size > 0 for name, size in mesh.items()):
        raise UsageError(
            f"mesh is {dict(mesh)!r}: give each dimension a name and a number of GPUs, as in "
            "`{'dp': 64, 'tp': 8}`."
        )
    world = prod(map(int, mesh.values()))
    if world > _MOST_GPUS:
        raise UsageError(f"mesh has {world:,} GPUs in total: give at most {_MOST_GPUS:,}.")
    if not 0 <= rank < world:
        sizes = " x ".join(map(str, mesh.values()))
        raise UsageError(f"rank is {rank}: a mesh of {sizes} has ranks 0 to {world - 1}.")


def check_topology(topology: Topology) -> None:
    """Raise `UsageError` for a number of GPUs or a rate that no node has."""
    if topology.gpus_per_node < 1:
        raise UsageError(f"gpus_per_node is {topology.gpus_per_node}: expected at least 1.")
    for name in ("nvlink_gb_s", "nic_gb_s"):
        if (rate := getattr(topology, name)) is not None and rate <= 0:
            raise UsageError(f"{name} is {rate}: expected the GB/s of one GPU, above 0.")
