"""What a running compilation tells, and what an interrupt leaves behind."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from tests.compiler.recording.test_recorder import everything_touched
from workbench.report import Report

PHASES = (
    *("compile", "bytecode_tracing", "backend_compile", "create_aot_dispatcher_function"),
    *("aot_collect_metadata", "_recursive_post_grad_passes", "GraphLowering.run"),
    *(
        "Scheduler.__init__",
        "Scheduler.codegen",
        "async_compile.wait",
        "GraphLowering.compile_to_fn",
    ),
)


def function(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.sin() @ x, -1)


class Told:
    """Keeps what it is told; raises `error` when the phase `until` begins."""

    def __init__(self, until: str | None = None):
        self.until = until
        self.events: list[tuple[str, str]] = []

    def __call__(self, name: str, elapsed: float) -> None:
        assert elapsed >= 0
        self.events.append(("begin", name))
        if name == self.until:
            raise KeyboardInterrupt

    def end(self, name: str, elapsed: float) -> None:
        assert elapsed >= 0
        self.events.append(("end", name))

    def kernel(self, name: str) -> None:
        self.events.append(("kernel", name))


def test_phases_begin_and_end_and_kernels_are_named_as_they_are_generated() -> None:
    told = Told()
    report = wb.aot_compile(function, (torch.rand(8, 8),), progress=told).report
    begun = [name for what, name in told.events if what == "begin"]
    ended = [name for what, name in told.events if what == "end"]
    assert sorted(begun) == sorted(ended)
    assert set(PHASES) <= set(begun)
    generated = [name for what, name in told.events if what == "kernel"]
    assert generated == [k.name for k in report.kernels if k.language != "extern"]
    at = told.events.index(("kernel", generated[0]))
    assert ("end", "Scheduler.codegen") in told.events[at:]


def test_a_plain_function_hears_of_phases() -> None:
    heard: list[str] = []
    wb.aot_compile(function, (torch.rand(8, 8),), progress=lambda name, _: heard.append(name))
    assert set(PHASES) <= set(heard)


@pytest.mark.parametrize("phase", PHASES)
def test_an_interrupt_in_each_phase(phase: str) -> None:
    before = everything_touched()
    with pytest.raises(KeyboardInterrupt) as caught:
        wb.aot_compile(function, (torch.rand(8, 8),), progress=Told(until=phase))
    assert everything_touched() == before
    report: Report = caught.value.report  # type: ignore[attr-defined]
    assert (report.outcome.ok, report.outcome.error) == (False, "interrupted")
    assert phase in {row.name for row in report.phases}
    if phase == "async_compile.wait":
        assert len(report.kernels)
    x = torch.rand(8, 8)
    torch.testing.assert_close(wb.aot_compile(function, (x,))(x), function(x))
    torch.testing.assert_close(torch.compile(function)(x), function(x))
