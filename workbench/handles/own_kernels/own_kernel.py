"""One call of a kernel that a user wrote, and everything that can be asked about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.live_only import LiveOnly
from workbench.report import Report
from workbench.report.report_holder import ReportHolder
from workbench.specs import Gpu


@dataclass(eq=False)
class OwnKernel(LiveOnly, ReportHolder):
    """A call of a hand-written kernel, for a GPU that need not be here.

    Nothing is compiled or run until something is asked.
    """

    instead: ClassVar[str] = "Make it again with wb.kernel where it is needed."

    call: KernelCall
    gpu: Gpu

    @property
    def name(self) -> str:
        """The name of the kernel's function."""
        return self.call.name

    @property
    def target(self) -> str:
        """The name of the GPU that it is for."""
        return self.gpu.name

    @property
    def report(self) -> Report:
        """What it was compiled to for its target."""
        raise NotImplementedError
