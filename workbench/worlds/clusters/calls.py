"""Ranks of a cluster that is not there: what each compiles to, without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.host import require_torch

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

    from workbench.tasks.progress_events import ProgressCallback
    from workbench.worlds.clusters.findings.ranks import Ranks
    from workbench.worlds.clusters.findings.scaling import Scaling


__all__ = ["overlap_estimator", "ranks", "scaling", "virtual_cluster"]


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
    """Run as one rank of a cluster of any size, in this process and without a network.

    Inside the block, parallelize a model with the given mesh as on a real cluster. `aot_compile`
    then compiles the code of this rank: collectives, shards and the kernels between them. The block
    uses torch's fake process group, which sends nothing. Values computed inside the block are
    therefore not those of a real rank, and `verify` reports this. With a real process group, for
    example under torchrun, omit the block: `aot_compile` finds the group.

    Parameters
    ----------
    mesh
        The dimensions of the mesh, each with its number of GPUs: `{"dp": 64, "tp": 8}` is 512 GPUs.
        Ranks are numbered along the last dimension first, as in `init_device_mesh`.
    rank
        The rank of this process.
    gpus_per_node
        Number of GPUs that are linked directly, not through the network.
    nvlink_gb_s, nic_gb_s
        Bandwidth of one GPU in GB/s, within its node and to other nodes. Inductor uses them to
        order collectives. Default: torch's table for the GPU.

    Returns
    -------
    DeviceMesh
        The value of `with`: torch's mesh, on the CPU. Build models on the meta device, which takes
        no memory, or on the CPU.

    Raises
    ------
    UsageError
        A size, the rank or a rate is invalid, a process group already exists, or this build of
        torch lacks `torch.distributed`. The block destroys its process group at the end, even after
        an error.

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
    from workbench.compiler.process_groups.cluster import Topology
    from workbench.worlds.clusters.compiling.virtual_cluster import enter_virtual_cluster

    topology = Topology(gpus_per_node, nvlink_gb_s, nic_gb_s)
    with enter_virtual_cluster(mesh, rank, topology) as device_mesh:
        yield device_mesh


@require_torch
@checked
def ranks(
    build: Callable[..., Any],
    mesh: Mapping[str, int],
    ranks: Sequence[int] | None = None,
    *,
    target: str = "h100",
    gpus_per_node: int = 8,
    nvlink_gb_s: float | None = None,
    nic_gb_s: float | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    grad: bool | None = None,
    progress: ProgressCallback | None = None,
) -> Ranks:
    """Compile several ranks of a cluster, and report where they differ or deadlock.

    `build` runs once for each rank, inside a virtual cluster as that rank. Nothing is sent or
    computed. Each rank is compiled separately, and no two ranks are assumed to run the same code.
    The result has `.sentences`, `.frame()` with a row for each rank (also "shards", "order" and
    "collectives"), and `.diff()` between two ranks. `.hangs` lists deadlocks. `.reports` has a
    report for each rank, and `.errors` lists the ranks that could not be built or compiled. Bytes
    are per rank.

    Parameters
    ----------
    build
        A function that takes the mesh and builds the model for the current rank. It returns the
        model and the tuple of its example inputs: `return model, (x,)`. A model on the meta device
        takes no memory.
    mesh, gpus_per_node, nvlink_gb_s, nic_gb_s
        As in `virtual_cluster`.
    ranks
        The ranks to compile. None compiles every rank of a cluster of up to 8 GPUs. In a larger
        cluster, it compiles the first rank, the last rank along each dimension, and the first rank
        of each set of uneven shards, for at most 8 sets. Shard sizes are read from DTensor
        parameters and inputs. If the code branches on its rank (pipeline stages), list those ranks.
    target, mode, options, grad
        As in `aot_compile`.
    progress
        Called for each phase of each rank, with its name and the seconds since the start. By
        default, terminals and interactive notebooks show a progress line.

    Raises
    ------
    UsageError
        A size, a rank or a rate is invalid, `build` does not return a model and its inputs, or a
        process group already exists. Also raised if no rank could be built and compiled. No process
        group is left behind.

    Examples
    --------
    >>> import torch.distributed._functional_collectives as fc
    >>> def build(mesh):
    ...     def rows(x, w):
    ...         return torch.relu(fc.all_reduce(x @ w, "sum", mesh))
    ...     w = torch.empty(8, 8, device="meta")
    ...     return rows, (w, w)
    >>> found = wb.ranks(build, {"tp": 8}, [0, 7])
    >>> found.frame()[["rank", "program", "message_bytes"]].values.tolist()
    [[0, 0, 256], [7, 0, 256]]
    """
    from workbench.compiler.process_groups.cluster import Topology
    from workbench.compiler.request.composition import choose_options
    from workbench.handles.running.progress_line import follow_in_a_line
    from workbench.worlds.clusters.compiling.compiled_ranks import RanksRequest, compile_ranks

    chosen = choose_options(build, None, mode, options, grad=grad, target=target)
    topology = Topology(gpus_per_node, nvlink_gb_s, nic_gb_s)
    with follow_in_a_line(progress, "Ranks of a cluster") as callback:
        return compile_ranks(RanksRequest(build, mesh, ranks, topology, chosen, callback))


@require_torch
@checked
def overlap_estimator(gpu: str) -> Any:
    """Return a runtime estimator for torch's collective passes, based on this cluster's links.

    torch's own formulas rate an H100 at 0.5 TFLOPS, even on the real cluster. They also assume that
    a group spans as few nodes as its size allows. Pass this as Inductor's option
    `aten_distributed_optimizations.custom_runtime_estimation`, here and on the real cluster.

    Parameters
    ----------
    gpu
        A GPU name from `targets()`.

    Returns
    -------
    Any
        A function that returns the time of a node in ms. It covers the process groups that exist
        when you call `overlap_estimator`.

    Raises
    ------
    UsageError
        There is no process group, or the GPU or its links are unknown.

    Examples
    --------
    >>> with wb.virtual_cluster({"dp": 8}):
    ...     wb.overlap_estimator("h100")
    overlap_estimator("h100")
    """
    from workbench.compiler.process_groups.cluster import find_cluster
    from workbench.compiler.recording.runtime_estimators import OverlapEstimator

    cluster = find_cluster()
    if cluster is None:
        raise UsageError(
            "No process group exists, so the links are unknown: call this inside "
            "`with wb.virtual_cluster({'dp': 8}):`, or on a rank with a process group."
        )
    return OverlapEstimator(gpu, cluster)


@require_torch
@checked
def scaling(
    build: Callable[..., Any],
    meshes: Sequence[Mapping[str, int]],
    *,
    target: str = "h100",
    layers: tuple[int, ...] | None = None,
    optimizer: str | float | None = "adamw",
    moments: str = "float32",
    largest_batch: bool = True,
    gpus_per_node: int = 8,
    nvlink_gb_s: float | None = None,
    nic_gb_s: float | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    grad: bool | None = None,
    executor: Executor | None = None,
    progress: ProgressCallback | None = None,
) -> Scaling:
    """Estimate step time, exposed communication and peak memory per rank for several device meshes.

    The first rank of each mesh is compiled, and nothing runs. Times are modelled for each kernel;
    memory is counted from the compiled programs. The result has `.rows` and `.frame()` with a row
    for each mesh, `.sentences`, `.plot()`, and `.reports` in the order of the meshes. `.missing`
    lists what the figures do not include. If `build` or the compilation fails on a mesh, its row
    has the reason.

    Parameters
    ----------
    build
        As in `ranks`: a function that takes the mesh and builds the model for the current rank. It
        returns the model and the tuple of its example inputs. For training, the model returns its
        loss.
    meshes
        As in `virtual_cluster`, each of at most 4,096 GPUs.
    target
        A GPU from `targets()` with known links.
    layers
        The depths to compile, such as `(2, 4)`, for a model with a list of identical layers (one
        class, parameters of the same sizes). Figures are extrapolated linearly to all layers,
        assuming that each further layer adds the same time, exposed communication and memory. If
        the two depths have different temporaries, memory is omitted. A third depth shows how far
        memory is from linear. None compiles the whole model, however long that takes.
    optimizer, moments
        The optimizer state to add to the memory of the step, as in `fits`. It is counted only if
        the step has a backward pass.
    largest_batch
        Also compile everything with twice the batch, and extrapolate memory linearly from the two
        batches.
    gpus_per_node, nvlink_gb_s, nic_gb_s
        As in `virtual_cluster`.
    mode, options, grad
        As in `aot_compile`.
    executor
        The executor that compiles each program in its own process: any concurrent.futures.Executor,
        such as Dask's `client.get_executor()`. By default, programs are compiled here, one after
        the other. The resulting table is the same either way.
    progress
        Called for each phase of each mesh, with its name and the seconds since the start. By
        default, terminals and interactive notebooks show a progress line. With an executor, it
        receives the number of finished meshes.

    Raises
    ------
    UsageError
        No mesh was given, a mesh is too large or given twice, the depths or the optimizer are
        invalid, or the target's links are unknown. Also raised if `build` cannot be sent to the
        workers of an executor, or if no mesh could be compiled. No process group is left behind.
    KeyboardInterrupt
        The call was interrupted. The exception's attribute `scaling` has the table of the finished
        meshes.

    Examples
    --------
    >>> import torch.distributed._functional_collectives as fc
    >>> def build(mesh):
    ...     def rows(x, w):
    ...         return torch.relu(fc.all_reduce(x @ w, "sum", mesh))
    ...     w = torch.empty(8, 8, device="meta")
    ...     return rows, (w, w)
    >>> found = wb.scaling(build, [{"tp": 2}, {"tp": 8}], largest_batch=False)
    >>> found.frame()[["mesh", "gpus", "nodes", "program"]].values.tolist()
    [['tp 2', 2, 1, 0], ['tp 8', 8, 1, 0]]
    """
    from workbench.compiler.process_groups.cluster import Topology
    from workbench.compiler.request.composition import choose_options
    from workbench.handles.running.progress_line import follow_in_a_line
    from workbench.worlds.clusters.compiling.compiled_meshes import ScalingRequest, compile_scaling

    chosen = choose_options(build, None, mode, options, grad=grad, target=target)
    with follow_in_a_line(progress, "Meshes of a cluster") as callback:
        request = ScalingRequest(
            build,
            tuple(meshes),
            Topology(gpus_per_node, nvlink_gb_s, nic_gb_s),
            chosen,
            layers=None if layers is None else tuple(layers),
            optimizer=optimizer,
            moments=moments,
            largest_batch=largest_batch,
            executor=executor,
            progress=callback,
        )
        return compile_scaling(request)
