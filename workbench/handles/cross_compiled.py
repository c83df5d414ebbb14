"""Compiles for a virtual GPU; what comes back is looked at, not called."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from workbench.arguments import checked
from workbench.compiler.captured_graphs.program_parts import NoProgram, Program
from workbench.compiler.request.callables import resolve
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler, keep_warm_worker, pack_job
from workbench.errors import UsageError
from workbench.file_path import check_file_path
from workbench.handles.recompilable import Recompilable
from workbench.report import Report
from workbench.specs import Gpu
from workbench.tasks.progress_events import ProgressCallback

if TYPE_CHECKING:
    from workbench.analysis.kernel_checks.kernel_check import KernelCheck
    from workbench.compiler.comparison.output_comparison import Verification
    from workbench.handles.base.compiled_base import Recipe


class CrossCompiled(Recompilable):
    """Compilation for a virtual GPU, with a full report and code that cannot run here."""

    def __init__(
        self,
        report: Report,
        gpu: Gpu,
        original: Any,
        program: Program | NoProgram,
        recipe: Recipe | None = None,
    ):
        self._report = report
        self.gpu = gpu
        self.original = original
        self.program = program
        self.recipe = recipe

    def __call__(self, /, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: the code is for a virtual GPU."""
        raise UsageError(
            f"{self.name} was compiled for {self.gpu.device_name}, whose code cannot run here. See "
            ".report, or compile with target='host' to call it."
        )

    @property
    def module(self) -> torch.nn.Module | None:
        """The called module, or None."""
        return resolve(self.original).module

    def _verify_here(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Verification:
        from workbench.compiler.interpreter.verification import Question, verify_program
        from workbench.handles.running.progress_line import follow_in_a_line

        with follow_in_a_line(None, f"Verifying {self.name} on the CPU") as told:
            asked = Question(args, kwargs)
            return verify_program(self.program, self.original, asked, progress=told)

    @checked
    def check_kernels(self, /, *args: Any, time_limit: float = 60.0, **kwargs: Any) -> KernelCheck:
        """Run the program on the CPU and instrument each Triton kernel launch.

        Covers Inductor-generated and user-written kernels in the forward and backward pass, each
        with its arguments in this call. Detects out-of-bounds accesses, races between program
        instances, conflicting lanes, and missing barriers. `wb.verify` compares values.
        `time_limit` is in seconds per launch. Raises `UsageError` if the program cannot run here,
        and `ContractError` if the call does not match.
        """
        from workbench.handles.devices.watched_kernels import watch_kernels

        return watch_kernels(self, args, kwargs, time_limit)

    @checked
    def save(
        self,
        path: str | PathLike[str],
        *,
        weights: str | None = None,
        isa: str | list[str] = "native",
        machine: Any = None,
    ) -> str:
        """Write an `.aot` file atomically for machines with the GPU, and return its sha256.

        `machine` describes the machine that will load the file. Pass the result of `wb.machine()`
        there, a dict such as `{"torch": "2.13.0+cu130", "cuda": "13.0", "triton": "3.7.1"}`, or the
        path of the JSON output of `print(wb.machine())` there. Without `machine`, the file works
        with this Triton release and any build of this torch release for the GPU. torch's own
        loader, which the workbench does not use, then refuses the payload. `weights` is the same as
        in `Compiled.save`. After loading, the tensors of the live module are on the GPU. Raises
        `ArtifactError` if something cannot be saved, and `UsageError` if the machine could never
        load the file.
        """
        from workbench.compiler.aot_files.file_tables import add_saved_file
        from workbench.handles.saving.save import save_cross_compiled

        path = check_file_path(path)
        digest = save_cross_compiled(
            self, self.program, self.original, path, weights=weights, isa=isa, machine=machine
        )
        self.update(add_saved_file(self.report, path, digest))
        return digest

    @property
    def why_no_profile(self) -> str:
        """The reason why kernels cannot be measured from a view."""
        return (
            f"{self.gpu.device_name} is not in this machine, so nothing can be measured; the bound "
            "is modelled."
        )

    @checked
    def profile(self, /, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise `UsageError`, because nothing can be measured on a virtual GPU."""
        raise UsageError(
            f"Nothing can be measured on {self.gpu.device_name}, which is not in this machine. "
            "Compile with target='cuda' on a machine that has this GPU. "
            ".report.frame('resources') has estimates."
        )


def compile_for_gpu(
    request: CompileRequest,
    gpu: Gpu,
    *,
    progress: ProgressCallback | None = None,
    worker: CrossCompiler | None = None,
    recipe: Recipe | None = None,
) -> CrossCompiled:
    """Compile for a virtual GPU, by default in the warm worker.

    Raises `UsageError` for requests that a virtual GPU does not support, and `CaptureError` like
    any compilation.
    """
    worker = worker or keep_warm_worker()
    worker.begin()
    done = worker.compiled(pack_job(request, gpu), progress)
    return CrossCompiled(done.report, gpu, request.target, done.program, recipe)
