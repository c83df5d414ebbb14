"""Compiles what several ranks of a cluster run, each inside a virtual cluster of its own."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from workbench.compiler.process_groups.cluster import Cluster, Topology, find_cluster
from workbench.compiler.request.callables import resolve
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.errors import UsageError, WorkbenchError
from workbench.handles.compiling.dispatch import compile_for_target
from workbench.number_text import join_words, plural
from workbench.tasks.progress_events import ProgressCallback, step, tell_count
from workbench.worlds.clusters.compiling.shards import (
    Layout,
    find_uneven_ranks,
    list_coordinates,
    list_layouts,
    list_shards,
)
from workbench.worlds.clusters.compiling.virtual_cluster import check_mesh, enter_virtual_cluster
from workbench.worlds.clusters.findings.ranks import RankGroup, RankProgram, Ranks

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

Build = Callable[["DeviceMesh"], tuple[Any, tuple[Any, ...]]]
_MOST = 8  # ranks that are chosen: each takes a compilation


@dataclass(frozen=True)
class RanksRequest:
    """What `wb.ranks` was asked for; `ranks` None leaves the choice to `compile_ranks`."""

    build: Build
    mesh: Mapping[str, int]
    ranks: Sequence[int] | None
    topology: Topology
    options: CompileOptions
    progress: ProgressCallback | None = None


@dataclass(frozen=True)
class _Built:
    """What one rank compiled to, how its tensors are split, and what was raised if anything."""

    program: RankProgram
    layouts: frozenset[Layout] = frozenset()
    name: str = ""
    error: Exception | None = None


def compile_ranks(request: RanksRequest) -> Ranks:
    """Build, compile and compare what each of the ranks runs; see `workbench.ranks`."""
    check_mesh(request.mesh)
    places = list(list_coordinates(request.mesh))
    chosen = None if request.ranks is None else sorted(set(request.ranks))
    _check_ranks(chosen, len(places))
    done = [
        _compile_rank(request, places[0 if chosen is None else chosen[0]], 0, len(chosen or ()))
    ]
    if chosen is None:
        chosen, why = _choose_ranks(request.mesh, done[0].layouts)
    else:
        why = f"Compiled separately: {_count(chosen)}. The others are unknown."
    for number, rank in enumerate(chosen[1:], 1):
        done.append(_compile_rank(request, places[rank], number, len(chosen)))
    if all(built.error is not None for built in done):
        failures = {built.program.error: built.program.rank for built in done[::-1]}
        words = " ".join(f"Rank {rank}: {why}" for why, rank in reversed(failures.items()))
        raise UsageError(f"No rank was compiled. {words}") from done[0].error
    name = next(built.name for built in done if built.name)
    programs = tuple(built.program for built in done)
    return Ranks(name, request.options.target, dict(request.mesh), programs, why)


def _check_ranks(chosen: Sequence[int] | None, world: int) -> None:
    if chosen is None:
        return
    if not chosen:
        raise UsageError("ranks is empty: list the ranks to compile, or omit it.")
    if unknown := [rank for rank in chosen if not 0 <= rank < world]:
        raise UsageError(f"ranks has {unknown[0]}: a mesh of {world} has ranks 0 to {world - 1}.")


def _choose_ranks(mesh: Mapping[str, int], layouts: frozenset[Layout]) -> tuple[list[int], str]:
    """All of a small mesh, since any rank's code may ask where it runs.

    Of others the first rank, the last along each dimension and of all, and those of other shards.
    """
    if (world := prod(mesh.values())) <= _MOST:
        return [*range(world)], f"Compiled separately: all {plural(world, 'rank')}."
    strides = {name: prod(list(mesh.values())[place + 1 :]) for place, name in enumerate(mesh)}
    ends = {(size - 1) * strides[name] for name, size in mesh.items()}
    corners = {0, *ends, prod(mesh.values()) - 1}
    uneven = find_uneven_ranks(mesh, layouts)
    chosen = sorted({*corners, *uneven[:_MOST]})
    left = len(uneven) - len(uneven[:_MOST])
    more = f" {plural(left, 'more rank')} with different shards were not compiled." if left else ""
    along = "" if len(mesh) == 1 else " along each dimension"
    why = (
        f"Compiled separately: {_count(chosen)} (the first, the last{along}, and one for each set "
        "of shards). If the code branches on its rank (pipeline stages), list those ranks in "
        f"ranks=.{more}"
    )
    return chosen, why


def _count(ranks: Sequence[int]) -> str:
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {join_words([*map(str, ranks)])}"


def _compile_rank(request: RanksRequest, at: Mapping[str, int], number: int, count: int) -> _Built:
    """One rank; what its code raises is kept beside it, a wrong `build` is the caller's error."""
    rank = 0
    for name, size in request.mesh.items():
        rank = rank * size + at[name]
    program = RankProgram(rank, at)
    name, layouts = "", frozenset[Layout]()
    with (
        step(request.progress, f"rank {rank}"),
        enter_virtual_cluster(request.mesh, rank, request.topology) as mesh,
    ):
        if count:
            tell_count(request.progress, number, count, "rank")
        try:
            built = request.build(mesh)
        except Exception as error:  # of the user's code, on this rank alone
            return _Built(replace(program, error=locate_error(error)), error=error)
        model, args = read_pair(built, rank)
        try:
            callee = resolve(model)
            name, module = callee.name, callee.module
            program = replace(program, shards=list_shards(module, args))
            layouts = list_layouts(module, args)
            call = CompileRequest.of(model, args, None, request.options)
            compiled = compile_for_target(call, request.progress)
        except WorkbenchError as error:
            return _Built(replace(program, error=str(error)), layouts, name, error)
        groups = list_groups(find_cluster())
        return _Built(replace(program, report=compiled.report, groups=groups), layouts, name)


def read_pair(built: Any, rank: int) -> tuple[Any, tuple[Any, ...]]:
    """The model and its inputs that `build` made; raises `UsageError` for anything else."""
    pair = built if isinstance(built, tuple) and len(built) == 2 else (None, None)
    model, args = pair
    if not (callable(model) and isinstance(args, tuple)):
        kinds = [type(one).__name__ for one in built] if isinstance(built, tuple) else []
        kind = f"a tuple ({', '.join(kinds)})" if kinds else f"a {type(built).__name__}"
        raise UsageError(
            f"build(mesh) returned {kind} as rank {rank}: return the model and the tuple of its "
            "example inputs, as in `return model, (x,)`."
        )
    return model, args


def locate_error(error: Exception) -> str:
    """What the user's code raised, with the line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"build raised {type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"


def list_groups(cluster: Cluster | None) -> dict[str, RankGroup]:
    """Every process group by torch's name, as the mesh calls it."""
    groups: dict[str, RankGroup] = {}
    for name, group in ({} if cluster is None else cluster.by_name).items():
        label = group.mesh_dims or f"group of {plural(len(group.ranks), 'rank')}"
        same = sum(other.label.partition(" #")[0] == label for other in groups.values())
        groups[name] = RankGroup(f"{label} #{same + 1}" if same else label, group.ranks)
    return groups
