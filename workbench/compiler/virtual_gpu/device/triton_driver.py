"""The driver that Triton asks for its target while a virtual GPU is there."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.process_patches import ProcessPatches
from workbench.compiler.machine_code.device import Device
from workbench.errors import WorkbenchError


class VirtualDriver:
    """Answers Triton's questions about the device; there is nothing to start a kernel on."""

    launcher_cls: Any = None

    def __init__(self, gpu: Device):
        self._gpu = gpu
        self.utils = self  # Triton asks `driver.active.utils.get_device_properties`

    def get_current_target(self) -> Any:
        """Triton's name of the architecture."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget(self._gpu.backend, self._gpu.arch, self._gpu.spec.warp_size)

    def get_current_device(self) -> int:
        """The only device."""
        return 0

    def get_current_stream(self, device: int = 0) -> int:
        """The default stream."""
        return 0

    def get_active_torch_device(self) -> torch.device:
        """The device in torch's words."""
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        """Where Triton looks for streams and properties."""
        return torch.cuda

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """Limits and clocks of the device."""
        return self._gpu.driver_properties()

    def map_python_to_cpp_type(self, kind: str) -> str:
        """The C++ type of a kernel's argument."""
        from triton.backends.amd.driver import ty_to_cpp as amd
        from triton.backends.nvidia.driver import ty_to_cpp as nvidia

        return str((amd if self._gpu.is_amd else nvidia)(kind))

    def get_benchmarker(self) -> NoReturn:
        """Refuse: nothing can be timed on a device that is not there."""
        raise WorkbenchError(
            f"{self._gpu.name} is not in this machine, so nothing can be timed on it. Switch off "
            "the option that measures kernels."
        )


def drive(gpu: Device, process_patches: ProcessPatches) -> None:
    """Have Triton compile for `gpu` without looking for a driver."""
    import triton

    process_patches.attribute(triton.runtime.driver, "_active", VirtualDriver(gpu))
    process_patches.name(tp.SET_DRIVER_TO_GPU, lambda: None)
