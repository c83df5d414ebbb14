"""Takes the program of a compilation apart, in the worker."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.artifacts.machine.machine import release
from workbench.artifacts.manifest.manifest import BuiltFor, GpuKernel
from workbench.compiler.aot_files import serializability
from workbench.compiler.aot_files.generated import kernels_asked_for, packed_binaries
from workbench.compiler.aot_files.payload import generated_programs, serialize
from workbench.compiler.aot_files.program import NoProgram, Program
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.pipeline.pipeline import CompiledCode
from workbench.errors import WorkbenchError
from workbench.specs import Gpu

_TARGET = re.compile(r"^\.target\s+(sm_\w+)", re.MULTILINE)


def program_of(
    compiled: CompiledCode, gpu: Gpu, registers: Mapping[bytes, int | None]
) -> Program | NoProgram:
    """The serialized program of a compilation in this process, which was made for `gpu`.

    `registers` are those of a thread for each machine code.
    """
    plan = compiled.plan
    request = replace(compiled.report.request, target=gpu.name)
    try:
        aot_fn, emptied = serializability.saveable(compiled.aot_fn, plan.guarded)
        modules, functions = serializability.kept_outside(aot_fn)
        outside = {**modules, **{name: function for name, (function, _) in functions.items()}}
        serialized = serialize(aot_fn, outside)
        programs = generated_programs(aot_fn)
        built_for = _built_for(programs, gpu, registers)
    except WorkbenchError as error:
        return NoProgram(str(error))
    except Exception as error:  # the report of a compilation that worked is not to be lost
        return NoProgram(
            f"The compiled code cannot be taken apart: {type(error).__name__}: {error}"
        )
    packed = {kernel.name for kernel in built_for.kernels}
    return Program(
        serialized=serialized,
        contract={
            **plan.to_json(request),
            "imports": {name: place for name, (_, place) in functions.items()},
        },
        specialized=tuple(plan.specialized_to_json(emptied)),
        guards={"policy": request.guards, "dropped": list(plan.dropped)},
        built_for=built_for,
        not_packed=tuple(sorted(kernels_asked_for(programs) - packed)),
    )


def _built_for(
    programs: Sequence[Any], gpu: Gpu, registers: Mapping[bytes, int | None]
) -> BuiltFor:
    binaries = tuple(packed_binaries(programs))
    codes = [found[1] for b in binaries if (found := _TARGET.search(b.assembly))]
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
