"""Triton kernels of a package for a virtual GPU: one configuration of each is packed.

torch runs every kernel while it writes a package, times its configurations and keeps the machine
code of the fastest. Here nothing can run: the one that spills the least is kept, of equal ones the
one that Inductor names first.
"""

from __future__ import annotations

import re
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.machine_code.cubin_tools import read_cubin_usage

_WAIT = "async_compile.wait(globals())\ndel async_compile\n"
_TARGET = re.compile(r"^\.target\s+(sm_\w+)", re.MULTILINE)


class PackagedKernels:
    """The kernels that were packed; `arch` is what their machine code is for, "" without any.

    `several` counts those of which one configuration of several was chosen without timing.
    """

    def __init__(self) -> None:
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
        found = tuner.compile_results
        self.several += len(found) > 1
        best = found[0] if len(found) == 1 else min(found, key=_spilled)
        launcher = best.make_launcher()
        tuner.save_gpu_kernel(0, launcher)
        target = _TARGET.search(str(launcher.bin.asm["ptx"]))
        self.arch = target[1] if target else self.arch


def _spilled(result: Any) -> int:
    """Bytes of a thread's stack; those that cannot be read come last."""
    usage, _ = read_cubin_usage(result.kernel.asm["cubin"])
    return 1 << 30 if usage is None else usage.stack
