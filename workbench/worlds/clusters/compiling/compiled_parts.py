"""One program of a mesh's first rank, compiled here or by the workers of an executor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from workbench.analysis.layers.fit import AXES
from workbench.analysis.layers.optimizers import state_bytes
from workbench.arguments import submit
from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.process_groups.cluster import Cluster, Topology, find_cluster
from workbench.compiler.request.callables import resolve
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.errors import CaptureError, UsageError, WorkbenchError, read_first_line
from workbench.handles.compiling.dispatch import compile_for_target
from workbench.handles.compiling.fits import call_shape, copy_without_data, cut_layers
from workbench.processes.child import Child
from workbench.processes.parent import Failed, Parent, Start, whole
from workbench.processes.shipping.shipped_values import Parcel, packed, unpacked
from workbench.report import Report
from workbench.specs import Gpu
from workbench.tasks.progress_events import ProgressCallback
from workbench.temporary import make_temporary_folder
from workbench.worlds.clusters.compiling.compiled_ranks import (
    Build,
    list_groups,
    locate_error,
    read_pair,
)
from workbench.worlds.clusters.compiling.shards import list_layouts, list_shards
from workbench.worlds.clusters.compiling.virtual_cluster import enter_virtual_cluster
from workbench.worlds.clusters.findings.ranks import RankProgram

_CURE = "Omit executor= to compile the meshes here, or remove that object from build."


@dataclass(frozen=True)
class MeshedModel:
    """What is compiled on every mesh, and how; `optimizer` and `moments` are held beside it."""

    build: Build
    topology: Topology
    options: CompileOptions
    optimizer: str | float | None = "adamw"
    moments: str = "float32"
    progress: ProgressCallback | None = None

    @property
    def gpu(self) -> Gpu:
        """The virtual GPU of each rank."""
        gpu = self.options.gpu
        assert gpu is not None
        return gpu


@dataclass(frozen=True)
class Wanted:
    """A program: of the first rank of a mesh, with so many layers, the batch as it is or twice."""

    mesh: Mapping[str, int]
    layers: int | None
    is_doubled: bool = False


@dataclass(frozen=True)
class Part:
    """What it compiled to; `total` are the layers of the whole model, `seconds` what it took."""

    layers: int
    total: int
    name: str
    program: RankProgram
    cluster: Cluster
    shape: tuple[int, ...]
    state: int
    seconds: float
    can_double: bool

    @property
    def report(self) -> Report:
        """The record of its program."""
        assert self.program.report is not None
        return self.program.report

    @property
    def trains(self) -> bool:
        """Whether it has a backward."""
        return any(kernel.is_backward for kernel in self.report.kernels)


class Waiting(Protocol):
    """A program that is to come."""

    def done(self) -> bool:
        """Whether it is there without waiting."""

    def result(self) -> Part:
        """Wait for it; raises `WorkbenchError` where it could not be compiled."""


Hand = Callable[[Wanted], Waiting]


@contextmanager
def enter_compiler(subject: MeshedModel, executor: Executor | None) -> Iterator[Hand]:
    """What takes programs to compile: those of an executor at once, else each when waited for.

    Afterwards no other one is begun; what has begun elsewhere ends by itself.
    """
    if executor is None:
        yield lambda wanted: _Later(subject, wanted)
        return
    content = {"subject": replace(subject, progress=None), "state": TorchState.current()}
    name = getattr(subject.build, "__name__", "build")
    handed: list[Future[Part | Failed]] = []
    with packed(content, name, _CURE) as parcel:
        carried = parcel.with_content()

        def hand(wanted: Wanted) -> Waiting:
            handed.append(submit(executor, compile_apart, carried, wanted))
            return _Elsewhere(handed[-1])

        try:
            yield hand
        finally:
            for future in handed:
                future.cancel()


@dataclass
class _Later:
    subject: MeshedModel
    wanted: Wanted

    def done(self) -> bool:
        return False

    def result(self) -> Part:
        return compile_part(self.subject, self.wanted)


@dataclass
class _Elsewhere:
    future: Future[Part | Failed]

    def done(self) -> bool:
        return self.future.done()

    def result(self) -> Part:
        try:
            answer = self.future.result()
        except Exception as error:  # of the executor: a worker was lost, or has no workbench
            raise CaptureError(
                f"the executor's workers did not compile it ({type(error).__name__}: "
                f"{read_first_line(error)})"
            ) from error
        if isinstance(answer, Failed):
            raise answer.error()
        return answer


def compile_apart(parcel: Parcel, wanted: Wanted) -> Part | Failed:
    """Compile in a process of its own; called in a worker of an executor, which outlives it.

    There may be a process group in the worker, and a crash of what `build` calls ends the other
    process alone.
    """
    with make_temporary_folder("workbench-mesh-") as folder:
        place = Start(parcel.context.import_path, parcel.context.folder, (str(folder),))
        with Child("workbench.worlds.clusters.compiling.compiled_parts", place=place) as child:
            try:
                part: Part = child.ask((str(parcel.find_folder(folder)), parcel.context, wanted))
            except WorkbenchError as error:
                return Failed.of(error)
            except EOFError:
                words = f"its process {child.how_it_ended()}. {child.last_words()}".strip()
                return Failed.of(CaptureError(words))
            return part


def main(parent: Parent) -> None:
    """The program of that process: answers with the part."""
    folder, context, wanted = parent.receive()
    with context.entered(), unpacked(Path(folder)) as content:
        subject: MeshedModel = content["subject"]
        with content["state"].reproduced():
            try:
                part = compile_part(subject, wanted)
            except WorkbenchError as error:
                parent.send(Failed.of(error))
                return
    program = replace(part.program, report=whole(part.report))
    parent.done(replace(part, program=program))


def compile_part(subject: MeshedModel, wanted: Wanted) -> Part:
    """Build and compile; raises `WorkbenchError`, also for what `build` raises."""
    started = time.perf_counter()
    mesh = wanted.mesh
    with enter_virtual_cluster(mesh, 0, subject.topology) as virtual:
        try:
            built = subject.build(virtual)
        except Exception as error:  # of the user's code, on this mesh alone
            raise UsageError(locate_error(error)) from error
        model, args = read_pair(built, 0)
        callee = resolve(model)
        shape = call_shape(args, {})
        can_double = callee.module is not None and not list_layouts(None, args)
        if wanted.is_doubled:
            args = copy_without_data(args, AXES["batch"], shape)
        with cut_layers(callee.module, callee.name, wanted.layers) as (depth, total):
            shards = list_shards(callee.module, args)
            call = CompileRequest.of(model, args, None, subject.options)
            report = compile_for_target(call, subject.progress).report
        cluster = find_cluster()
        assert cluster is not None
    coordinates = dict.fromkeys(mesh, 0)
    groups = list_groups(cluster)
    if len(mesh) == 1:  # torch makes none of its own for a single dimension
        everyone = groups[cluster.world]
        groups[cluster.world] = replace(everyone, label=next(iter(mesh)))
    program = RankProgram(0, coordinates, shards, groups, report)
    learned = [shard.shape for shard in shards if shard.is_parameter and shard.needs_grad]
    state = state_bytes(learned, subject.optimizer, subject.moments)
    seconds = time.perf_counter() - started
    return Part(depth, total, callee.name, program, cluster, shape, state, seconds, can_double)
