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
    """Simulate one rank of a cluster of any size, in this process and without a network.

    Inside the block, parallelize a model with the mesh just as on a real cluster. `aot_compile`
    then compiles this rank's code: collectives, shards and the kernels between them. The block uses
    torch's fake process group, which sends no data. Values computed inside the block therefore
    differ from those on a real rank, and `verify` reports this. If there is a real process group,
    for example under torchrun, omit the block; `aot_compile` detects the group.

    Parameters
    ----------
    mesh
        The mesh dimensions and their sizes in GPUs: `{"dp": 64, "tp": 8}` is 512 GPUs. Ranks are
        numbered in row-major order, as in `init_device_mesh`.
    rank
        The rank of this process.
    gpus_per_node
        The number of GPUs in a node, linked directly rather than over the network.
    nvlink_gb_s, nic_gb_s
        Bandwidth per GPU in GB/s, within a node and between nodes. Inductor uses it to order
        collectives. Defaults to torch's table for the GPU.

    Returns
    -------
    DeviceMesh
        The target of the `with` statement: torch's mesh, on the CPU. Build models on the CPU, or on
        the meta device to use no memory.

    Raises
    ------
    UsageError
        A size, the rank or a bandwidth is invalid, a process group already exists, or this build of
        torch lacks `torch.distributed`. The block's process group is destroyed on exit, even after
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

    `build` runs once per rank, as that rank of a virtual cluster. No data is sent and no kernel
    runs. Each rank is compiled separately, without assuming that any two ranks run the same code.
    The result has `.sentences`, `.frame()` with a row per rank (also "shards", "order" and
    "collectives"), and `.diff()` to compare two ranks. `.hangs` lists deadlocks. `.reports` has a
    report per rank, and `.errors` lists the ranks that failed to build or compile. Bytes are per
    rank.

    Parameters
    ----------
    build
        A function that takes the mesh and returns the current rank's model and a tuple of example
        inputs: `return model, (x,)`. A model on the meta device takes no memory.
    mesh, gpus_per_node, nvlink_gb_s, nic_gb_s
        As in `virtual_cluster`.
    ranks
        The ranks to compile. By default, compiles every rank if the cluster has at most 8 GPUs. For
        larger clusters, compiles the first rank, the last rank along each dimension, and the first
        rank of each set of uneven shards, for at most 8 sets. Shard sizes are read from DTensor
        parameters and inputs. If the code branches on its rank (pipeline stages), list those ranks.
    target, mode, options, grad
        As in `aot_compile`.
    progress
        A callback for each phase of each rank, called with the phase name and the elapsed seconds.
        By default a progress line is shown in terminals and interactive notebooks.

    Raises
    ------
    UsageError
        A size, a rank or a bandwidth is invalid, `build` does not return a model and its inputs, or
        a process group already exists. Also raised if every rank failed to build or compile. No
        process group remains after an error.

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

    torch's own formulas rate an H100 at 0.5 TFLOPS, even on a real cluster. They also assume that a
    group spans as few nodes as possible. Pass the estimator as Inductor's option
    `aten_distributed_optimizations.custom_runtime_estimation`, here and on the real cluster.

    Parameters
    ----------
    gpu
        A GPU name from `targets()`.

    Returns
    -------
    Any
        A function that returns the time of a node in ms. It knows only the process groups that
        exist when `overlap_estimator` is called.

    Raises
    ------
    UsageError
        There is no process group, or the GPU or its link bandwidths are unknown.

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

    The first rank of each mesh is compiled but not run. Times are modelled per kernel, and memory
    is counted from the compiled programs. The result has `.rows` and `.frame()` with a row per
    mesh, `.sentences`, `.plot()`, and `.reports` in the order of the meshes. `.missing` lists costs
    that the figures exclude. If `build` or the compilation fails on a mesh, its row has the reason.

    Parameters
    ----------
    build
        A function that takes the mesh and returns the current rank's model and a tuple of example
        inputs, as in `ranks`. For training, the model must return its loss.
    meshes
        The meshes, as in `virtual_cluster`, with at most 4,096 GPUs each.
    target
        A GPU from `targets()` with known link bandwidths.
    layers
        The depths to compile, such as `(2, 4)`, for a model with a list of identical layers (same
        class, same parameter sizes). Figures are extrapolated linearly to all layers, assuming that
        each additional layer adds the same time, exposed communication and memory. If the two
        depths have different temporaries, memory is omitted. A third depth shows how far memory is
        from linear. None compiles the whole model, which may take a long time.
    optimizer, moments
        The optimizer state to include in memory, as in `fits`. The state is counted only if the
        step has a backward pass.
    largest_batch
        Whether to find the largest batch that fits. Each mesh is then also compiled with twice the
        batch size, and memory is extrapolated linearly from the two batch sizes.
    gpus_per_node, nvlink_gb_s, nic_gb_s
        As in `virtual_cluster`.
    mode, options, grad
        As in `aot_compile`.
    executor
        Any concurrent.futures.Executor, such as Dask's `client.get_executor()`. It compiles each
        program in a separate process. By default, programs are compiled sequentially in this
        process. The results are the same either way.
    progress
        A callback for each phase of each mesh, called with the phase name and the elapsed seconds.
        By default a progress line is shown in terminals and interactive notebooks. With an
        executor, the callback receives the number of finished meshes.

    Raises
    ------
    UsageError
        `meshes` is empty, a mesh is too large or duplicated, the depths or the optimizer are
        invalid, or the target's link bandwidths are unknown. Also raised if `build` cannot be sent
        to the executor's workers, or if every mesh failed to compile. No process group remains
        after an error.
    KeyboardInterrupt
        The call was interrupted. The `scaling` attribute of the exception holds the results of the
        finished meshes.

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
