"""Compilations written to `.aot` files: for this machine, or for one that has the GPU."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import torch

from workbench.artifacts.archive.file_kinds import find_pickle_start
from workbench.artifacts.machine.machine_description import Machine
from workbench.artifacts.manifest.manifest import BuiltFor, Manifest
from workbench.compiler.aot_files.file_tables import drop_file
from workbench.compiler.aot_files.writing.saveable import Saveable
from workbench.compiler.aot_files.writing.serialized import Serialized
from workbench.compiler.aot_files.writing.written_artifact import (
    INSIDE,
    parse_weights_word,
    read_current_versions,
    require_own_identity,
    require_same_weights,
    save_artifact,
    warn_without_weights,
    write_serialized,
)
from workbench.compiler.captured_graphs.program_parts import NoProgram, Program
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.late_values.late_globals import add_setters
from workbench.compiler.request.callables import find_compiled_parts, resolve
from workbench.errors import ArtifactError, UsageError
from workbench.file_path import check_file_path
from workbench.report.collectives.collective_rows import has_fake_collectives

if TYPE_CHECKING:
    from workbench.handles.base.checked_call import CheckedCall
    from workbench.handles.base.compiled_base import CompiledBase


def save_compiled(
    compiled: CheckedCall,
    path: str | PathLike[str],
    *,
    weights: str | None = None,
    isa: str | list[str] = "native",
    external_data: Mapping[str, Any] | None = None,
) -> str:
    """Write an artifact and return its digest; see `Compiled.save`."""
    path = check_file_path(path)
    _refuse_collectives(compiled)
    place, module = parse_weights_word(weights), compiled.module
    if parts := find_compiled_parts(module):
        raise UsageError(
            f"{compiled.name} contains parts that were already compiled ({', '.join(parts)}), "
            "whose guards a file cannot store. Put the eager module back in place of each "
            "compiled part (model.part = model.part.module), recompile the model and save the "
            "result."
        )
    if place == INSIDE and module is None:
        raise UsageError(_needs_module(INSIDE, compiled))
    plan = compiled.plan
    saveable = Saveable.of(compiled.aot_fn, plan.guarded)
    outside = {**saveable.outside, **(external_data or {})}
    require_own_identity(compiled.name, plan, saveable.aot_fn, outside)

    def write(place: str | None) -> str:
        return save_artifact(
            path,
            aot_fn=saveable.aot_fn,
            contract_json={**plan.to_json(compiled.report.request), "imports": saveable.imports},
            specialized_json=add_setters(plan.specialized_to_json(saveable.emptied), plan.inlined),
            guards_json={"policy": compiled.report.request.guards, "dropped": list(plan.dropped)},
            report=drop_file(compiled.report),
            module=module,
            weights=place,
            isa=isa,
            external_data=outside,
            receiver=plan.receiver,
            example=compiled.guard_sandbox,
            target=compiled.target,
            backend=compiled.report.request.backend,
        )

    if place is None and module is not None and not _without_data(module):
        with warn_without_weights(path):
            return write(INSIDE)
    return write(place)


def _refuse_collectives(compiled: CompiledBase) -> None:
    """Raise `ArtifactError` for code of a virtual cluster, whose groups no other process has."""
    if has_fake_collectives(compiled.report):
        raise ArtifactError(
            f"{compiled.name} cannot be saved as a file, because its collectives need the process "
            "groups of a virtual cluster. Save its report with .report.save(path), and compile on "
            "the real cluster with its process group."
        )


def _needs_module(place: str, compiled: CompiledBase) -> str:
    kind = compiled.report.request.kind
    return f"weights={place!r} needs a module; {compiled.name} is a {kind}."


def save_cross_compiled(
    compiled: CompiledBase,
    program: Program | NoProgram,
    original: Any,
    path: str | PathLike[str],
    *,
    weights: str | None,
    isa: str | Sequence[str],
    machine: Any,
) -> str:
    """Write an artifact and return its digest; see `CrossCompiled.save`."""
    path = check_file_path(path)
    _refuse_collectives(compiled)
    place = parse_weights_word(weights)
    program = _whole(compiled.name, program)
    module = _stored(compiled, original, place)
    serialized, built_for = program.serialized, program.built_for
    if machine is None:
        release = read_current_versions().torch.partition("+")[0]
        built_for = dataclasses.replace(built_for, torch=release)
    else:
        there = Machine.of(machine)
        built_for = _named(built_for, there, compiled.name)
        serialized = _retargeted(serialized, built_for, there)
    manifest = Manifest(
        target=compiled.target,
        backend=compiled.report.request.backend,
        built_for=built_for,
        contract=dict(program.contract),
        baked=program.specialized,
        guards=dict(program.guards),
    )

    def write(module: torch.nn.Module | None) -> str:
        if module is not None:
            receiver = str(program.contract["inputs"]["receiver"])
            require_same_weights(module, receiver, compiled.report)
        return write_serialized(
            path,
            serialized,
            manifest,
            report=drop_file(compiled.report),
            module=module,
            isa=isa,
            device=serialized.device,  # every tensor of the call was taken to be there
        )

    if place is None and module is not None:
        with warn_without_weights(path):
            return write(module)
        module = None
    return write(module)


def _whole(name: str, program: Program | NoProgram) -> Program:
    """The program, when it can be written and holds all of its kernels."""
    if isinstance(program, NoProgram):
        raise ArtifactError(f"{name} cannot be saved. {program.reason}")
    if program.unreadable:
        raise ArtifactError(program.unreadable)
    if program.not_packed:
        raise ArtifactError(
            f"{name} cannot be saved, because torch did not keep the machine code of "
            f"{', '.join(program.not_packed)}. Compile without options that turn off Inductor's "
            "caches: force_disable_caches, bundle_triton_into_fx_graph_cache=False."
        )
    return program


def _stored(compiled: CompiledBase, original: Any, place: str | None) -> torch.nn.Module | None:
    """The live module whose tensors go into the file, if they do."""
    receiver = resolve(original).receiver if place in (None, INSIDE) else ()
    owner = receiver[0] if receiver else None
    module = owner if isinstance(owner, torch.nn.Module) else None
    empty = [] if module is None else _without_data(module)
    if place == INSIDE and module is None:
        raise UsageError(_needs_module(INSIDE, compiled))
    if place == INSIDE and empty:
        raise UsageError(
            f"weights='inside' needs the weights, but {empty[0]} of {compiled.name} has no data. "
            "Load the module's weights first, or save with weights='later' and pass the module to "
            "load."
        )
    return None if empty else module


def _without_data(module: torch.nn.Module) -> list[str]:
    """The names of the tensors that have none: on the meta device, or fake."""
    fake = tp.FAKE_TENSOR.get()
    return [
        name
        for name, value in module.state_dict(keep_vars=True).items()
        if isinstance(value, torch.Tensor) and (value.is_meta or isinstance(value, fake))
    ]


def _named(built_for: BuiltFor, there: Machine, name: str) -> BuiltFor:
    """What the code was compiled for, with the releases of the machine.

    Raises `UsageError` where the machine can never load what this process compiles.
    """
    current = read_current_versions()
    release = current.torch.partition("+")[0]
    torch_there, triton_there = there.torch or release, there.triton or built_for.triton
    differences = [
        f"{what} {theirs}, but this process has {ours}"
        for what, ours, theirs in (
            ("Python", current.python, there.python or current.python),
            ("torch", release, torch_there.partition("+")[0]),
            ("Triton", _minor(built_for.triton), _minor(triton_there)),
        )
        if ours != theirs
    ]
    if there.gpus and not any(gpu.runs(built_for.arch) for gpu in there.gpus):
        gpu = there.gpus[0]
        differences.append(f"{gpu.name} ({gpu.arch}), but the code is for {built_for.arch}")
    vendor = built_for.kind
    if there.is_whole and not (there.toolkit or "").startswith(vendor.toolkit):
        differences.append(f"a torch without {vendor.toolkit}")
    if differences:
        raise UsageError(
            f"The machine has {'; '.join(differences)}, so it could not load {name}. Compile for "
            "that machine's GPU, with the same Python, torch and Triton releases."
        )
    toolkit = there.toolkit_release(vendor)
    return dataclasses.replace(built_for, torch=torch_there, triton=triton_there, toolkit=toolkit)


def _minor(version: str | None) -> str:
    return ".".join((version or "").split(".")[:2])


def _retargeted(serialized: Serialized, built_for: BuiltFor, there: Machine) -> Serialized:
    """The serialized function whose own record of the system is that of the machine.

    Our manifest decides what may be loaded; torch's own loader compares its record.
    """
    start = find_pickle_start(serialized.payload)
    outside = {name: object() for name in serialized.external_data}
    state = tp.AOT_UNPICKLER.get()(outside, io.BytesIO(serialized.payload[start:])).load()
    info = _system_info(built_for, there)
    state["system_info"] = dataclasses.replace(state["system_info"], **info)
    buffer = io.BytesIO()
    tp.AOT_PICKLER.get()(outside, buffer).dump(state)
    return dataclasses.replace(serialized, payload=serialized.payload[:start] + buffer.getvalue())


def _system_info(built_for: BuiltFor, there: Machine) -> Mapping[str, Any]:
    """What torch's record of a system says on the machine: SystemInfo of torch._dynamo.package."""
    names = [gpu.name for gpu in there.gpus if gpu.runs(built_for.arch)]
    info: dict[str, Any] = {
        "torch_version": built_for.torch,
        "toolkit_version": there.release_in_torch,
        "triton_version": tuple(int(part) for part in _minor(built_for.triton).split(".")),
        "gpu_name": names[0] if names else built_for.device_name,
    }
    if there.full_python:
        info["python_version"] = there.full_python
    return info
