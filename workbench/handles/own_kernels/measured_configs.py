"""Times the first few configurations on the GPU of this machine, and says what the model missed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from workbench.analysis.tuning.candidate import Candidate, format_us
from workbench.analysis.tuning.tuned import Tuned, TunedCase
from workbench.compiler.internals.local_device import find_current_gpu, has_gpu
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.measuring.timing import DeviceClock
from workbench.errors import UsageError
from workbench.handles.local_gpu import describe_local_gpu
from workbench.number_text import plural

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
            f"{call.name}: a tensor is on meta and holds no numbers, so that nothing can be timed. "
            "Leave measure out, or call it with tensors."
        )
    if any(getattr(config, "pre_hook", None) for config in call.configs):
        raise UsageError(
            f"{call.name}: its configurations have a pre_hook, which measure does not run. Leave "
            "measure out: write_triton gives the first few to time with your autotuner."
        )
    count = FEW if count is True else count
    cases, missed = [], []
    for case in tuned.cases:
        others = [n for n, v in case.sizes.items() if call.arguments.get(n, v) != v]
        if others:
            missed.append(f"{case.name} was not measured: the tensors are of another size.")
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
            "Leave it out: write_triton gives the first few to time elsewhere."
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
        f"Measured on {case.name}: of {plural(len(timed), 'configuration')} that were timed "
        f"{fastest.name} is the fastest, {format_us(us)}, place {fastest.rank} by the model"
    )
    if fastest.model_us:
        words += f", which gave it {format_us(fastest.model_us)}"
    return f"{words}. The model's first takes {first / us:.2f} times that. The rest was not timed."


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
