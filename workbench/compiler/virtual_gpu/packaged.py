"""A package for a virtual GPU, in the user's process: the library is compiled in the worker.

The model is exported here, on the CPU, with its real weights; what the worker gets is the program
without them. They lie beside the library in the file.
"""

from __future__ import annotations

import copy
import io
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.internals.older_releases import has_march
from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.packaging.inductor_library import (
    Built,
    Elsewhere,
    Library,
    build_inductor_options,
    map_tensors_by_name,
    read_program_tensors,
)
from workbench.compiler.packaging.package_request import BESIDE, INSIDE, LATER, ModelRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler, keep_warm_worker
from workbench.compiler.virtual_gpu.worker_messages import PackageJob
from workbench.device_kinds import GPU
from workbench.errors import CaptureError, UsageError
from workbench.processes.shipping.caller_context import CallerContext
from workbench.report import Request
from workbench.specs import Gpu
from workbench.specs.device import Device
from workbench.tasks.progress_events import ProgressCallback

_HOST_CODE = {"cpp.march": "x86-64-v3", "cpp.simdlen": 256}
"""The code around the kernels runs on the processors that servers with GPUs have, since 2.13."""
_NOTES = (
    "compiled for a virtual GPU and not run; the export ran on the CPU, so code that checks the "
    "device takes its CPU branch",
    "the weights are next to the library; they can be built into it only on a machine with the GPU",
    "{} of its Triton kernels got the configuration with the fewest spills, without timing",
)


@dataclass(frozen=True)
class BuildElsewhere:
    """Compiles libraries as `inductor_library.build` does, for a virtual GPU.

    `is_beside` says that the weights were asked for inside of the library.
    """

    gpu: Gpu
    request: Request
    is_moved: bool
    progress: ProgressCallback | None = None
    worker: CrossCompiler | None = None

    def __call__(
        self,
        program: Any,
        example: tuple[tuple[Any, ...], Mapping[str, Any]],
        options: Mapping[str, Any],
        folder: Path,
        *,
        any_size: bool = False,
    ) -> Built:
        """The files of the library in `folder`, and what the worker saw of it."""
        state, context = TorchState.current(), CallerContext.current()
        sent = _without_weights(program, example)
        without = {
            **build_inductor_options(LATER, {}),
            "aot_inductor.package_constants_on_disk_format": None,
        }
        if any(value.numel() == 1 for value in read_program_tensors(program).values()):
            without |= {"joint_graph_constant_folding": False}  # it reads their values
        own_options = {**options, **without}  # the worker has no weights that it could write
        job = PackageJob(
            Device(self.gpu), sent, own_options, self.request, any_size, state, context
        )
        package = (self.worker or keep_warm_worker()).packaged(job, self.progress)
        folder.mkdir(parents=True, exist_ok=True)
        files = {name: folder / name for name in package.files}
        for name, content in package.files.items():
            files[name].write_bytes(content)
        library = Library(package.constants, package.needs_proxy, GPU, seen=True)
        library.values = map_tensors_by_name(library, program)
        lost = [row.fqn for row in package.constants if row.name not in library.values]
        if lost:
            raise CaptureError(
                f"The compiler created constants ({', '.join(lost[:3])}) whose values are known "
                f"only on a machine with the {self.gpu.device_name}. Package it there."
            )
        release = torch.__version__.partition("+")[0]
        there = Elsewhere(
            target=self.gpu.name,
            arch=package.arch,
            torch=f"{release}+cu{package.toolkit.replace('.', '')}",
            report=package.report,
            notes=tuple(self._notes(package.several, has_weights=bool(package.constants))),
        )
        return Built(files, library, has_weights=False, assumed=package.assumed, elsewhere=there)

    def _notes(self, several: int, *, has_weights: bool) -> list[str]:
        alone, moved, chosen = _NOTES
        return [
            alone,
            *([moved] if self.is_moved and has_weights else []),
            *([chosen.format(several)] if several else []),
        ]


def for_gpu(
    request: ModelRequest, gpu: Gpu, progress: ProgressCallback | None = None
) -> tuple[ModelRequest, Callable[..., Built]]:
    """The request as it can be packaged for a virtual GPU, and what compiles it.

    Raises `UsageError` for what cannot be built without the GPU's own toolkit.
    """
    if not gpu.kind.is_linked_anywhere:
        raise UsageError(
            f"target is {gpu.name!r}, but packages that link against {gpu.kind.toolkit} cannot be "
            f"built here. Package the model on a machine with {gpu.kind.toolkit}, or compile it "
            f"for the GPU with wb.aot_compile(…, target={gpu.name!r}).save(path)."
        )
    is_x86 = platform.machine() in ("x86_64", "AMD64")
    options = {**(_HOST_CODE if is_x86 and has_march() else {}), **request.options}
    is_moved = request.weights == INSIDE
    weights = BESIDE if is_moved else request.weights
    recorded_request = Request(
        name=request.name,
        kind="package",
        mode=request.mode,
        grad=False,
        guards="contract",
        capture=request.capture,
        target=gpu.name,
    )
    adapted = replace(request, options=options, weights=weights)
    return adapted, BuildElsewhere(gpu, recorded_request, is_moved, progress)


def _without_weights(program: Any, example: Any) -> bytes:
    """What torch.export.save writes, with tensors on the meta device for weights."""
    light = copy.copy(program)
    light._state_dict = {name: _form(value) for name, value in program.state_dict.items()}
    light._example_inputs = example
    buffer = io.BytesIO()
    torch.export.save(light, buffer)
    return buffer.getvalue()


def _form(value: Any) -> Any:
    tensor = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    is_weight = isinstance(value, torch.nn.Parameter)
    return torch.nn.Parameter(tensor, requires_grad=value.requires_grad) if is_weight else tensor
