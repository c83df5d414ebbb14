"""One trial in a process of its own: compile, compare with eager, measure; all becomes a row."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import os
import pickle
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import torch

from workbench.analysis.diff.report_comparison import compute_code_digest
from workbench.analysis.forecast.forecast import find_forecast, list_kernels
from workbench.analysis.fusion.traffic import measure_fusion_traffic
from workbench.compiler.call_state.call_leaves import copy_all_inputs, restore_state
from workbench.compiler.comparison.judgement import Tolerance
from workbench.compiler.comparison.output_comparison import find_largest_error
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import measure_gpu_peak, wait_where_used
from workbench.compiler.internals.patches import Patches
from workbench.compiler.pairs.paired_rounds import measure_in_turn
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.kernel_choice import find_kernel, list_triton_kernels
from workbench.errors import UsageError, WorkbenchError, describe_error, read_first_line
from workbench.handles.compiled import Compiled
from workbench.handles.compiling.dispatch import compile_for_target
from workbench.handles.kernels.ranked import list_changeable, rank_changed
from workbench.handles.running.verify import try_call
from workbench.number_text import number_text, plural
from workbench.process_memory import read_status_bytes
from workbench.processes.parent import Parent
from workbench.processes.shipping.shipped_values import unpacked
from workbench.report import Kernel, Report
from workbench.report.paired import NO_VERDICT, PairedTimes, compute_median_interval
from workbench.report.trials import UNCHECKED, UNSAVED, Trial
from workbench.settings import Settings
from workbench.specs import Gpu
from workbench.temporary import make_temporary_folder
from workbench.worlds.sweeps.rows.axes import COUNTS, split_parameter
from workbench.worlds.sweeps.trials.case import CallArguments, Case, build_case
from workbench.worlds.sweeps.trials.space import Setting
from workbench.worlds.sweeps.trials.strategies import Plan

if TYPE_CHECKING:
    from workbench.processes.shipping.caller_context import CallerContext


def run_trial(
    fn: Callable[..., Any],
    args: Any,
    kwargs: Mapping[str, Any],
    setting: Setting,
    plan: Plan,
    trial: Trial,
    together: Path | None = None,
) -> tuple[Trial, Report | None]:
    """Fill in the row of one setting; an error becomes its reason.

    `together` is a folder in which the trials of a sweep find what was timed already.
    """
    try:
        with compiling() as machine:
            case = build_case(fn, args, kwargs, setting)
            with time_choices_alone(machine), _threads(setting.get("threads")):
                start = time.perf_counter()
                compiled = compile_for_target(
                    CompileRequest(case.function, *case.call, case.options)
                )
                taken = time.perf_counter() - start - machine.waited_s
                trial = replace(trial, compile_s=taken)
        report = compiled.report
        traffic = measure_fusion_traffic(report)
        trial = replace(
            trial,
            kernels=len(report.kernels),
            dram_bytes=None if traffic is None else traffic.after,
            code=compute_code_digest(report),
            chosen="; ".join(f"{r.op}: {r.choice}" for r in report.autotune if r.chosen) or None,
        )
        if not isinstance(compiled, Compiled):
            return _by_model(trial, report, case, setting)
        if case.options.backend == "inductor":
            trial = _saved(trial, compiled)
        if not plan.compile_only:
            trial = _measured(trial, compiled, case, setting, plan, together)
        return trial, compiled.report  # with the file that was saved
    except Exception as error:
        if _is_full(error):
            return replace(trial, status="out of memory", reason=read_first_line(error)), None
        if isinstance(error, WorkbenchError):
            kept = error.report if isinstance(error.report, Report) else None
            return replace(trial, status="failed", reason=str(error)), kept
        return replace(trial, status="failed", reason=describe_error(error)), None


def _is_full(error: BaseException | None) -> bool:
    while error is not None:
        text = str(error)
        if isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate" in text:
            return True
        error = error.__cause__
    return False


def _by_model(
    trial: Trial, report: Report, case: Case, setting: Setting
) -> tuple[Trial, Report | None]:
    gpu = case.options.gpu
    if gpu is None or not setting.kernels:
        return estimate_call(trial, report), report
    with compiling():
        return estimate_by_configs(trial, report, gpu, dict(setting.kernels))


def _saved(trial: Trial, compiled: Compiled) -> Trial:
    """The size of the artifact, or a warning that says why there is none."""
    with make_temporary_folder("workbench-trial-") as folder:
        path = folder / "trial.aot"
        try:
            compiled.save(path, weights="later")
        except WorkbenchError as error:
            why = read_first_line(error).replace("; ", ", ")  # which parts warnings
            return replace(trial, warning=f"{UNSAVED}{why}")
        return replace(trial, artifact_bytes=path.stat().st_size)


def _measured(
    trial: Trial,
    compiled: Compiled,
    case: Case,
    setting: Setting,
    plan: Plan,
    together: Path | None,
) -> Trial:
    threads = setting.get("threads")
    with hold_machine(), torch.no_grad():
        module = compiled.module
        with _threads(threads):
            seconds = _time_first_call(compiled, case.call, module)
            tolerance = Tolerance(plan.rtol, plan.atol)
            rows = try_call(case.function, compiled, case.call, tolerance=tolerance).judge()
        checked = [row for row in rows if row.verdict != "not checked"]
        trial = replace(trial, first_call_s=seconds, difference=find_largest_error(checked))
        wrong = [row for row in checked if not row.ok]
        if wrong:
            return replace(trial, status="wrong", reason=_difference(wrong[0]))
        if unchecked := [row for row in rows if row.verdict == "not checked"]:
            names = ", ".join(row.leaf for row in unchecked)
            trial = _warned(trial, f"{names}{UNCHECKED}{unchecked[0].reason}")
        with _threads(threads):
            peak = measure_peak(_call(compiled, case.call))
        trial = replace(trial, peak_bytes=peak)
        file = _name_of_timed(trial, setting, plan, together)
        if file is not None and file.exists():  # the same program is not timed against itself
            timed = Trial.from_json(json.loads(file.read_text(encoding="utf-8")))
            return _with_times_of(trial, timed)
        before = torch.get_num_threads()
        ours = _with_threads(_call(compiled, case.call), threads, before)
        baseline = _with_threads(_call(case.original, case.original_call), before, before)
        times = measure_in_turn(baseline, ours, plan.patience)
        trial = _with_times(trial, times)
        if file is not None:
            file.write_text(json.dumps(trial.to_json()), encoding="utf-8")
    return trial


def _name_of_timed(
    trial: Trial, setting: Setting, plan: Plan, together: Path | None
) -> Path | None:
    """Where a trial of the same program, sizes and patience leaves its row; None: nowhere."""
    if together is None or trial.code is None:
        return None
    sizes = tuple((name, str(value)) for name, value in setting.sizes)
    what = repr((trial.code, sizes, setting.get("threads"), plan.patience))
    return together / f"timed-{hashlib.sha256(what.encode()).hexdigest()[:16]}.json"


def _with_times_of(trial: Trial, timed: Trial) -> Trial:
    figures = ("call_us", "low_us", "high_us", "baseline_us", "speedup", "speedup_low")
    rest = ("speedup_high", "samples_us", "disturbed", "is_disturbed", "factors")
    doubts = [words for words in (timed.warning or "").split("; ") if words.startswith(NO_VERDICT)]
    return replace(
        _warned(trial, doubts[0] if doubts else None),
        same_as=timed.title,
        **{name: getattr(timed, name) for name in (*figures, *rest)},
    )


def _time_first_call(
    function: Callable[..., Any], call: CallArguments, module: torch.nn.Module | None
) -> float:
    """The seconds of one call on copies of the inputs."""
    args, kwargs = copy_all_inputs(*call)
    with restore_state(module):
        start = time.perf_counter()
        function(*args, **kwargs)
        wait_where_used()
        return time.perf_counter() - start


def _warned(trial: Trial, warning: str | None) -> Trial:
    return replace(trial, warning="; ".join(filter(None, (trial.warning, warning))) or None)


def _difference(row: Any) -> str:
    if row.reason and not isfinite(row.max_abs_error):
        return f"{row.leaf} differs from eager: {row.reason}"
    note = f": {row.reason}" if row.reason else ""
    return (
        f"{row.leaf} differs from eager by {number_text(row.max_abs_error, 'difference')} (allowed "
        f"{number_text(row.atol, 'difference')} + {number_text(row.rtol, 'difference')} of the "
        f"value){note}"
    )


def _call(function: Callable[..., Any], call: CallArguments) -> Callable[[], object]:
    """One call on inputs of its own, so that a function that writes to them changes no others."""
    args, kwargs = copy_all_inputs(*call)
    return lambda: function(*args, **kwargs)


def _with_threads(
    run: Callable[[], object], threads: int | None, others: int
) -> Callable[[], object]:
    if threads is None or threads == others:
        return run

    def chosen() -> object:
        torch.set_num_threads(threads)
        try:
            return run()
        finally:
            torch.set_num_threads(others)

    return chosen


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(before if count is None else count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _with_times(trial: Trial, times: PairedTimes) -> Trial:
    call, ratio = compute_median_interval(times.after_us), times.ratio
    return replace(
        _warned(trial, f"{NO_VERDICT}{times.doubt}" if times.doubt else None),
        call_us=call.median,
        low_us=call.low,
        high_us=call.high,
        baseline_us=median(times.before_us),
        speedup=1 / ratio.median,
        speedup_low=1 / ratio.high,
        speedup_high=1 / ratio.low,
        samples_us=(times.after_us, times.before_us),
        disturbed=times.disturbed,
        is_disturbed=times.is_disturbed,
        factors=times.factors,
    )


def main(parent: Parent) -> None:
    """The program of the process: answers with the row and the `.wbr` content of its record."""
    parcel: str
    context: CallerContext
    parcel, context, task = parent.receive()
    with context.entered(), unpacked(Path(parcel)) as content:
        setting, plan, trial = pickle.loads(task)
        if plan.memory_bytes is not None:  # refuse address space beyond what is taken now and that
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + plan.memory_bytes
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        with content["state"].reproduced():
            subject = content["function"], content["args"], content["kwargs"]
            row, report = run_trial(*subject, setting, plan, trial, Path(parcel))
    parent.done((row, None if report is None else report.to_bytes()))


def estimate_call(trial: Trial, report: Report) -> Trial:
    """The call by the calibrated model, with launches; where that has none, its bounds added up."""
    told = find_forecast(report)
    if told is None:
        bounds = {r.kernel: r.bound_us for r in report.roofline if r.bound_us is not None}
        known = [
            bounds[kernel.id] * _calls(kernel) for kernel in report.kernels if kernel.id in bounds
        ]
        missing = len(report.kernels) - len(known)
        count = plural(len(report.kernels), "kernel")
        warning = f"no bound for {missing} of {count}" if missing else None
        return replace(trial, call_us=sum(known) or None, is_model=True, warning=warning)
    missing = sum(row.source == "bound" for row in told.rows)
    warnings = (
        [f"{missing} of {plural(len(told.rows), 'kernel')} counted at their roofline bound"]
        if missing
        else []
    )
    if any(row.error is None and row.source == "modelled" for row in told.rows):
        warnings.append(f"the model's error was not measured on {told.target}")
    return replace(
        trial,
        call_us=told.call_us,
        low_us=told.least_us,
        high_us=told.most_us,
        is_model=True,
        warning="; ".join(warnings) or None,
    )


def estimate_by_configs(
    trial: Trial, report: Report, gpu: Gpu, wanted: Mapping[str, int]
) -> tuple[Trial, Report]:
    """The model's time of the kernels with these parameters, and the report with what was tried.

    What is not wanted of a kernel stays as Inductor's own configurations have it; of those the best
    by the model counts. A call of a library takes what a forecast says. Raises `UsageError` for a
    parameter that no kernel has; the message lists those that there are.
    """
    changes = parse_changes(report, wanted)
    roofs = {row.kernel: row for row in report.own_roofline}
    others = {row.kernel: row.us or None for row in list_kernels(report, gpu, roofs)}
    times: list[float | None] = []
    for kernel in report.kernels:
        if kernel.id not in changes:
            times.append(others[kernel.id])
            continue
        ranked = rank_changed(report, gpu, kernel.id, changes[kernel.id])
        report, best = ranked.report, ranked.rows[0]
        if best.model_us is None:
            sizes = plural(best.warps, "warp"), plural(best.stages, "stage")
            asked = filter(None, (best.choice, *sizes))
            why = best.rejection or best.note or "its grid is not modelled"
            reason = f"{best.kernel} with {', '.join(asked)}: {why}"
            return replace(trial, status="failed", reason=reason, is_model=True), report
        times.append(best.model_us * _calls(kernel))
    known = [time for time in times if time is not None]
    missing = len(times) - len(known)
    count = plural(len(times), "kernel")
    warning = f"no modelled time for {missing} of {count}" if missing else None
    return replace(trial, call_us=sum(known) or None, is_model=True, warning=warning), report


def parse_changes(report: Report, wanted: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """What is wanted of each Triton kernel, by its id; "k0.XBLOCK" is wanted of one alone."""
    kernels = list_triton_kernels(report)
    sizes = {kernel.id: list_changeable(report, kernel.id) for kernel in kernels}
    by_kernel: dict[str, dict[str, int]] = {kernel.id: {} for kernel in kernels}
    for axis, value in sorted(wanted.items(), key=lambda pair: "." in pair[0]):  # the one wins
        name, parameter = split_parameter(axis)
        asked = [find_kernel(report, name).id] if name else list(by_kernel)
        having = [id for id in asked if parameter in (*sizes[id], *COUNTS)]
        if not having:
            known = "; ".join(
                f"{id} has {', '.join((*names, *COUNTS))}" for id, names in sizes.items()
            )
            raise UsageError(
                f"No kernel has a parameter {axis} that a sweep could change: {known}."
            )
        for id in having:
            by_kernel[id][parameter] = value
    return by_kernel


def _calls(kernel: Kernel) -> int:
    return max(kernel.calls, 1)


@dataclass
class Shared:
    """The machine as a compilation holds it: together with others.

    `waited_s` are the seconds in which it waited for them.
    """

    handle: int
    waited_s: float = 0.0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold it alone for a while, as the autotuner does while it times a choice.

        The share is let go first (flock(2): the change is not atomic), so that two compilations
        that both want the machine alone do not wait for each other.
        """
        self._change(fcntl.LOCK_EX)
        try:
            yield
        finally:
            self._change(fcntl.LOCK_SH)

    def _change(self, kind: int) -> None:
        start = time.perf_counter()
        fcntl.flock(self.handle, kind)
        self.waited_s += time.perf_counter() - start


@contextmanager
def compiling(folder: Path | None = None) -> Iterator[Shared]:
    """Hold the machine together with other compilations; waits while another process measures."""
    with _held(folder, fcntl.LOCK_SH) as handle:
        yield Shared(handle)


@contextmanager
def hold_machine(folder: Path | None = None) -> Iterator[None]:
    """Hold the machine alone: no other sweep of this user measures or compiles meanwhile."""
    with _held(folder, fcntl.LOCK_EX):
        yield


@contextmanager
def _held(folder: Path | None, kind: int) -> Iterator[int]:
    file = (folder or Settings.from_environment().cache_folder) / "measuring.lock"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise WorkbenchError(
            f"Cannot create {file}, the lock for measurements: {error.strerror}. Set "
            "AOT_WORKBENCH_CACHE to a writable folder."
        ) from error
    try:
        fcntl.flock(handle, kind)  # the system lets go of it when the process ends, however it ends
        yield handle
    finally:
        os.close(handle)


@contextmanager
def time_choices_alone(machine: Shared) -> Iterator[None]:
    """Whatever the autotuner times in this thread, it times with the machine to itself.

    Trials compile beside each other: without this, the choice of a kernel would depend on what the
    other trials were doing.
    """

    def make(time: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            with machine.alone():
                return time(*args, **kwargs)

        return timed

    with Patches() as patches:
        for name in (tp.BENCHMARK_CPU, tp.BENCHMARK_GPU):
            patches.wrap(name, make)
        yield


_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): "reset the peak resident set size (high water mark)"


def measure_peak(run: Callable[[], object]) -> int | None:
    """Bytes that one call has taken at most; None where the system does not say.

    On a GPU it is the allocator's own peak. On the CPU it is the process's resident memory, in
    whole pages: small tensors come from memory that is there already and count as nothing.
    """
    if (peak := measure_gpu_peak(run)) is not None:
        return peak
    run()  # what only a first call takes is not counted
    try:
        # freed memory goes back to the system, so that taking it again is seen
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
        if trim is not None:
            trim(0)
        _CLEAR.write_text(_RESET_PEAK)
        before = read_status_bytes("VmRSS")
        run()
        return max(0, read_status_bytes("VmHWM") - before)
    except (OSError, LookupError):
        return None
