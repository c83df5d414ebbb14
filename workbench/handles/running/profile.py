"""Measures every kernel of the unchanged generated code, beside the eager original."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from workbench.analysis.gpu_model.roofline import add_measured
from workbench.compiler.call_state.call_leaves import (
    copy_all_inputs,
    find_held_inputs,
    restore_state,
)
from workbench.compiler.internals.local_device import find_current_gpu, has_gpu
from workbench.compiler.measuring.timing import (
    HOST_CLOCK,
    LONGEST_S,
    WARM_CALLS,
    Clock,
    GeneratedProgram,
    Log,
    RepeatableCall,
    choose_clock,
    measure_clock_overhead,
    time_kernels,
    time_operators,
    time_runs,
)
from workbench.compiler.pairs.paired_rounds import Patience, measure_in_turn
from workbench.device_kinds import CPU, GPU
from workbench.errors import UsageError, WorkbenchError
from workbench.number_text import number_text, plural
from workbench.report import Kernel, Report, Table
from workbench.report.paired import PairedTimes
from workbench.report.profile_record import (
    KernelTime,
    Machine,
    MeasuredCall,
    OperatorTime,
    Profile,
    add_measured_call,
)
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.tasks.progress_events import ProgressCallback, step, tell_count

if TYPE_CHECKING:
    from workbench.handles.base.checked_call import CheckedCall

_TRIAD_ELEMENTS = {  # of float32: beyond the caches of today's processors, and GPUs
    CPU: 1 << 24,
    GPU: 1 << 27,
}
_PRODUCT_SIZE = 1024  # rows and columns: large enough for the library's best rate
_BRIEF_S = 0.2  # of each measurement in a live view, whose reader waits for all of them
_BY_TRACE = (
    "times of kernels and library calls are GPU times from torch's profiler; a call that launched "
    "nothing on the GPU has its host time"
)
_BY_EVENTS = (
    "kernel times are from GPU events and include launch overhead, some µs when the GPU is idle"
)
_PARTS = 6  # of a profile, the eager original included
_NOISY = 0.25  # quartile distance over median from which times should not be compared


def profile_compiled(
    compiled: CheckedCall,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    seconds: float | None = None,
    notes: tuple[str, ...] = (),
    progress: ProgressCallback | None = None,
) -> Profile:
    """Measure a compiled function on copies of the inputs, and add the times to its report.

    `seconds` limits each measurement. If it is set, eager operators are not measured. `notes` are
    notes on the inputs.
    """
    module = compiled.module
    parameters = () if module is None else tuple(module.parameters())
    eager = compiled.original
    if eager is not None and compiled.enters_no_grad:
        eager = torch.no_grad()(eager)
    held = find_held_inputs(compiled.original, args, kwargs)
    with restore_state(None, held=held):
        measured = profile(
            compiled,
            args,
            kwargs,
            compiled.report,
            eager=eager,
            parameters=parameters,
            seconds=seconds,
            notes=notes,
            progress=progress,
            held=held,
        )
    compiled.update(measured.report)
    return measured


def describe_profile(report: Report) -> str:
    """Return a sentence on the cost of measuring from a view."""
    fewest = _PARTS * (WARM_CALLS + 1)
    brief = number_text(_PARTS * 2 * _BRIEF_S, "seconds")
    kernels = plural(len(report.kernels), "kernel")
    return f"{kernels}: at least {fewest} calls, about {brief} for a short call."


def start_profile(compiled: Any) -> BackgroundTask[Profile]:
    """Measure in a thread of this process, where the module exists, and add times to the report.

    Cancelling does not interrupt a running call; the job stops before its next step. Raises
    `UsageError` with the text of `why_no_profile` if measuring is not possible.
    """
    if compiled.why_no_profile is not None:
        raise UsageError(compiled.why_no_profile)
    gone = compiled.recipe.gone()
    notes = (f"zeros were used for inputs that no longer exist: {', '.join(gone)}",) if gone else ()

    def work(steps: Steps) -> Profile:
        def measure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Profile:
            return profile_compiled(
                compiled, args, kwargs, seconds=_BRIEF_S, notes=notes, progress=steps
            )

        measured: Profile = compiled.recipe.called(measure)
        return measured

    return BackgroundTask(compiled.name, work, lambda thread: None)


def profile(
    call: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    report: Report,
    *,
    eager: Callable[..., Any] | None = None,
    parameters: Sequence[torch.Tensor] = (),
    repeats: int = 50,
    machine: Machine | None = None,
    seconds: float | None = None,
    notes: tuple[str, ...] = (),
    progress: ProgressCallback | None = None,
    held: Sequence[torch.Tensor] = (),
) -> Profile:
    """Measure one call: each kernel and library call, the whole call, and eager.

    The generated code runs unchanged. During the measurement, proxies replace the program's
    globals. They read the clock or, on a GPU, label each call in a torch.profiler trace. Inputs are
    copied, gradients are computed but not accumulated, and the random state is restored. `machine`
    holds machine properties from an earlier profile. `seconds` limits each measurement. If it is
    set, eager operators are not measured. `notes` are notes on the inputs. Inputs in `held`, which
    the callable itself holds, are not copied.

    Raises
    ------
    WorkbenchError
        The call has no generated program, for example with the backends eager and aot_eager.
    """
    devices = [find_current_gpu()] if has_gpu() else []
    with torch.random.fork_rng(devices=devices):
        copied = copy_all_inputs(args, kwargs, held)
        longest = LONGEST_S if seconds is None else seconds
        subject = RepeatableCall(call, *copied, tuple(parameters), longest_s=longest)
        with _measurement(progress, 0, "finding the generated programs"):
            programs = subject.programs()
        if not programs:
            raise WorkbenchError(
                f"Backend {report.request.backend!r} ran no Inductor program, so it has no "
                "generated kernels to measure. Compile with backend='inductor' (and without "
                "cpp_wrapper) to profile kernels."
            )
        clock = choose_clock(programs)
        subject = replace(subject, clock=clock)
        if machine is None:
            with _measurement(progress, 1, "measuring the memory bandwidth of this machine"):
                machine = measure_machine(clock, longest)
        runs, calls, why = _measure(subject, programs, repeats, progress)
        original = None if eager is None else replace(subject, call=eager)
        pairs: PairedTimes | None = None
        operators: tuple[OperatorTime, ...] = ()
        if original is not None:
            with _measurement(progress, 5, "timing eager"):
                patience = Patience(budget_s=longest)
                pairs = measure_in_turn(original.run, subject.run, patience)
                if seconds is None:
                    operators = tuple(time_operators(original, repeats))
    call_us, spread_us = statistics.median(calls) * 1e6, _spread(calls) * 1e6
    eager_us = None if pairs is None else statistics.median(pairs.before_us)
    rows = tuple(_rows(runs, programs, report, machine, call_us))
    by_events = (f"{_BY_EVENTS}: {why}",) if why else ()
    remarks = (*notes, *by_events, *_noise(call_us, spread_us, rows))
    least = _by_kernel(rows, "least_us")
    host = (machine.bytes_per_s, machine.flops_per_s) if clock is HOST_CLOCK else ()
    whole = MeasuredCall(call_us, spread_us, eager_us, len(runs), remarks, least, *host)
    return Profile(
        kernels=rows,
        operators=operators,
        machine=machine,
        call_us=call_us,
        call_spread_us=spread_us,
        eager_us=eager_us,
        repeats=len(runs),
        report=add_measured_call(_filled(report, rows), whole),
        notes=(*_clock_note(rows, machine, clock, why), *remarks),
        against_eager=pairs,
    )


@contextmanager
def _measurement(progress: ProgressCallback | None, done: int, name: str) -> Iterator[None]:
    """One part of a profile; what runs inside of it is not disturbed by being counted."""
    with step(progress, name):
        tell_count(progress, done, _PARTS, "part")
        yield


def _measure(
    subject: RepeatableCall,
    programs: list[GeneratedProgram],
    repeats: int,
    progress: ProgressCallback | None,
) -> tuple[list[Log], list[float], str]:
    """The calls of each repeat in order, the seconds of whole calls, why events timed kernels."""
    with _measurement(progress, 2, "timing whole calls"):
        calls = subject.seconds(repeats)
    with _measurement(progress, 3, "timing each kernel"):
        runs, by_events = time_kernels(subject, programs, repeats)
    with _measurement(progress, 4, "timing whole calls again"):
        calls += subject.seconds(repeats)  # before and after: drift shows as spread
    labels = [label for label, _ in runs[-1]]  # the first has the calls of the warm-up before it
    return [run for run in runs if [label for label, _ in run] == labels], calls, by_events


def _rows(
    runs: list[Log],
    programs: list[GeneratedProgram],
    report: Report,
    machine: Machine,
    call_us: float,
) -> Iterator[KernelTime]:
    matched = _Matcher(report)
    for position, ((number, name), _) in enumerate(runs[-1]):
        program = programs[number]
        nanoseconds = [max(0.0, run[position][1] - machine.clock_ns) for run in runs]
        time_us = statistics.median(nanoseconds) / 1e3
        kernel = matched.next(name, is_backward=program.is_backward)
        sizes = () if kernel is None else (kernel.bytes_read, kernel.bytes_written)
        known_sizes = [size for size in sizes if size is not None]
        moved = sum(known_sizes) if known_sizes else None
        rate = moved / time_us * 1e6 if moved and time_us else None
        yield KernelTime(
            name=name,
            kernel=None if kernel is None else kernel.id,
            program=number,
            is_backward=program.is_backward,
            calls=1,
            time_us=time_us,
            spread_us=_spread(nanoseconds) / 1e3,
            share=time_us / call_us,
            least_us=min(nanoseconds) / 1e3,
            bytes=moved,
            bytes_per_s=rate,
            bandwidth_share=None if rate is None else rate / machine.bytes_per_s,
        )


class _Matcher:
    """Finds the report's kernel for each call: the n-th call of a name is its n-th row."""

    def __init__(self, report: Report):
        self._rows: dict[tuple[str, bool], list[Kernel]] = {}
        for kernel in report.kernels:
            self._rows.setdefault((kernel.name, kernel.is_backward), []).append(kernel)

    def next(self, name: str, *, is_backward: bool) -> Kernel | None:
        rows = self._rows.get((name, is_backward))
        if not rows:
            return None
        return rows.pop(0) if len(rows) > 1 or rows[0].language == "extern" else rows[0]


def _filled(report: Report, rows: tuple[KernelTime, ...]) -> Report:
    """The report with the measured time of each kernel, summed over its calls."""
    times = _by_kernel(rows, "time_us")
    kernels = [replace(k, time_us=times.get(k.id)) for k in report.kernels]
    table = Table.of(Kernel, kernels, omitted=report.kernels.omitted)
    return add_measured(replace(report, tables={**report.tables, "kernels": table}))


def _by_kernel(rows: tuple[KernelTime, ...], field: str) -> dict[str, float]:
    """Times of the report's kernels, each summed over its calls."""
    times: dict[str, float] = {}
    for row in rows:
        if row.kernel is not None:
            times[row.kernel] = times.get(row.kernel, 0.0) + getattr(row, field)
    return times


def measure_machine(clock: Clock = HOST_CLOCK, longest_s: float = LONGEST_S) -> Machine:
    """Measure the memory bandwidth of a clock's device with a triad, and the clock's own overhead.

    On the host, also measure the arithmetic rate: the fastest of a few matmul runs.
    """
    device = CPU if clock is HOST_CLOCK else GPU
    a, b, c = (torch.ones(_TRIAD_ELEMENTS[device], device=device) for _ in range(3))

    def triad() -> None:
        torch.add(b, c, alpha=3.0, out=a)
        clock.wait()

    with torch.no_grad():
        seconds = min(time_runs(triad, 10, longest_s))
    moved = 3 * a.numel() * a.element_size()
    overhead = measure_clock_overhead() if clock is HOST_CLOCK else 0.0  # events lie on the device
    rate = _measure_products(longest_s) if clock is HOST_CLOCK else None
    return Machine(moved / seconds, torch.get_num_threads(), overhead, rate)


def _measure_products(longest_s: float) -> float:
    """Operations of float32 per second of the host, a multiply-add counted as two."""
    a, b, c = (torch.ones(_PRODUCT_SIZE, _PRODUCT_SIZE) for _ in range(3))
    with torch.no_grad():
        seconds = min(time_runs(lambda: torch.mm(a, b, out=c), 10, longest_s))
    return 2 * _PRODUCT_SIZE**3 / seconds


def _spread(values: Sequence[float]) -> float:
    """The distance between the quartiles."""
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4)
    return high - low


def _clock_note(
    rows: tuple[KernelTime, ...], machine: Machine, clock: Clock, why: str
) -> Iterator[str]:
    if clock is HOST_CLOCK:
        added = number_text(machine.clock_ns * 1e-9, "seconds")
        yield (
            f"timing a call adds {added}, which is subtracted from every kernel time ({len(rows)})"
        )
    elif not why:
        yield _BY_TRACE


def _noise(call_us: float, spread_us: float, rows: tuple[KernelTime, ...]) -> Iterator[str]:
    if spread_us > _NOISY * call_us:
        yield "noisy: the whole call varied too much to compare times, so close other programs"
    inside = sum(row.time_us for row in rows)
    if inside > call_us:
        yield "noisy: the kernels' medians add up to more than the whole call"
