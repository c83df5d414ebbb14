"""One call of a kernel that a user wrote, and everything that can be asked about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.arguments import checked
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.live_only import LiveOnly
from workbench.report import Report
from workbench.report.report_holder import ReportHolder
from workbench.specs import Gpu

if TYPE_CHECKING:
    import pandas

    from workbench.analysis.gpu_model.matrix import Matrix
    from workbench.analysis.kernel_checks.kernel_check import KernelCheck
    from workbench.analysis.kernel_configs.config_model import RankedConfigs
    from workbench.tasks.progress_events import ProgressCallback


class OwnKernel(LiveOnly, ReportHolder):
    """A call of a hand-written kernel, for a GPU that need not be here.

    Nothing is compiled or run until something is asked.
    """

    instead: ClassVar[str] = "Save its record with k.save(path), or make it again with wb.kernel."

    def __init__(self, call: KernelCall, gpu: Gpu):
        self.call = call
        self.gpu = gpu
        self._report: Report | None = None
        self._check: KernelCheck | None = None

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
        """What it was compiled to for its GPU, compiled at the first look.

        Raises `UsageError` where Triton does not compile it, or no configuration of its autotuner
        fits on the GPU.
        """
        if self._report is None:
            from workbench.handles.own_kernels.compiling import compile_call
            from workbench.handles.own_kernels.kernel_checks import keep_check

            made, found = compile_call(self.call, self.gpu), self._check
            self._report = made if found is None else keep_check(made, found.findings, found.cases)
        return self._report

    @checked
    def update(self, report: Report) -> None:
        """From now on this is the report, for instance with what a check has counted."""
        before, self._report = self.report, report
        self._notify(before, report)

    @checked
    def frame(self, name: str = "resources") -> pandas.DataFrame:
        """A table of the report, such as "resources", "roofline" or "assembly"."""
        return self.report.frame(name)

    @cached_property
    def _elsewhere(self) -> dict[str, OwnKernel]:
        return {}

    @checked
    def on(self, target: str) -> OwnKernel:
        """The same call for another GPU of `targets()`; raises `UsageError` for what is none."""
        gpu = list_known_gpus()[target]
        if gpu.name == self.gpu.name:
            return self
        return self._elsewhere.setdefault(gpu.name, OwnKernel(self.call, gpu))

    @checked
    def matrix(self, targets: Sequence[str], *, progress: ProgressCallback | None = None) -> Matrix:
        """The call compiled for several GPUs, none of which has to be here, and compared.

        Raises `UsageError` for what is no GPU. Where Triton does not compile it, a note says why.
        """
        from workbench.handles.own_kernels.compiling import compare_call

        return compare_call(self.report, self.call, targets, progress)

    @checked
    def rank_configs(
        self,
        configs: Iterable[Any] | None = None,
        *,
        sizes: Mapping[str, int] | None = None,
        progress: ProgressCallback | None = None,
    ) -> RankedConfigs:
        """Compile configurations for the GPU and rank them by a model; none is run.

        `configs` are `triton.Config` or mappings of values; without them those of the autotuner.
        For products of matrices `sizes` are M, N and K, where no arguments have these names, and E
        and TOP for a mixture of experts. Raises `UsageError` without configurations.
        """
        from workbench.handles.own_kernels.ranking import rank_call

        ranked = rank_call(self.report, self.call, self.gpu, configs, sizes or {}, progress)
        self.update(ranked.report)
        return ranked

    @checked
    def check(
        self,
        reference: Callable[..., Any] | None = None,
        *,
        writes: str | Sequence[str] | None = None,
        fresh: str | Sequence[str] = (),
        cases: Sequence[Any] | None = (),
        sample: int | None = None,
        time_limit: float = 60.0,
    ) -> KernelCheck:
        """Run the call on the CPU under watch, and say which lines are wrong.

        Found are accesses outside of the tensors that were passed (of the views, not of what they
        are views of), races between programs, lanes of one store that disagree, reads of what
        another lane wrote without a barrier, reads of what nobody wrote, and values that differ.
        It says nothing of other sizes and inputs than those that were run. Nothing is written to
        the arguments.

        Parameters
        ----------
        reference
            A function of the same arguments that returns what the kernel is to write: a tensor,
            several in the order of `writes`, a dict by name, or None where it changes them.
        writes
            The arguments that the reference returns; by default all that the kernel writes to.
        fresh
            Arguments whose content nobody wrote before the call, such as what `torch.empty` gave.
        cases
            Further calls: tuples of arguments, or dicts of those that differ by name. By default
            one with a size that is no multiple of the block, where it is sure which that is; None
            for the given call alone.
        sample
            The most programs of a grid that are run, spread over it; by default all.
        time_limit
            Seconds after which a run is ended.

        Raises
        ------
        UsageError
            A case, a name or a number is none; the grid cannot be computed.

        Examples
        --------
        >>> k = wb.kernel(add, x, x, out, x.numel(), grid=(16,), BLOCK=256)
        >>> c = k.check(lambda x, y, out, n: x + y, fresh="out")
        >>> c.ok
        True
        """
        from workbench.handles.own_kernels.kernel_checks import CheckQuestion, check_kernel

        question = CheckQuestion(reference, writes, fresh, cases, sample, time_limit)
        found = check_kernel(self.call, self.target, question, self._report)
        if self._report is not None:
            self.update(found.report)
        self._check = found
        return found

    @checked
    def save(self, path: str | PathLike[str]) -> None:
        """Write its record to a `.wbr` file, which `wb.Report.load` opens without the kernel."""
        self.report.save(path)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """The view as a self-contained page, written to `path` when given; without one its text."""
        return self.report.to_html(path)

    def __repr__(self) -> str:
        """A short stable summary: no times, no addresses; nothing is compiled for it."""
        given = ", ".join(f"{name}={value}" for name, value in self.call.meta.items())
        grid = self.call.grid if not callable(self.call.grid) else "by the values"
        return f"Kernel({self.name}, {self.target}, grid {grid}{', ' if given else ''}{given})"

    def _ipython_display_(self) -> None:
        """Show the view where it is the value of a cell."""
        from workbench.views.widgets.display import show

        show(self)._ipython_display_()
