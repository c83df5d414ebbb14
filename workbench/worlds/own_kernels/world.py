"""What the world of own kernels adds: `wb.kernel`, a magic, a kernel of a program by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.worlds.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.report import Report
    from workbench.specs import Gpu
    from workbench.views.kit.shown import Shown
    from workbench.worlds.own_kernels.handles.own_kernel import OwnKernel
    from workbench.worlds.own_kernels.magics import KernelMagics


class OwnKernelsWorld(World):
    """Kernels that a user wrote, and single kernels of a program: compiled, checked, tuned."""

    name = "own_kernels"
    title = "Your own kernels"
    names = dict.fromkeys(("kernel",), "workbench.worlds.own_kernels.calls")

    def find_shown(self, kind: str) -> Shown | None:
        """Of a tuned kernel."""
        if kind != "Tuned":
            return None
        from workbench.worlds.own_kernels.views.tuned_answer import SHOWN

        return SHOWN[kind]

    def take_kernel(self, report: Report, name: str, gpu: Gpu) -> OwnKernel:
        """As `wb.kernel` gives it, with inputs that are drawn."""
        from workbench.worlds.own_kernels.handles.inductor_kernels import read_call
        from workbench.worlds.own_kernels.handles.own_kernel import OwnKernel

        return OwnKernel(read_call(report, name, gpu.name), gpu)

    def list_magics(self) -> Sequence[type[KernelMagics]]:
        """`%aot_kernel`."""
        from workbench.worlds.own_kernels.magics import KernelMagics

        return (KernelMagics,)


WORLD = OwnKernelsWorld()
