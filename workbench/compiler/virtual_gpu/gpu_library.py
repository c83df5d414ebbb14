"""The library of a package for a virtual GPU, in the worker: the program moved and compiled.

No CUDA toolkit is needed: the headers are those that come with Triton. Libraries are only named:
what a linker needs of libcuda and libtorch_cuda are their functions' names, which stand in headers,
as in the stubs of NVIDIA's toolkit. The real ones are found where the library is loaded.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.export.passes import move_to_device_pass
from torch.utils import cpp_extension

from workbench.artifacts.manifest.package_manifest import PackagedConstant
from workbench.compiler.cold_start.compile_cache import start_fast
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import read_toolkit_release
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.machine_code.code_readers import read_usage
from workbench.compiler.machine_code.machine_code import MachineCodeRecorder
from workbench.compiler.packaging.inductor_library import Library, build
from workbench.compiler.pipeline.pipeline import recorded
from workbench.compiler.recording.recorder import Recorder
from workbench.compiler.virtual_gpu.cross_compile import add_fidelity, whole_record
from workbench.compiler.virtual_gpu.device.virtual import OPTIONS, enter_virtual_gpu
from workbench.compiler.virtual_gpu.worker_messages import CrossPackage, PackageJob
from workbench.device_kinds import GPU
from workbench.errors import CaptureError, WorkbenchError, describe_error
from workbench.processes.parent import Done, Failed
from workbench.report import Outcome
from workbench.specs.device import Device
from workbench.tasks.progress_events import ProgressCallback
from workbench.temporary import make_temporary_folder

_DEVICE = f"{GPU}:0"
_NO_HEADERS = {"aot_inductor.precompile_headers": False}  # the toolkit lies elsewhere every time
_WAIT = "async_compile.wait(globals())\ndel async_compile\n"
_TARGET = re.compile(r"^\.target\s+(sm_\w+)", re.MULTILINE)


def run_package_job(
    job: PackageJob, progress: ProgressCallback, stoppable: AbstractContextManager[object]
) -> Done | Failed:
    """Compile what was sent; a failure of the compilation, or its interrupt, is an answer too."""
    try:
        with (
            job.context.entered(),
            make_temporary_folder() as folder,
            enter_virtual_gpu(job.gpu) as early,
            ProcessPatches() as process_patches,
        ):
            kernels = PackagedKernels(job.gpu)
            make_cuda_toolkit(process_patches, folder / "toolkit")
            kernels.install(process_patches)
            with MachineCodeRecorder(job.gpu, threads=early.threads) as machine:
                return Done(_compiled(job, folder / "model", machine, kernels, progress, stoppable))
    except (WorkbenchError, KeyboardInterrupt) as error:
        report = getattr(error, "report", None)
        return Failed.of(error, None if report is None else whole_record(job.gpu, report))


def _compiled(
    job: PackageJob,
    folder: Path,
    machine: MachineCodeRecorder,
    kernels: PackagedKernels,
    progress: ProgressCallback,
    stoppable: AbstractContextManager[object],
) -> CrossPackage:
    recorder = Recorder(level=job.request.capture, request=job.request)
    recorder.tell(progress)
    recorder.step = "compile"
    state = job.state.applied(keep=frozenset(OPTIONS))
    with recorded(recorder, _words), start_fast(), state, recorder, stoppable:
        program, example = _on_device(job.program)
        recorder.graphs.keep_exported(program.graph_module)
        options = {**_NO_HEADERS, **job.options}
        built = build(program, example, options, folder, any_size=job.any_size)
        report = machine.added(recorder.report(Outcome()))
    return CrossPackage(
        files={name: file.read_bytes() for name, file in built.files.items()},
        constants=tuple(_named(built.library, {**program.state_dict, **program.constants})),
        needs_proxy=built.library.needs_proxy,
        assumed=built.assumed,
        arch=kernels.arch,
        toolkit=read_toolkit_release(),
        several=kernels.several,
        report=whole_record(job.gpu, add_fidelity(report, job.gpu, job.options)),
    )


def _named(library: Library, held: Mapping[str, Any]) -> Iterator[PackagedConstant]:
    """The constants under the names of the program: the compiler calls lifted ones anew."""
    names = {id(value): name for name, value in held.items()}
    for row in library.constants:
        own_name = names.get(id(library.values[row.name]))
        yield row if row.fqn in held or own_name is None else replace(row, fqn=own_name)


def _words(error: BaseException) -> WorkbenchError:
    return CaptureError(
        f"AOTInductor cannot compile this program for the GPU: {describe_error(error)}"
    )


def _on_device(content: bytes) -> tuple[Any, tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """The program with fake tensors on the GPU for its weights, and fakes of its example call."""
    program = torch.export.load(io.BytesIO(content))
    mode = _mode_of(program)
    with mode:
        example = program.example_inputs
        args, kwargs = tp.TREE_MAP_ONLY.get()(torch.Tensor, _like, example)
        program._example_inputs = None
        for held in (program.state_dict, program.constants):
            for name, value in held.items():
                if isinstance(value, torch.Tensor):
                    held[name] = _like(value)
        program = move_to_device_pass(program, _DEVICE)
    return program, (args, kwargs)


def _like(value: Any) -> Any:
    """A tensor of the same form on the GPU; a fake one where a mode of fake tensors is on."""
    tensor = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=_DEVICE)
    is_weight = isinstance(value, torch.nn.Parameter)
    return torch.nn.Parameter(tensor, requires_grad=False) if is_weight else tensor


def _mode_of(program: Any) -> Any:
    """The mode of the fake tensors in a program, a new one for a program without any."""
    values = [node.meta.get("val") for node in program.graph.nodes]
    fake = tp.FAKE_TENSOR.get()
    modes = [value.fake_mode for value in values if isinstance(value, fake)]
    return modes[0] if modes else tp.FAKE_TENSOR_MODE.get()()


class PackagedKernels:
    """The kernels that were packed; `arch` is what their machine code is for, "" without any.

    `several` counts those of which one configuration of several was chosen without timing.
    """

    def __init__(self, gpu: Device) -> None:
        self._gpu = gpu
        self.arch = ""
        self.several = 0

    def install(self, process_patches: ProcessPatches) -> None:
        """Keep each kernel's machine code in place of running it."""
        from triton.compiler.compiler import CompiledKernel

        no_device = lambda kernel: None  # noqa: E731
        process_patches.attribute(CompiledKernel, "_init_handles", no_device)
        process_patches.name(tp.AUTOTUNE_BLOCK, lambda wrapper: self._keep_all(wrapper))

    def _keep_all(self, wrapper: Any) -> None:
        scope: dict[str, Any] = {}
        wrapper.kernel_autotune_defs.splice(_WAIT)
        exec(wrapper.kernel_autotune_defs.getvalue(), scope)  # what torch generated
        tuners = tp.CACHING_AUTOTUNER.get()
        for value in scope.values():
            if isinstance(value, tuners):
                self._keep(value)

    def _keep(self, tuner: Any) -> None:
        results = tuner.compile_results
        self.several += len(results) > 1
        best = results[0] if len(results) == 1 else min(results, key=self._spilled)
        launcher = best.make_launcher()
        tuner.save_gpu_kernel(0, launcher)
        target = _TARGET.search(str(launcher.bin.asm["ptx"]))
        self.arch = target[1] if target else self.arch

    def _spilled(self, result: Any) -> int:
        """Bytes of a thread's stack; those that cannot be read come last."""
        stack: int | None = read_usage(result.kernel, self._gpu).get("stack")
        return 1 << 30 if stack is None else stack


_DRIVER = re.compile(r"\bcu[A-Z]\w*(?=\()")
_SHIM = re.compile(r"\baoti_torch_\w*cuda\w*(?=\()")
_SHIM_HEADERS = ("generated/c_shim_cuda.h", "c/shim.h")
_TARGET_HEADER = Path(__file__).with_name("nv_target.h")
_LIMIT_S = 120


def make_cuda_toolkit(process_patches: ProcessPatches, folder: Path) -> None:
    """Have torch build CUDA libraries with a toolkit that is made in `folder`.

    Raises `CaptureError` where Triton's headers or a compiler are missing.
    """
    _headers(folder / "include")
    libraries = folder / "lib64"
    libraries.mkdir()
    driver = (folder / "include" / "cuda.h").read_text()
    shim = Path(torch.__file__).parent / "include" / "torch" / "csrc" / "inductor" / "aoti_torch"
    functions = "".join((shim / name).read_text() for name in _SHIM_HEADERS)
    _stub(libraries / "libcuda.so", "libcuda.so.1", _DRIVER.findall(driver))
    _stub(libraries / "libtorch_cuda.so", "libtorch_cuda.so", _SHIM.findall(functions))
    process_patches.attribute(cpp_extension, "CUDA_HOME", str(folder))


def _headers(to: Path) -> None:
    """Links to Triton's headers, and what they include from a part that Triton leaves out."""
    import triton.backends.nvidia as nvidia

    source = Path(nvidia.__path__[0]) / "include"
    if not (source / "cuda_runtime.h").exists():
        raise CaptureError(
            "A package for a virtual GPU needs CUDA headers, which the installed Triton does not "
            "include. Install the Triton release that torch requires."
        )
    shutil.copytree(source, to, copy_function=lambda name, link: Path(link).symlink_to(name))
    if not (to / "nv").exists():
        (to / "nv").mkdir()
        shutil.copy(_TARGET_HEADER, to / "nv" / "target")


def _stub(to: Path, name: str, functions: Iterable[str]) -> None:
    """A library of that name whose functions do nothing: it is linked against, never loaded."""
    compiler = next(filter(None, map(shutil.which, ("g++", "clang++", "c++"))), None)
    if compiler is None:
        raise CaptureError(
            "A package for a virtual GPU needs a C++ compiler, and none was found. Install g++ or "
            "clang++ (on Debian: apt-get install g++)."
        )
    lines = [f'extern "C" void {function}() {{}}' for function in sorted({*functions})]
    source = to.with_suffix(".cpp")
    source.write_text("\n".join(lines))
    command = [compiler, "-shared", "-fPIC", "-O0", f"-Wl,-soname,{name}"]
    subprocess.run(
        [*command, "-o", str(to), str(source)], check=True, capture_output=True, timeout=_LIMIT_S
    )
