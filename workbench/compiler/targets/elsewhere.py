"""Compiles for a GPU that is not in this machine; what comes back is looked at, not called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from workbench.compiler.callables import resolve
from workbench.compiler.modes import merged_options
from workbench.compiler.request import Options, Progress
from workbench.compiler.targets.client import Worker, warm_worker
from workbench.compiler.targets.device import Device
from workbench.compiler.targets.messages import Job
from workbench.compiler.targets.program import NoProgram, Program
from workbench.compiler.targets.shipping import Call, pack
from workbench.compiler.targets.surroundings import here
from workbench.compiler.torch_state import TorchState
from workbench.errors import UsageError
from workbench.report import Report
from workbench.specs import Gpu


class CompiledElsewhere:
    """A compilation for a virtual GPU: a full report, and code that cannot run here."""

    def __init__(self, report: Report, gpu: Gpu, original: Any, program: Program | NoProgram):
        self.report = report
        self.gpu = gpu
        self.original = original
        self.program = program

    def __repr__(self) -> str:
        """A short stable summary: no times, no addresses."""
        inputs = ", ".join(self.report.request.inputs)
        return f"Compiled({self.name}({inputs}), {self.target}, {len(self.report.kernels)} kernels)"

    @property
    def target(self) -> str:
        """The name of the GPU in the catalogue."""
        return self.gpu.name

    @property
    def name(self) -> str:
        """The name of the function or module."""
        return self.report.request.name

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: the code is for a GPU that is not here."""
        raise UsageError(
            f"{self.name} was compiled for {self.gpu.device_name}, whose code cannot run here. "
            "Look at .report, or compile with target='host' to call it."
        )

    def verify(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: this version cannot run code for a GPU on the CPU."""
        raise UsageError(
            f"{self.name} was compiled for {self.gpu.device_name}, whose code cannot be run here "
            "for a comparison. Verify a compilation with target='host'."
        )

    def save(self, path: Any, **kwargs: Any) -> NoReturn:
        """Refuse: this version writes files for devices of this machine only."""
        raise UsageError(
            f"An artifact for {self.gpu.device_name} can only be written on a machine that has "
            "one. .report.save('name.wbr') keeps the record, with all code."
        )

    def profile(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: nothing can be measured on a GPU that is not here."""
        raise UsageError(
            f"Nothing can be measured on {self.gpu.device_name}, which is not here. Compile on a "
            "machine that has one with target='cuda'; .report.frame('resources') has estimates."
        )


def compile_elsewhere(
    target: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    options: Options,
    gpu: Gpu,
    *,
    progress: Progress | None = None,
    worker: Worker | None = None,
) -> CompiledElsewhere:
    """Compile for a virtual GPU, in the warm worker unless another is given.

    Raises `UsageError` for what cannot be asked of a virtual GPU, `CaptureError` as any
    compilation does.
    """
    _check(options, gpu)
    worker = worker or warm_worker()
    worker.begin()
    name = resolve(target).name
    there = replace(options, target="host")  # where the code runs, the GPU is the machine's own
    call = Call(target, tuple(args), dict(kwargs), there, TorchState.current())
    job = Job(Device(gpu), pack(call, name), here())
    done = worker.compiled(job, progress)
    return CompiledElsewhere(done.report, gpu, target, done.program)


def _check(options: Options, gpu: Gpu) -> None:
    if options.backend != "inductor":
        raise UsageError(
            f"backend is {options.backend_name!r} and target {gpu.name!r}: only 'inductor' "
            "generates code for a GPU. Leave the backend out, or compile with target='host'."
        )
    inductor, _ = merged_options(options.backend_name, options.mode, options.options)
    for name in ("cpp_wrapper", "aot_inductor.package_cpp_only"):
        if inductor.get(name):
            raise UsageError(
                f"{name} builds a C++ program with the CUDA toolkit and its libraries, which a "
                f"virtual {gpu.device_name} does not have. Leave it out, or compile on a machine "
                "with the GPU."
            )
