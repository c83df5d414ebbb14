"""What torch, Dynamo or Triton's driver answer about the GPU while a virtual one is there."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.device_kinds import GPU
from workbench.errors import WorkbenchError
from workbench.specs.device import Device

Answer = Callable[..., Any]


class NoOpContext:
    """Stands for `torch.cuda.device(0)`: there is one device, and it is always the current one."""

    def __init__(self, /, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> NoOpContext:
        return self

    def __exit__(self, /, *_: object) -> None:
        pass


class VirtualGenerator(torch.Generator):
    """The random state of a virtual GPU, which a build without CUDA cannot make.

    Where an operator that may draw, such as attention, is computed again, torch hands the state to
    the program, and has to know of which device it is.
    """

    _index: int

    def __new__(cls, index: int) -> VirtualGenerator:
        """One for the CPU, whatever it says."""
        generator = super().__new__(cls)
        generator._index = index
        return generator

    def __init__(self, index: int) -> None:
        super().__init__()

    @property
    def device(self) -> torch.device:  # type: ignore[override]  # torch's is no property
        """The virtual GPU of this number."""
        return torch.device(GPU, self._index)

    def clone_state(self) -> VirtualGenerator:
        """Another one: nothing is drawn from it."""
        return VirtualGenerator(self._index)


def patch_cuda_api(gpu: Device, process_patches: ProcessPatches, count: int = 1) -> None:
    """Have `torch.cuda` and what it calls describe `count` of `gpu`; nothing can run on them."""
    _toolkit(gpu, process_patches)
    for name, answer in _queries(gpu, count).items():
        process_patches.attribute(torch.cuda, name, answer)
    process_patches.attribute(torch.__config__, "show", _build_of(gpu, torch.__config__.show))
    process_patches.name(tp.CUDA_LAZY_INIT, _always(None))
    process_patches.name(tp.CUDA_DEVICE_GUARD, NoOpContext)
    for row in (*tp.CUDA_DEVICE_SWITCHES, *tp.CUDA_INDEX_CALLS):
        process_patches.name(row, _always(0))
    process_patches.name(tp.CUDA_ALLOCATOR_ENABLED, _always(True))
    process_patches.name(tp.SM_CARVEOUT, _always(None))
    # lowering asks for the state where dropout is recomputed; before 2.14 it asks torch.cuda
    process_patches.name(tp.ACCELERATOR_GENERATOR, torch.cuda.default_generators.__getitem__)
    process_patches.name(tp.MAX_CLOCK_RATE, _always(gpu.spec.clock_mhz))
    _device_interface(gpu, process_patches, count)
    process_patches.name(tp.AVOID_DEVICE_INIT, property(_always(True)))
    process_patches.name(tp.INIT_GPU_CONTEXT, _always(None))


def _toolkit(gpu: Device, process_patches: ProcessPatches) -> None:
    """Name the toolkit where the build has none: a real build must keep what it was built with."""
    if getattr(torch.version, gpu.backend) is None:
        process_patches.attribute(torch.version, gpu.backend, gpu.kind.assumed_release)
    for other in gpu.kind.others():
        if getattr(torch.version, other.build) is not None:
            process_patches.attribute(torch.version, other.build, None)


def _build_of(gpu: Device, show: Callable[[], str]) -> Callable[[], str]:
    """What `torch.__config__.show()` says; torch asks the library of CUDA, which is not there."""

    def describe_build() -> str:
        try:
            return show()
        except RuntimeError:
            return f"PyTorch built with:\n  - {gpu.name} (virtual)\n"

    return describe_build


def _queries(gpu: Device, count: int) -> dict[str, Any]:
    """Public functions of torch.cuda: questions only, nothing that would start work."""
    return {
        **_questions(gpu, count),
        "is_initialized": _always(True),
        "get_device_capability": _always((gpu.spec.major, gpu.spec.minor)),
        "get_device_name": _always(gpu.name),
        "get_arch_list": _always([gpu.spec.arch]),
        "empty_cache": _always(None),
        "mem_get_info": _always((gpu.spec.dram_bytes, gpu.spec.dram_bytes)),
        "device": NoOpContext,
        # Dynamo asks before each frame, because a device is said to be there
        "is_current_stream_capturing": _always(False),
        # Dynamo keeps and restores the random state around a capture
        "get_rng_state": lambda device=None: torch.zeros(16, dtype=torch.uint8, device="cpu"),
        "set_rng_state": _always(None),
        "default_generators": tuple(map(VirtualGenerator, range(count))),
    }


def _questions(gpu: Device, count: int) -> dict[str, Answer]:
    """What torch.cuda and Dynamo's interface of it are both asked.

    Each has an answer of its own: Dynamo keeps a rule for each function of torch by its identity,
    and asserts that one function has one rule when it makes them anew, as a new process group has
    it do.
    """
    in_hardware = gpu.has_bfloat16
    return {
        # turns on the branches for TMA and the like, and is asked when an artifact is made
        "is_available": _always(True),
        "device_count": _always(count),
        "current_device": _always(0),
        "set_device": _always(None),
        "synchronize": _always(None),
        "memory_allocated": _always(0),
        "get_device_properties": _always(gpu.properties()),
        # torch's answer with emulation is yes everywhere, in hardware from compute capability 8
        "is_bf16_supported": lambda including_emulation=True: including_emulation or in_hardware,
    }


def _device_interface(gpu: Device, process_patches: ProcessPatches, count: int) -> None:
    """Answer in Dynamo's interface too: it kept torch.cuda's functions when it was imported."""
    registry = tp.DEVICE_INTERFACES.get()
    tp.DEVICE_INTERFACE_OF.get()("cpu")  # fills the registry
    answers: dict[str, Answer] = {
        **_questions(gpu, count),
        "get_compute_capability": _always(gpu.arch),
        "is_triton_capable": _always(True),
        "raise_if_triton_unavailable": _always(None),
        "get_raw_stream": _always(0),
        "exchange_device": _always(0),
        "maybe_exchange_device": _always(0),
    }
    members: dict[str, Any] = {name: staticmethod(answer) for name, answer in answers.items()}
    members["device"] = NoOpContext
    interface = type("VirtualGpuInterface", (tp.CUDA_INTERFACE.get(),), members)
    for key in ("cuda", "cuda:0"):
        process_patches.entry(registry, key, interface)
    process_patches.entry(tp.WORKER_PROPERTIES.get(), "cuda", [gpu.properties()])
    process_patches.entry(tp.WORKER_DEVICES.get(), "cuda", 0)


def _always(value: Any) -> Answer:
    return lambda *_, **__: value


class VirtualDriver:
    """Answers Triton's questions about the device; there is nothing to start a kernel on."""

    launcher_cls: Any = None
    get_current_device = get_current_stream = _always(0)
    get_active_torch_device = _always(torch.device("cuda", 0))
    get_device_interface = _always(torch.cuda)  # where Triton looks for streams and properties

    def __init__(self, gpu: Device):
        self._gpu = gpu
        self.utils = self  # Triton asks `driver.active.utils.get_device_properties`

    def get_current_target(self) -> Any:
        """Triton's name of the architecture."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget(self._gpu.backend, self._gpu.arch, self._gpu.spec.warp_size)

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """Limits and clocks of the device."""
        return self._gpu.driver_properties()

    def map_python_to_cpp_type(self, kind: str) -> str:
        """The C++ type of a kernel's argument."""
        driver = import_module(f"triton.backends.{self._gpu.kind.name}.driver")
        return str(driver.ty_to_cpp(kind))

    def get_benchmarker(self) -> NoReturn:
        """Refuse: nothing can be timed on a device that is not there."""
        raise WorkbenchError(
            f"{self._gpu.name} is not in this machine, so it cannot run benchmarks. Turn off the "
            "option that benchmarks kernels."
        )


def drive(gpu: Device, process_patches: ProcessPatches) -> None:
    """Have Triton compile for `gpu` without looking for a driver."""
    import triton

    process_patches.attribute(triton.runtime.driver, "_active", VirtualDriver(gpu))
    process_patches.name(tp.SET_DRIVER_TO_GPU, lambda: None)
