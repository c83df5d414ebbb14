"""What torch answers about its GPU while a virtual one is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.process_patches import ProcessPatches
from workbench.compiler.machine_code.device import Device

_TOOLKITS = {"cuda": "13.0", "hip": "7.0"}  # of a build that has none; a real one keeps its own
Answer = Callable[..., Any]


class NoOpContext:
    """Stands for `torch.cuda.device(0)`: there is one device, and it is always the current one."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> NoOpContext:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def fake_cuda_api(gpu: Device, process_patches: ProcessPatches) -> None:
    """Have `torch.cuda` and what it calls describe `gpu`; nothing can run on it."""
    _toolkit(gpu, process_patches)
    for name, answer in _queries(gpu).items():
        process_patches.attribute(torch.cuda, name, answer)
    process_patches.name(tp.CUDA_LAZY_INIT, _nothing)
    process_patches.name(tp.CUDA_DEVICE_GUARD, NoOpContext)
    for row in (*tp.CUDA_DEVICE_SWITCHES, *tp.CUDA_INDEX_CALLS):
        process_patches.name(row, _always(0))
    process_patches.name(tp.CUDA_ALLOCATOR_ENABLED, _always(True))
    process_patches.name(tp.SM_CARVEOUT, _always(None))
    process_patches.name(tp.MAX_CLOCK_RATE, _always(gpu.spec.clock_mhz))
    _device_interface(gpu, process_patches)
    process_patches.name(tp.AVOID_DEVICE_INIT, property(_always(True)))


def _toolkit(gpu: Device, process_patches: ProcessPatches) -> None:
    """Name the toolkit where the build has none: a real build must keep what it was built with."""
    vendor, other = ("hip", "cuda") if gpu.is_amd else ("cuda", "hip")
    if getattr(torch.version, vendor) is None:
        process_patches.attribute(torch.version, vendor, _TOOLKITS[vendor])
    if getattr(torch.version, other) is not None:
        process_patches.attribute(torch.version, other, None)


def _queries(gpu: Device) -> dict[str, Any]:
    """Public functions of torch.cuda: questions only, nothing that would start work."""
    properties, bfloat16 = gpu.properties(), _bfloat16(gpu)
    return {
        # turns on the branches for TMA and the like, and is asked when an artifact is made
        "is_available": _always(True),
        "is_initialized": _always(True),
        "device_count": _always(1),
        "current_device": _always(0),
        "get_device_properties": _always(properties),
        "get_device_capability": _always((gpu.spec.major, gpu.spec.minor)),
        "get_device_name": _always(gpu.name),
        "is_bf16_supported": bfloat16,
        "get_arch_list": _always([str(gpu.arch) if gpu.is_amd else f"sm_{gpu.arch}"]),
        "set_device": _nothing,
        "synchronize": _nothing,
        "empty_cache": _nothing,
        "memory_allocated": _always(0),
        "mem_get_info": _always((gpu.spec.dram_bytes, gpu.spec.dram_bytes)),
        "device": NoOpContext,
        # Dynamo asks before each frame, because a device is said to be there
        "is_current_stream_capturing": _always(False),
        # Dynamo keeps and restores the random state around a capture
        "get_rng_state": lambda device=None: torch.zeros(16, dtype=torch.uint8, device="cpu"),
        "set_rng_state": _nothing,
        "default_generators": (torch.Generator(),),
    }


def _device_interface(gpu: Device, process_patches: ProcessPatches) -> None:
    """Answer in Dynamo's interface too: it kept torch.cuda's functions when it was imported."""
    registry = tp.DEVICE_INTERFACES.get()
    tp.DEVICE_INTERFACE_OF.get()("cpu")  # fills the registry
    interface = _interface(gpu)
    for key in ("cuda", "cuda:0"):
        process_patches.entry(registry, key, interface)
    process_patches.entry(tp.WORKER_PROPERTIES.get(), "cuda", [gpu.properties()])
    process_patches.entry(tp.WORKER_DEVICES.get(), "cuda", 0)


def _interface(gpu: Device) -> Any:
    base = tp.CUDA_INTERFACE.get()
    answers: dict[str, Answer] = {
        "is_available": _always(True),
        "device_count": _always(1),
        "current_device": _always(0),
        "set_device": _nothing,
        "synchronize": _nothing,
        "get_device_properties": _always(gpu.properties()),
        "get_compute_capability": _always(gpu.arch),
        "is_triton_capable": _always(True),
        "raise_if_triton_unavailable": _nothing,
        "get_raw_stream": _always(0),
        "is_bf16_supported": _bfloat16(gpu),
        "exchange_device": _always(0),
        "maybe_exchange_device": _always(0),
        "memory_allocated": _always(0),
    }
    members: dict[str, Any] = {name: staticmethod(answer) for name, answer in answers.items()}
    members["device"] = NoOpContext
    return type("VirtualGpuInterface", (base,), members)


def _always(value: Any) -> Answer:
    return lambda *_, **__: value


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _bfloat16(gpu: Device) -> Answer:
    """Torch's answer with emulation is yes everywhere, in hardware from compute capability 8."""
    in_hardware = gpu.has_bfloat16
    return lambda including_emulation=True: including_emulation or in_hardware
