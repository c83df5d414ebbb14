import functools
import itertools
from types import SimpleNamespace

import pytest
import torch

import workbench as wb
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.measuring import timing
from workbench.compiler.measuring.profiler_trace import CALL_MARK, trace
from workbench.compiler.measuring.timing import (
    HOST_CLOCK,
    Clock,
    DeviceClock,
    GeneratedProgram,
    RepeatableCall,
    Timings,
    choose_clock,
    measure_clock_overhead,
    proxies,
    read_times,
    run_for_programs,
)
from workbench.errors import WorkbenchError
from workbench.handles.running import profile as handle
from workbench.handles.running.profile import _Matcher, measure_machine, profile
from workbench.report import Kernel, Report, Request, Table
from workbench.report.profile_record import (
    Machine,
    MeasuredCall,
    add_measured_call,
    read_measured_call,
)

QUICK = Machine(bytes_per_s=1e10, threads=1, clock_ns=50.0)


def product(x, y):
    return torch.relu(x @ y)


def steps(w, x):
    return torch.softmax(torch.relu(x) @ w, -1).sort(-1)[0]


@functools.cache
def compiled(backend="inductor"):
    w, x = torch.randn(32, 16, requires_grad=True), torch.randn(8, 32)
    return torch.compile(steps, fullgraph=True, backend=backend).aot_compile(((w, x), {})), (w, x)


@pytest.fixture(scope="module")
def measured():
    kernels = [
        Kernel("k0", "extern_kernels.mm", "extern", "i0", bytes_read=1000, bytes_written=24),
        Kernel("k1", "extern_kernels.mm", "extern", "i1", is_backward=True),
    ]
    report = Report(request=Request(name="steps"), tables={"kernels": Table.of(Kernel, kernels)})
    call, args = compiled()
    before = args[0].grad
    found = profile(call, args, {}, report, eager=steps, repeats=5, machine=QUICK)
    assert args[0].grad is before is None
    return found


def test_every_kernel_and_library_call_is_measured(measured):
    forward = [row.name for row in measured.kernels if not row.is_backward]
    assert forward[0].startswith("cpp_fused")
    assert "extern_kernels.mm" in forward
    assert any(name.startswith("torch.ops.aten.sort") for name in forward)
    assert any(row.is_backward for row in measured.kernels)
    assert all(row.time_us >= 0 for row in measured.kernels)
    assert measured.call_us > 0


def test_the_report_gets_the_times_and_stays_what_it_was_otherwise(measured):
    times = {kernel.id: kernel.time_us for kernel in measured.report.kernels}
    assert times["k0"] > 0
    assert times["k1"] > 0
    row = next(row for row in measured.kernels if row.kernel == "k0")
    assert row.bytes == 1024
    assert row.bandwidth_share == pytest.approx(row.bytes_per_s / QUICK.bytes_per_s)


def test_the_rates_of_the_host_are_kept_with_the_call():
    machine = measure_machine(longest_s=0.05)
    assert machine.flops_per_s > 0
    kept = MeasuredCall(1.0, 0.1, None, 5, bytes_per_s=2.0, flops_per_s=3.0)
    again = read_measured_call(add_measured_call(Report(), kept))
    assert (again.bytes_per_s, again.flops_per_s) == (2.0, 3.0)


def test_eager_operators_stand_beside_it(measured):
    names = {row.name for row in measured.operators if not row.is_backward}
    assert {"aten.relu.default", "aten.mm.default"} <= names
    assert measured.eager_us > 0


def test_the_original_of_a_call_without_gradients_has_none():
    layer, x = torch.nn.Linear(4, 4), torch.randn(2, 4)
    found = wb.aot_compile(layer, (x,), grad=False).profile(x)
    assert [row.name for row in found.operators if row.is_backward] == []


def test_the_frame_and_the_summary(measured):
    assert list(measured.frame()["name"]) == [row.name for row in measured.kernels]
    assert set(measured.frame("operators").columns) == {"name", "is_backward", "calls", "time_us"}
    kernels, operators = len(measured.kernels), len(measured.operators)
    assert repr(measured) == f"Profile(steps, {kernels} kernels, {operators} eager operators)"
    assert any("50.0 ns" in note for note in measured.notes)


def test_the_program_is_left_as_it_was():
    call, args = compiled()
    programs = run_for_programs(lambda: call(*args))
    before = [dict(program.scope) for program in programs]

    def interrupted():
        with proxies(programs, Timings()):
            assert [dict(p.scope) for p in programs] != before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [dict(program.scope) for program in programs] == before


def test_inputs_are_copied():
    def bump(x):
        x.add_(1)
        return x * 2

    x = torch.zeros(4)
    call = torch.compile(bump, fullgraph=True).aot_compile(((torch.zeros(4),), {}))
    profile(call, (x,), {}, Report(), repeats=2, machine=QUICK)
    assert x.tolist() == [0, 0, 0, 0]


def test_without_generated_code_it_says_so():
    call, args = compiled("eager")
    report = Report(request=Request(backend="eager"))
    with pytest.raises(WorkbenchError, match=r"no generated kernels.*backend='inductor'"):
        profile(call, args, {}, report, machine=QUICK)


def test_calls_of_one_name_go_to_its_rows_in_order():
    rows = [Kernel(f"k{n}", "extern_kernels.mm", "extern", "i0") for n in range(2)]
    rows.append(Kernel("k2", "cpp_fused_0", "cpp", "i0", calls=2))
    match = _Matcher(Report(tables={"kernels": Table.of(Kernel, rows)}))
    names = ["extern_kernels.mm", "cpp_fused_0", "extern_kernels.mm", "cpp_fused_0", "other"]
    found = [match.next(name, is_backward=False) for name in names]
    assert [k and k.id for k in found] == ["k0", "k2", "k1", "k2", None]


def test_helpers_are_no_kernels():
    scope = {"empty_strided_cpu": torch.empty_strided, "len": len}
    assert list(GeneratedProgram(scope, is_backward=False, names=set(scope)).kernels()) == []


def test_the_machine_is_measured():
    machine = measure_machine()
    assert machine.bytes_per_s > 1e8
    assert 0 < measure_clock_overhead(100) < 1e6


class Steps(Clock):
    """A clock of a device: a moment is a number, and nothing is known before it was waited for."""

    def __init__(self) -> None:
        self.moment, self.waited = 0, 0

    def now(self) -> int:
        self.moment += 1
        return self.moment

    def wait(self) -> None:
        self.waited += 1


def test_triton_kernels_are_timed_by_the_clock_of_their_device():
    started = []
    tuner = SimpleNamespace(compile_results=[], run=lambda *args, **_: started.append(args), n=3)
    program = GeneratedProgram(
        {"triton_0": tuner, "other": 1}, is_backward=False, names={"triton_0"}
    )
    assert isinstance(choose_clock([program]), DeviceClock)
    timings = Timings(Steps())
    with proxies([program], timings):
        program.scope["triton_0"].run(1, stream=0)
        program.scope["triton_0"].run(2, stream=0)
        assert program.scope["triton_0"].n == 3
    assert started == [(1,), (2,)]
    assert read_times(timings.noted()) == [((0, "triton_0"), 1), ((0, "triton_0"), 1)]
    assert timings.clock.waited == 1
    assert timings.noted() == []
    assert program.scope["triton_0"] is tuner


def test_a_program_without_triton_kernels_is_timed_on_the_host():
    assert choose_clock([GeneratedProgram({"x": 1}, is_backward=False, names={"x"})]) is HOST_CLOCK


def test_one_tensor_that_is_given_twice_is_one_tensor_in_the_copies():
    x = torch.randn(8, 8)
    assert wb.aot_compile(product, (x, x), grad=False).profile(x, x).kernels_us > 0


def gpu_events(events):
    """The events of a trace as if each numbered call had started a kernel that takes 2 µs."""
    for event in events:
        yield event
        if event.get("name", "").startswith(CALL_MARK):
            number = int(event["name"][len(CALL_MARK) :])
            place = {"pid": event["pid"], "tid": event["tid"], "args": {"correlation": number}}
            yield {"cat": "cuda_runtime", "name": "launch", "ts": event["ts"] + 0.1, **place}
            yield {"cat": "kernel", "name": "k", "dur": 2.0, "args": {"correlation": number}}


@pytest.fixture
def on_gpu(monkeypatch):
    """Programs that are measured as those of a GPU are; the CPU does the work."""
    monkeypatch.setattr(handle, "choose_clock", lambda programs: Steps())
    monkeypatch.setattr(timing, "wait_for_gpu", lambda: None)
    return monkeypatch


def test_on_a_gpu_library_calls_have_the_time_of_what_they_started(on_gpu):
    on_gpu.setattr(timing, "trace", lambda run, seen: list(gpu_events(trace(run, seen))))
    call, args = compiled()
    found = profile(call, args, {}, Report(), repeats=5, machine=QUICK)
    times = {row.name: row.time_us for row in found.kernels if not row.name.startswith("cpp")}
    assert set(times.values()) == {2.0 - QUICK.clock_ns / 1e3}
    assert any(row.is_backward and row.name in times for row in found.kernels)
    assert any("GPU times from torch's profiler" in note for note in found.notes)
    assert not any("GPU events" in note for note in found.notes)
    assert found.repeats == 4  # the first run has the calls of the warm-up, too


def test_a_repeat_of_which_the_trace_has_lost_a_call_is_not_counted(on_gpu):
    def lossy(run, seen):
        events = list(gpu_events(trace(run, seen)))
        last = max((e["ts"], n) for n, e in enumerate(events) if "dur" in e and is_call(e))[1]
        return events[:last] + events[last + 3 :]  # with what it launched

    def is_call(event):
        return event.get("name", "").startswith(CALL_MARK)

    on_gpu.setattr(timing, "trace", lossy)
    call, args = compiled()
    found = profile(call, args, {}, Report(), repeats=5, machine=QUICK)
    assert found.repeats == 3


def test_without_activity_of_the_gpu_events_are_the_clock_and_it_says_so(on_gpu):
    call, args = compiled()
    found = profile(call, args, {}, Report(), repeats=3, machine=QUICK)
    sentence = (
        "kernel times are from GPU events and include launch overhead, some µs when the GPU is "
        "idle: torch's profiler shows no GPU activity"
    )
    assert sentence in found.notes
    assert sentence in read_measured_call(found.report).notes  # so beside the times in every view
    assert all(row.time_us >= 0 for row in found.kernels)


def test_the_profile_of_the_caller_goes_on(on_gpu):
    call, args = compiled()
    kinds = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=kinds, acc_events=True) as outer:
        found = profile(call, args, {}, Report(), repeats=3, machine=QUICK)
    assert any(
        "GPU events" in note and "another torch profiler is running" in note for note in found.notes
    )
    assert any(event.name == "aten::mm" for event in outer.events())


def test_programs_are_left_as_they_were_where_a_traced_call_fails(on_gpu):
    call, args = compiled()
    programs = run_for_programs(lambda: call(*args))
    before = [dict(program.scope) for program in programs]
    count = itertools.count()

    def failing(*given):
        if next(count) > 8:
            raise ValueError("no more")
        return call(*given)

    with pytest.raises(ValueError, match="no more"):
        profile(failing, args, {}, Report(), repeats=2, machine=QUICK)
    assert [dict(program.scope) for program in programs] == before
    assert not tp.PROFILER_IS_RUNNING.get()


def test_the_backward_is_found_where_torch_would_give_it_to_another_thread():
    """Torch has a thread for each GPU, where no profile function of this one is called."""
    own = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, given):
            own.append(not torch._C._is_multithreading_enabled())
            return given

    x = torch.ones(2, requires_grad=True)
    subject = RepeatableCall(Watched.apply, (x,), {}, ())
    assert subject.programs() == []
    subject.run()
    assert own == [True, False]
