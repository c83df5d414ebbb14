"""One call of a kernel that a user wrote, and everything that can be asked about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import torch

from workbench.analysis.kernel_checks.kernel_check import KernelCheck, add_check
from workbench.analysis.tuning.candidate import Candidate, format_us
from workbench.analysis.tuning.tuned import Tuned, TunedCase
from workbench.arguments import checked
from workbench.compiler.internals.local_device import find_current_gpu, has_gpu
from workbench.compiler.kernel_checks.kernel_checking import CheckQuestion as CheckQuestion
from workbench.compiler.kernel_checks.kernel_checking import check_call
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.measuring.timing import DeviceClock
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.errors import UsageError, WorkbenchError
from workbench.handles.devices.local_gpu import describe_local_gpu
from workbench.live_only import LiveOnly
from workbench.number_text import plural
from workbench.report import Report
from workbench.report.machine_rows import CheckedCase, KernelFinding
from workbench.report.report_holder import ReportHolder
from workbench.specs import Gpu
from workbench.tasks.progress_events import ProgressCallback
from workbench.worlds.own_kernels.handles.kernel_report import add_work, record_source

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas

    from workbench.analysis.gpu_model.matrix import Matrix
    from workbench.analysis.kernel_layouts.kernel_layout import Layout
    from workbench.analysis.tuning.tuned import RankedConfigs, Tuned
    from workbench.tasks.live_action import LiveAction


class OwnKernel(LiveOnly, ReportHolder):
    """Describe a call of a hand-written kernel, for a GPU that is not needed here.

    Compiling and running are lazy.
    """

    instead: ClassVar[str] = "Save its report with k.save(path), or recreate it with wb.kernel."

    def __init__(self, call: KernelCall, gpu: Gpu):
        self.call = call
        self.gpu = gpu
        self._report: Report | None = None
        self._check: KernelCheck | None = None
        self._watched_s = math.inf  # after which the run of the accesses was ended

    @property
    def name(self) -> str:
        """The name of the kernel's function."""
        return self.call.name

    @property
    def target(self) -> str:
        """The name of its GPU."""
        return self.gpu.name

    @property
    @checked
    def report(self) -> Report:
        """The report of its compilation for its GPU, compiled on first access.

        Raises `UsageError` if Triton does not compile it, or no configuration of its autotuner fits
        on the GPU.
        """
        return self._compile()

    def _compile(self, progress: ProgressCallback | None = None) -> Report:
        if self._report is None:
            from workbench.worlds.own_kernels.handles.compiling import compile_call

            made, found = compile_call(self.call, self.gpu, progress), self._check
            self._report = made if found is None else keep_check(made, found.findings, found.cases)
        return self._report

    @property
    def live_actions(self) -> tuple[LiveAction, ...]:
        """The actions of a live view while this is alive, with a reason if one is blocked."""
        from workbench.worlds.own_kernels.handles.kernel_actions import list_kernel_actions

        def compile_for(target: str, steps: ProgressCallback) -> OwnKernel:
            other = self.on(target)
            other._compile(steps)
            return other

        return list_kernel_actions(
            self.call,
            compile_for,
            lambda targets, steps: self.matrix(targets, progress=steps),
            lambda steps: self.check(progress=steps),
            lambda steps: self._look_at_accesses(progress=steps),
        )

    @checked
    def update(self, report: Report) -> None:
        """Replace the report, for example with one that includes the counts of a check."""
        before, self._report = self.report, report
        self._notify(before, report)

    @checked
    def frame(self, name: str = "resources", *, time_limit: float = 60.0) -> pandas.DataFrame:
        """Return a table of the report, such as "resources", "roofline" or "accesses".

        On first access, "accesses" runs the call instrumented, to find the addresses of each line.
        Sectors, widths and used shares follow from them and from the compiled code. Not counted:
        L1/L2 hits, other warps, TMA, and Tensor Core reads of shared memory. The run ends after
        `time_limit` seconds. A partial count is marked as partial, and a longer limit runs it
        again.
        """
        if name == "layouts":
            self._look_at_layouts()
        elif name == "accesses":
            self._look_at_accesses(time_limit)
        return self.report.frame(name)

    @checked
    def layouts(self) -> pandas.DataFrame:
        """Return a row for each tensor: line, operation, shape, layout, registers, lanes and warps.

        For tensors that go through shared memory, also how often a wavefront waits for its banks.
        Only the compiler runs. Raises as `frame("accesses")` does.
        """
        return self.frame("layouts")

    @checked
    def layout(self, line: int | str, op: str = "") -> Layout:
        """Return which warp, lane and register hold which element of the tensor of a line.

        `line` is its number, or a part of its text. If a line has several operations, `op` is a
        part of the operation's name. Raises `UsageError` if the line has no layout.
        """
        from workbench.analysis.kernel_layouts.kernel_layout import find_layout

        self._look_at_layouts()
        return find_layout(self.report, [*self.report.layouts], line, op)

    def _look_at_layouts(self) -> None:
        if "layouts" not in self.report.tables:
            from workbench.worlds.own_kernels.handles.memory_accesses import add_layouts

            self.update(add_layouts(self.report, self.call, self.gpu))

    def _look_at_accesses(
        self, time_limit: float = 60.0, progress: ProgressCallback | None = None
    ) -> None:
        if "accesses" in self.report.tables and time_limit <= self._watched_s:
            return
        from workbench.worlds.own_kernels.handles.memory_accesses import add_accesses

        made, is_whole = add_accesses(self.report, self.call, self.gpu, time_limit, progress)
        self._watched_s = math.inf if is_whole else time_limit
        self.update(made)

    @cached_property
    def _elsewhere(self) -> dict[str, OwnKernel]:
        return {}

    @checked
    def on(self, target: str) -> OwnKernel:
        """Return the same call for another GPU of `targets()`; raises `UsageError` if unknown."""
        gpu = list_known_gpus()[target]
        if gpu.name == self.gpu.name:
            return self
        return self._elsewhere.setdefault(gpu.name, OwnKernel(self.call, gpu))

    @checked
    def matrix(self, targets: Sequence[str], *, progress: ProgressCallback | None = None) -> Matrix:
        """Compile the call for several GPUs and compare; needs no GPU.

        Raises `UsageError` if the GPU is unknown. If Triton does not compile it, a note has the
        reason.
        """
        from workbench.worlds.own_kernels.handles.compiling import compare_call

        return compare_call(self.report, self.call, targets, progress)

    @checked
    def rank_configs(
        self,
        configs: Iterable[Any] | None = None,
        *,
        sizes: Mapping[str, int] | None = None,
        progress: ProgressCallback | None = None,
    ) -> RankedConfigs:
        """Compile configurations for the GPU and rank them by modelled time; none is run.

        `configs` are `triton.Config` or mappings of values; by default the autotuner's. For
        matmuls, `sizes` are M, N and K if no arguments have these names, and E and TOP for a
        mixture of experts. Raises `UsageError` without configurations.
        """
        from workbench.worlds.own_kernels.handles.tuning import rank_call

        call = self._count_work()
        ranked = rank_call(self.report, call, self.gpu, configs, sizes or {}, progress)
        self.update(ranked.report)
        return ranked

    def _count_work(self) -> KernelCall:
        """The call with the bytes and operations that a run of it has counted, where there are."""
        report = self._report
        if self.call.recorded is not None or report is None or not len(report.kernels):
            return self.call
        (kernel,) = report.kernels
        if kernel.bytes_read is None:
            return self.call
        from workbench.analysis.forecast.forecast import read_record_work

        return replace(self.call, recorded=partial(read_record_work, report, kernel))

    def memory(self) -> NoReturn:
        """Refuse: a kernel only holds its arguments."""
        raise UsageError(
            f"{self.name} is a single kernel, which allocates nothing: use wb.memory on a program."
        )

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
        triton_viz: bool = True,
        progress: ProgressCallback | None = None,
    ) -> KernelCheck:
        """Run the call instrumented on the CPU, and report the lines with errors.

        It detects out-of-bounds accesses (per view, not per storage), races between program
        instances, and conflicting lanes in one store. It also detects missing barriers between a
        read and a write of one address by two lanes, reads of uninitialized memory, writes to an
        input that `writes` does not name, and wrong values.

        It proves nothing for sizes and inputs that were not run. Sizes that are multiples of a
        block in every call are named. For tensors on meta, only out-of-bounds accesses that depend
        on sizes and strides are found. Nothing is written to the arguments.

        Parameters
        ----------
        reference
            A function of the same arguments that returns the expected output. The output is a
            tensor, several in the order of `writes`, a dict by name, or None if it changes them in
            place.
        writes
            The arguments that the reference returns; by default all that the kernel writes to. A
            write to any other input is a finding.
        fresh
            Arguments that are uninitialized before the call, such as the result of `torch.empty`.
        cases
            Further calls: tuples of arguments, or dicts of changed arguments by name. By default
            one call, with each size that is a multiple of a block reduced by one. This requires
            that shapes, strides and grid follow from the size. None runs only the given call.
        sample
            The maximum number of program instances to run, spread over the grid; by default all.
        time_limit
            Seconds after which a run is ended.
        triton_viz
            Also check the given call with triton-viz, if it is installed. Its results are marked
            `by` it. They are dropped as findings if the run of every program instance contradicts
            them.

        Raises
        ------
        UsageError
            An invalid case, name or number, or the grid cannot be computed.

        Examples
        --------
        >>> k = wb.kernel(add, x, x, out, x.numel(), grid=(16,), BLOCK=256)
        >>> c = k.check(lambda x, y, out, n: x + y, fresh="out")
        >>> c.ok
        True
        """
        question = CheckQuestion(reference, writes, fresh, cases, sample, time_limit, triton_viz)
        found = check_kernel(self.call, self.target, question, self._report, progress)
        if self._report is not None:
            self.update(found.report)
        self._check = found
        return found

    @checked
    def tune(
        self,
        target: str | Sequence[str] | None = None,
        *,
        sizes: Any = None,
        space: Any = None,
        budget: float | None = None,
        prior: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
        check: Mapping[str, Any] | None = None,
        measure: int = 0,
        time_limit: float = 60.0,
        executor: Executor | None = None,
        store: str | PathLike[str] | None = None,
        progress: ProgressCallback | None = None,
    ) -> Tuned:
        """Compile configurations for GPUs that are not needed here, and rank them by modelled time.

        Configurations are discarded, with the reason, if they do not compile (in time), do not fit,
        launch nothing or have too wide a grid. Those that spill in their loop or step over a block
        of scales are discarded, too. The rest is modelled, not measured: `.sentence` has the
        model's error on real GPUs.

        `.why(1, 2)` compares two. `.write_vllm`, `.write_sglang`, `.write_triton`, `.write_helion`
        and, for kernels of compiled programs, `.write_inductor` write the best.

        Parameters
        ----------
        target
            A GPU, or several; by default the kernel's own.
        sizes
            For matmuls the numbers of rows, such as `[1, 16, 64, 4096]`, or mappings with M, N, K,
            and E and TOP for a mixture of experts. Each gets its own result.
        space
            Values by name, such as `{"BLOCK_M": [64, 128], "num_warps": [4, 8]}`, or a list of
            `triton.Config`. "product", "product with scales", "reduction" and "pointwise" are usual
            search spaces. By default the autotuner's configurations, if any, or a usual search
            space. For Inductor's kernels, the default is that of the program's `rank_configs`.
        budget
            How many are compiled, or a float for the number of seconds. The others are reported as
            not compiled.
        prior
            Files or folders with best configs of GPUs: see `rank_configs` of a compiled program. By
            default published best configs are used for block-scaled GEMMs and MoE GEMMs where they
            rank better than the model alone; `[]` uses none.
        check
            Arguments for `check`, such as `{"reference": f}`. The top configurations of each case
            are checked on the CPU until five are left; wrong ones are discarded.
        measure
            How many of the best to time on the GPU of this machine; True means five.
        time_limit
            Seconds in the compiler after which one configuration is abandoned.
        executor
            Where they are compiled: any concurrent.futures.Executor, such as Dask's
            `client.get_executor()`. By default in the worker of this process.
        store
            An SQLite file, by default the one in the user's cache folder. Earlier builds with the
            same source, values, GPU, releases and Triton settings come from it, and an interrupted
            run can continue. `.from_store` counts them.

        Raises
        ------
        ArtifactError
            `store` is not a store, or is damaged.
        UsageError
            An unknown GPU, size, space or file, or `measure` without the GPU.

        Examples
        --------
        >>> k = wb.kernel(add, x, x, out, x.numel(), grid=(16,), BLOCK=256)
        >>> tuned = k.tune("b200", space={"num_warps": [2, 4]})
        >>> [each.verdict for each in tuned.best(2)]
        ['ranked', 'ranked']
        """
        from workbench.handles.kernels.compare_targets import find_target_gpus
        from workbench.handles.running.progress_line import follow_in_a_line
        from workbench.worlds.own_kernels.handles.tuning import tune

        names = [target] if isinstance(target, str) else target
        gpus = (self.gpu,) if names is None else find_target_gpus(names)
        with follow_in_a_line(progress, f"Configurations of {self.name}") as told:
            tuned = tune(
                self._count_work(),
                gpus,
                sizes=sizes,
                space=space,
                budget=budget,
                prior=prior,
                check=None if check is None else partial(self._check_other, check),
                time_limit=time_limit,
                executor=executor,
                store=store,
                progress=told,
            )
        return measure_best(self.call, tuned, measure) if measure else tuned

    def _check_other(self, asked: Mapping[str, Any], call: KernelCall) -> tuple[bool | None, str]:
        found = OwnKernel(call, self.gpu).check(**{"triton_viz": False, **asked})
        return found.ok, found.sentence

    @checked
    def save(self, path: str | PathLike[str]) -> None:
        """Write its report to a `.wbr` file, which `wb.Report.load` opens without the kernel."""
        self.report.save(path)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return the view as a self-contained page, written to `path` when given."""
        return self.report.to_html(path)

    def __repr__(self) -> str:
        """A short stable summary: no times, no addresses; it compiles nothing."""
        given = ", ".join(f"{name}={value}" for name, value in self.call.meta.items())
        grid = self.call.grid if not callable(self.call.grid) else "by the values"
        return f"Kernel({self.name}, {self.target}, grid {grid}{', ' if given else ''}{given})"

    def _ipython_display_(self) -> None:
        """Show the view where it is the value of a cell; the sentence where it does not compile."""
        from workbench.views.widgets.display import show

        try:
            shown = show(self)
        except WorkbenchError as error:
            print(f"{self!r}\n{type(error).__name__}: {error}")
        else:
            shown._ipython_display_()


def check_kernel(
    call: KernelCall,
    target: str,
    question: CheckQuestion,
    report: Report | None = None,
    progress: ProgressCallback | None = None,
) -> KernelCheck:
    """Check one kernel; `report` is the record to add to, else it holds the source alone."""
    found = check_call(call, question, progress)
    kept = keep_check(report or record_source(call, target), found.findings, found.cases)
    return KernelCheck(kept, found.findings, found.cases)


def keep_check(
    report: Report, findings: Sequence[KernelFinding], cases: Sequence[CheckedCase]
) -> Report:
    """The record with what was found, and with what the run of the given call has counted."""
    kept = add_check(report, findings, cases)
    given = cases[0] if cases and not cases[0].case else None
    if given is None or given.least_read_bytes is None or not len(kept.kernels):
        return kept
    return add_work(kept, given)


Timer = Callable[[KernelCall, Candidate], float]
"""The seconds of one launch of a call in a configuration."""

FEW = 5
"""Configurations that are timed where True stands for their number."""
_WARM, _REPEATS = 3, 20


def measure_best(
    call: KernelCall, tuned: Tuned, count: int, time_call: Timer | None = None
) -> Tuned:
    """The same with the times of the first `count` of each case that this machine can run.

    Raises `UsageError` without the GPU, and for tensors without numbers. `time_call` stands for the
    device.
    """
    if time_call is None:
        _refuse_elsewhere(tuned)
        time_call = time_on_gpu
    if call.is_data_free:
        raise UsageError(
            f"{call.name}: a tensor is on meta and has no values, so nothing can be timed. Omit "
            "`measure`, or call it with real tensors."
        )
    if any(getattr(config, "pre_hook", None) for config in call.configs):
        raise UsageError(
            f"{call.name}: its configurations have a pre_hook, which measure does not run. Omit "
            "`measure`: write_triton writes out the top few configurations, so that you can time "
            "them with your autotuner."
        )
    count = FEW if count is True else count
    cases, missed = [], []
    for case in tuned.cases:
        others = [n for n, v in case.sizes.items() if call.arguments.get(n, v) != v]
        if others:
            missed.append(f"{case.name} was not measured: the tensors have a different size.")
            cases.append(case)
            continue
        made = _measure_case(call, case, count, time_call)
        cases.append(made)
        missed.append(describe_miss(made))
    return replace(tuned, cases=tuple(cases), missed=tuple(missed))


def _refuse_elsewhere(tuned: Tuned) -> None:
    names = {case.gpu.name for case in tuned.cases}
    if not has_gpu():
        raise UsageError(
            f"measure needs {' and '.join(sorted(names))} in this machine, which has no GPU. "
            "Omit `measure`: write_triton writes out the top few configurations, so that you can "
            "time them on another machine."
        )
    here = describe_local_gpu()[0].spec.name
    if names != {here}:
        raise UsageError(f"measure needs target={here!r}, the GPU of this machine.")


def _measure_case(call: KernelCall, case: TunedCase, count: int, time_call: Timer) -> TunedCase:
    timed = {each.key: 1e6 * time_call(call, each) for each in case.ranked[:count]}
    return replace(
        case,
        candidates=tuple(
            replace(each, measured_us=timed.get(each.key)) if each.rank else each
            for each in case.candidates
        ),
    )


def describe_miss(case: TunedCase) -> str:
    """Which of those that were timed is the fastest, and how far the model's first is from it."""
    timed = [(each.measured_us, each) for each in case.ranked if each.measured_us is not None]
    if not timed:
        return f"Nothing was measured on {case.name}."
    us, fastest = min(timed, key=lambda pair: pair[0])
    first = timed[0][0]
    words = (
        f"Measured on {case.name}: {fastest.name} is the fastest of "
        f"{plural(len(timed), 'timed configuration')}, at {format_us(us)} (position {fastest.rank} "
        "in the model"
    )
    if fastest.model_us:
        words += f", modelled {format_us(fastest.model_us)}"
    return (
        f"{words}). The model's top pick takes {first / us:.2f} × that time. The other "
        "configurations "
        "were not timed."
    )


def time_on_gpu(call: KernelCall, candidate: Candidate) -> float:
    """The least seconds of several launches on the GPU of this machine, in its own time."""
    device, clock = find_current_gpu(), DeviceClock()
    arguments = {
        name: value.to(device) if isinstance(value, torch.Tensor) else value
        for name, value in call.arguments.items()
    }
    own = {**dict(candidate.values), "num_warps": candidate.warps, "num_stages": candidate.stages}
    meta = call.all_meta(own)
    launch = call.jit[call.resolve_grid(own)]
    times: Sequence[float] = []
    for _ in range(_WARM + _REPEATS):
        start = clock.now()
        launch(**arguments, **meta)
        end = clock.now()
        clock.wait()
        times = [*times, clock.between(start, end) * 1e-9]
    return min(times[_WARM:])
