"""One compilation for a virtual GPU, in the worker: what becomes of it, its program taken apart.

The report says how its code may differ from code that is compiled on the device.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    contextmanager,
    nullcontext,
    redirect_stdout,
)
from dataclasses import replace
from typing import Any

import torch

from workbench.analysis.collectives.streams import time_collectives
from workbench.analysis.gpu_model.roofline import add_rooflines
from workbench.artifacts.machine.machine_description import release
from workbench.artifacts.manifest.manifest import BuiltFor, GpuKernel
from workbench.compiler.aot_files.writing.saveable import Saveable, find_tensors_outside
from workbench.compiler.aot_files.writing.serialized import (
    Serialized,
    find_generated_programs,
    find_kernels_asked_for,
    pack_binaries,
    serialize,
)
from workbench.compiler.aot_files.writing.written_artifact import (
    require_own_identity,
    require_readable,
)
from workbench.compiler.call_plan.guard_sandbox import GuardSandbox
from workbench.compiler.captured_graphs.captured import GraphKeeper
from workbench.compiler.captured_graphs.program_parts import NoProgram, Program
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.late_values.late_globals import add_setters
from workbench.compiler.machine_code.machine_code import MachineCodeRecorder
from workbench.compiler.measuring.call_memory import EagerCounter
from workbench.compiler.pipeline.modes import merge_options
from workbench.compiler.pipeline.pipeline import CompiledCode, compile_ahead
from workbench.compiler.process_groups.cluster import Cluster, enter_cluster
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.device.template_model import mark_estimates
from workbench.compiler.virtual_gpu.device.virtual import (
    OPTIONS,
    enter_virtual_gpu,
    has_known_question,
    has_known_rule,
)
from workbench.compiler.virtual_gpu.worker_messages import CrossCompilation, Job
from workbench.device_kinds import CPU, GPU
from workbench.errors import ArtifactError, CaptureError, WorkbenchError, describe_error
from workbench.processes.parent import Done, Failed, whole
from workbench.processes.shipping.shipped_values import Arrived, unpack_described
from workbench.report import AutotuneChoice, Node, Report, Table
from workbench.report.collectives.collective_rows import has_fake_collectives
from workbench.report.machine_rows import Fidelity
from workbench.specs import Gpu
from workbench.specs.device import Device
from workbench.tasks.progress_events import ProgressCallback


def make_ambient_fake_mode() -> Any:
    """A mode for example inputs and weights that lets Dynamo handle its own fake tensors.

    Dynamo has a mode of its own, and leaves it where it reads numbers out of a tensor
    (`tolist`). Torch refuses to mix the two, so an operation on Dynamo's tensors runs in theirs.
    """
    base, fake = tp.FAKE_TENSOR_MODE.get(), tp.FAKE_TENSOR.get()
    leaves = tp.TREE_LEAVES.get()

    class AmbientFakeMode(base):  # type: ignore[valid-type,misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            for leaf in leaves((args, kwargs)):
                if isinstance(leaf, fake) and leaf.fake_mode is not self:
                    with leaf.fake_mode:
                        return func(*args, **(kwargs or {}))
            return super().__torch_dispatch__(func, types, args, kwargs)

    return AmbientFakeMode(shape_env=tp.SHAPE_ENV.get()())


_TARGET = re.compile(r"^\.target\s+(sm_\w+)", re.MULTILINE)


def program_of(
    compiled: CompiledCode, gpu: Gpu, registers: Mapping[bytes, int | None]
) -> Program | NoProgram:
    """The serialized program of a compilation in this process, which was made for `gpu`.

    `registers` are those of a thread for each machine code. It is read back here, where torch
    believes in the GPU: where it will be saved, guards on its tensors cannot be tried.
    """
    plan = compiled.plan
    request = replace(compiled.report.request, target=gpu.name)
    try:
        saveable = Saveable.of(compiled.aot_fn, plan.guarded)
        serialized = serialize(saveable.aot_fn, saveable.outside)
        programs = find_generated_programs(saveable.aot_fn)
        built_for = _built_for(programs, gpu, registers)
    except WorkbenchError as error:
        held = find_tensors_outside(compiled.aot_fn)
        return NoProgram(_of_tensors(held) if held else str(error))
    except Exception as error:  # the report of a compilation that worked is not to be lost
        return NoProgram(f"The compiled code cannot be serialized: {describe_error(error)}")
    packed = {kernel.name for kernel in built_for.kernels}
    contract = {**plan.to_json(request), "imports": saveable.imports}
    specialized = tuple(add_setters(plan.specialized_to_json(saveable.emptied), plan.inlined))
    return Program(
        serialized=serialized,
        contract=contract,
        specialized=specialized,
        guards={"policy": request.guards, "dropped": list(plan.dropped)},
        built_for=built_for,
        not_packed=tuple(sorted(find_kernels_asked_for(programs) - packed)),
        unreadable=_unreadable(compiled, saveable, serialized, contract, specialized),
        sends_nothing=has_fake_collectives(compiled.report),
    )


def _of_tensors(names: Sequence[str]) -> str:
    """Why there is no program, where pickle failed at tensors that have no numbers here."""
    listed = " and ".join(names)
    return (
        f"The code reads tensors through {listed}, a global or closure variable, whose values are "
        "unknown on a virtual GPU. Pass them as arguments, or keep them as attributes of a module."
    )


def _unreadable(
    compiled: CompiledCode,
    saveable: Saveable,
    serialized: Serialized,
    contract: Mapping[str, Any],
    specialized: Sequence[Any],
) -> str:
    """Why what would be written cannot be read back, "" where it can."""
    plan = compiled.plan
    try:
        require_own_identity(contract["name"], plan, saveable.aot_fn, saveable.outside)
        require_readable(
            serialized,
            saveable.aot_fn,
            contract,
            specialized,
            receiver=plan.receiver,
            external_data=saveable.outside,
            example=GuardSandbox(tp.artifacts_of(compiled.aot_fn), plan, compiled.example),
        )
    except ArtifactError as error:
        return str(error)
    return ""


def _built_for(
    programs: Sequence[Any], gpu: Gpu, registers: Mapping[bytes, int | None]
) -> BuiltFor:
    binaries = tuple(pack_binaries(programs))
    codes = [match[1] for b in binaries if (match := _TARGET.search(b.assembly))]
    return BuiltFor(
        gpu=gpu.name,
        device_name=gpu.device_name,
        arch=codes[0] if codes else gpu.arch,
        triton=release("triton"),
        torch_key=tp.TORCH_KEY.get()().hex(),
        kernels=tuple(
            GpuKernel(b.name, hashlib.sha256(b.binary).hexdigest(), registers.get(b.binary))
            for b in binaries
        ),
    )


_ALWAYS = nullcontext()
_NOTHING = NoProgram("Nothing was compiled; only eager's memory was counted.")
_NO_HOOKS = "Cannot access accelerator device when none is available"
"""What autograd's engine says when the hooks are not loaded."""
_NO_BFLOAT16 = "BF16 is not supported"
_NO_TEMPLATE = "NoValidChoicesError"
_NOT_COMPARABLE = "is not comparable"
"""Of sympy, about an index; releases of torch before the fault was cured, on a real GPU too."""


def import_compiler() -> None:
    """Import what every compilation needs, before the first one waits for it."""
    for row in (tp.AOT_COMPILE_FULLGRAPH, tp.MAKE_BENCHMARK_FN, tp.AUTOTUNER_CONFIG, tp.FX_CODEGEN):
        importlib.import_module(row.module)
    importlib.import_module("triton.backends.compiler")


def compile_job(
    job: Job,
    progress: ProgressCallback,
    no_training: str | None,
    stoppable: AbstractContextManager[object] = _ALWAYS,
) -> Done | Failed:
    """Compile what was sent; a failure of the compilation, or its interrupt, is an answer too.

    `stoppable` is entered while `KeyboardInterrupt` may be raised from outside.
    """
    try:
        with (
            job.context.entered(),
            enter_cluster(job.cluster),
            enter_virtual_gpu(job.gpu, count=_count_gpus(job.cluster)) as early,
        ):
            if job.counts_eager and (record := _eager(job, stoppable)) is not None:
                return Done(CrossCompilation(whole_record(job.gpu, record), _NOTHING))
            with MachineCodeRecorder(job.gpu, threads=early.threads) as recorder:
                report, program = _compile(job, recorder, progress, no_training, stoppable)
    except (WorkbenchError, KeyboardInterrupt) as error:
        record = getattr(error, "report", None)
        return Failed.of(error, None if record is None else whole_record(job.gpu, record))
    return Done(CrossCompilation(whole_record(job.gpu, report), program))


def _count_gpus(cluster: Cluster | None) -> int:
    """Those of a node: torch takes a group of more for one of several nodes."""
    return 1 if cluster is None else cluster.topology.gpus_per_node


def _compile(
    job: Job,
    recorder: MachineCodeRecorder,
    progress: ProgressCallback,
    no_training: str | None,
    stoppable: AbstractContextManager[object],
) -> tuple[Report, Program | NoProgram]:
    mode = make_ambient_fake_mode()
    with _rebuilt(job, mode) as request, GraphKeeper() as keeper, mode:
        try:
            with stoppable:
                compiled = compile_ahead(request, progress)
            options = request.options
            inductor, _ = merge_options("inductor", options.mode, options.options)
            report = add_fidelity(recorder.added(compiled.report), job.gpu, inductor)
            program = program_of(compiled, job.gpu.spec, recorder.registers())
            return report, keeper.added(program, compiled.graphs)
        except KeyboardInterrupt as error:
            recorder.hurry()
            if (record := getattr(error, "report", None)) is not None:
                error.report = recorder.added(record)  # type: ignore[attr-defined]
            raise
        except WorkbenchError as error:
            if isinstance(error.report, Report):
                error.report = recorder.added(error.report)
            refined = _refined(error, job.gpu, no_training)
            if refined is error:
                raise
            raise refined from error


def _eager(job: Job, stoppable: AbstractContextManager[object]) -> Report | None:
    """What eager would hold, of the call itself; None where that needs data."""
    mode, counter = make_ambient_fake_mode(), EagerCounter()
    here = torch.is_grad_enabled()
    with (
        _rebuilt(job, mode) as request,
        mode,
        torch.set_grad_enabled(here if request.options.grad is None else request.options.grad),
        redirect_stdout(io.StringIO()),  # it is run to be counted, not to print
        stoppable,
    ):
        is_counted = counter.count_call(lambda: request.target(*request.args, **request.kwargs))
    return counter.added(Report()) if is_counted else None


def _refined(error: WorkbenchError, device: Device, no_training: str | None) -> WorkbenchError:
    """The error in words about the target, where torch's own say nothing of it."""
    words = None
    if no_training is not None and _NO_HOOKS in str(error):
        words = (
            f"A backward pass cannot be compiled for {device.name} here: {no_training}. Compile "
            "with grad=False, or install a C++ compiler."
        )
    elif _NO_BFLOAT16 in str(error):
        words = (
            f"Inductor does not compile bfloat16 for {device.name}, which has no instructions for "
            "it. Use float16 or float32, or another target, such as 'a100'."
        )
    elif _NO_TEMPLATE in str(error):
        words = (
            f"Inductor has no Triton template for an operation of this code on {device.name}. "
            "Allow the library call: add ATEN to max_autotune_gemm_backends (or "
            "max_autotune_conv_backends), as in 'TRITON,ATEN'."
        )
    elif _NOT_COMPARABLE in str(error):
        words = (
            "This Inductor release has a bug: it fails for any GPU on minima and maxima in the "
            "indexes of this code. options={'constant_and_index_propagation': False} compiles it; "
            "the kernels then compute indexes."
        )
    if words is None:
        return error
    refined = CaptureError(words)
    refined.report = error.report
    return refined


@contextmanager
def _rebuilt(job: Job, mode: Any) -> Iterator[CompileRequest]:
    """What was sent, and meanwhile what it needs: its modules, its operators, modes of torch."""
    with (
        _unpacked(job, mode).entered() as content,
        content.pop("state").applied(keep=frozenset(OPTIONS)),
    ):
        yield CompileRequest(**content)


def _unpacked(job: Job, mode: Any) -> Arrived:
    try:
        return unpack_described(job.call, mode)
    except Exception as error:
        cure = (
            "Its imports must work in that process: install the module, or define it in the "
            "notebook."
            if isinstance(error, ImportError | AttributeError)
            else (
                "One of its objects cannot be copied by copy.deepcopy or pickle. Remove it from "
                "the module, or compile with target='host'."
            )
        )
        raise CaptureError(
            f"The code cannot be loaded in the worker process that compiles for {job.gpu.name}: "
            f"{describe_error(error)}. {cure}"
        ) from error


def whole_record(gpu: Device, report: Report) -> Report:
    """A report that can be sent and names the target."""
    report = time_collectives(add_rooflines(report, gpu.spec), gpu.spec)
    choices = Table.of(AutotuneChoice, mark_estimates(report.autotune))
    report = replace(report, tables={**report.tables, "autotune": choices})
    return whole(replace(report, request=replace(report.request, target=gpu.target)))


_PRODUCTS = ("aten.mm", "aten.addmm", "aten.bmm", "aten.baddbmm")
_PARTITION = re.compile(r"^ *def partition_\d+\(", re.MULTILINE)
_MOVES = (CPU, GPU)  # methods of a tensor or module that name a device


def add_fidelity(report: Report, device: Device, options: Mapping[str, Any]) -> Report:
    """The report with the table `fidelity`; `options` are those of Inductor."""
    rows = [
        *_timings(report),
        *_options(report, options),
        *_kernels(report, device),
        *_devices(report),
    ]
    return replace(report, tables={**report.tables, "fidelity": Table.of(Fidelity, rows)})


def _timings(report: Report) -> Iterator[Fidelity]:
    """Decisions that torch takes by timing."""
    counts = Counter(row.kernel for row in report.resources)
    several = sum(count > 1 for count in counts.values())
    if several:
        yield Fidelity(
            "configurations",
            f"{several} of {len(counts)} Triton kernels have several configurations; the device "
            "times them at the first call and keeps one. All are in the report.",
        )
    if len(report.autotune):
        yield Fidelity(
            "templates",
            "Templates were chosen by modelled time (see `autotune`); a device times them and "
            "may choose different ones.",
        )
    if any(op.startswith(_PRODUCTS) for kernel in report.kernels for op in kernel.ops):
        how = "decided by modelled time" if has_known_question() else "left out"
        yield Fidelity(
            "padding",
            f"Padding of matrices was {how}; on the device, torch pads if its benchmark is faster.",
        )
    if any(kernel.name.startswith("triton_tem") for kernel in report.kernels):
        yield Fidelity(
            "epilogues",
            "Epilogues were fused into templates without a benchmark.",
        )
    looped = any(kernel.name.startswith("triton_red") for kernel in report.kernels)
    if looped and not has_known_rule():
        yield Fidelity(
            "reductions",
            "For a looped reduction whose occupancy is limited by registers, a device may add a "
            "configuration with half the block size.",
        )


def _options(report: Report, options: Mapping[str, Any]) -> Iterator[Fidelity]:
    """Options that act when the code first runs."""
    if options.get("triton.cudagraphs"):
        programs = [report.texts.get(wrapper.text or "", "") for wrapper in report.wrappers]
        parts = sum(len(_PARTITION.findall(program)) for program in programs)
        how = "; torch may replace the whole program with one graph"
        if parts:
            how = (
                f", for {'the part' if parts == 1 else f'the {parts} parts'} of the program "
                "(partition_0 and so on); code outside them launches as usual"
            )
        yield Fidelity("CUDA graphs", f"CUDA graphs are recorded when the code first runs{how}.")
    if options.get("coordinate_descent_tuning"):
        yield Fidelity(
            "coordinate descent", "Coordinate-descent tuning runs when a kernel first runs."
        )


def _kernels(report: Report, device: Device) -> Iterator[Fidelity]:
    """Choices that depend on libraries of the target."""
    ops = {op for kernel in report.kernels for op in kernel.ops}
    if any("cudnn_attention" in op for op in ops):
        yield Fidelity("attention", "Attention calls cuDNN, assumed to be release 9.16 or later.")
    if any("attention" in op for op in ops) and (built := device.kind.attention):
        yield Fidelity(
            "attention", f"Attention is assumed to be built with {built} for this device."
        )


def _devices(report: Report) -> Iterator[Fidelity]:
    """Lines that name a device: they do the same on every target."""
    graphs = {graph.id for graph in report.graphs if graph.stage == "dynamo"}
    reported = set()
    for node in report.nodes:
        if node.graph not in graphs or node.op == "placeholder" or node.line is None:
            continue
        words = _named(node)
        place = (words, node.file, node.line)
        if words is not None and place not in reported:
            reported.add(place)
            yield Fidelity("device", words, node.file, node.line)


def _named(node: Node) -> str | None:
    if node.target in _MOVES and node.op == "call_method":
        return f".{node.target}() names a device: use the device of an input"
    if node.device is not None and node.device.startswith("cpu") and node.shape:
        return f"{node.name} is on the CPU for every target: use the device of an input"
    return None
