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
    """Compile what several ranks of a cluster run, and say where they differ and would hang.

    `build` is run once for each rank, inside a virtual cluster that is that rank; nothing is sent
    or computed. Each rank is compiled by itself: no two are known to run the same before that. The
    result has `.sentences`, `.frame()` with a row for each rank (also "shards", "order" and
    "collectives"), `.diff()` between two of them, `.hangs`, `.reports` by rank, and `.errors` of
    ranks that could not be built or compiled. Bytes are those of one rank.

    Parameters
    ----------
    build
        A function of the mesh that makes the model for the rank that it runs as, and returns it
        with the tuple of its example inputs: `return model, (x,)`. On meta it takes no memory.
    mesh, gpus_per_node, nvlink_gb_s, nic_gb_s
        As in `virtual_cluster`.
    ranks
        Which ranks. None compiles all of up to 8; of more, the first, the last along each
        dimension, and the first of each set of shards of other sizes, at most 8 of these:
        parameters and inputs that are DTensors tell. Name the ranks whose code asks which rank it
        runs as, as stages of a pipeline do.
    target, mode, options, grad
        As in `aot_compile`.
    progress
        Called with each rank and its phases, and the seconds since the start; without it a line
        says how far it is, in a terminal and a person's notebook.

    Raises
    ------
    UsageError
        A size, a rank or a rate is none, `build` returns no such pair, a process group is there
        already, or no rank could be built and compiled. There is no process group afterwards.

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
    """Times for torch's passes over collectives, by the links of this cluster.

    torch's own formulas take an H100 for 0.5 TFLOPS, as one is called on the cluster too, and each
    group for as few nodes as its size can be on. This is a value of Inductor's option
    `aten_distributed_optimizations.custom_runtime_estimation`, here and on the cluster alike.

    Parameters
    ----------
    gpu
        A name of `targets()`.

    Returns
    -------
    Any
        What gives the ms of a node. It knows the process groups that there are now.

    Raises
    ------
    UsageError
        Where there is no process group, for a GPU that is not known, and for one of whose links
        nothing is known.

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
            "There is no process group, so that nothing is known of links: call it inside of "
            "`with wb.virtual_cluster({'dp': 8}):`, or beside a process group."
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
    """What a step takes, waits for and holds on meshes of several sizes, none of which is there.

    The first rank of each mesh is compiled, and nothing is run: times are modelled, kernel by
    kernel, and memory is counted from the programs. The result has `.rows` and `.frame()` with a
    row for each mesh, `.sentences`, `.plot()`, `.reports` in the order of the meshes, and
    `.missing`, which says what no figure holds. A mesh on which `build` fails or that cannot be
    compiled has a row that says why.

    Parameters
    ----------
    build
        As in `ranks`: a function of the mesh that makes the model for the rank that it runs as, and
        returns it with the tuple of its example inputs. For training it returns its loss.
    meshes
        As in `virtual_cluster`, each of at most 4,096 GPUs.
    target
        A GPU of `targets()` whose links are known.
    layers
        The depths that are compiled of a model with a list of equal layers, which are of one class
        with parameters of the same sizes, such as `(2, 4)`: figures are extended on a line to all
        layers, as if every further one ran, waited and held the same. Where two depths hold other
        temporaries, no memory is told, and a third says how far it leaves the line. None compiles
        the whole, however long that takes.
    optimizer, moments
        What is held beside the step's program, as in `fits`; counted where it has a backward.
    largest_batch
        Compile all of it with twice the batch, too: memory is taken to grow on that line.
    gpus_per_node, nvlink_gb_s, nic_gb_s
        As in `virtual_cluster`.
    mode, options, grad
        As in `aot_compile`.
    executor
        Where programs are compiled, each in a process of its own: any concurrent.futures.Executor,
        such as Dask's `client.get_executor()`; by default here, one after the other. The table is
        the same.
    progress
        Called with each mesh and its phases, and the seconds since the start; without it a line
        says how far it is, in a terminal and a person's notebook. Of an executor's workers it is
        told how many meshes are done.

    Raises
    ------
    UsageError
        There is no mesh, one is given twice or too large, the depths or the optimizer are none, the
        target has no data of its links, `build` cannot be sent to the workers of an executor, or
        no mesh could be compiled. There is no process group afterwards.
    KeyboardInterrupt
        On an interrupt; the table of the meshes that are done is its attribute `scaling`.

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
