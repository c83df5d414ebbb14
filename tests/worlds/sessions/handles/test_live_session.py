from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.compiler.internals import torch_private as tp

TRACES = Path(__file__).parents[3] / "gpu" / "traces"


@pytest.fixture(autouse=True)
def leaves_no_profiler() -> Iterator[None]:
    yield
    assert not tp.PROFILER_IS_RUNNING.get()


def train(s: wb.LiveSession, steps: int) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    compiled = torch.compile(model, backend="aot_eager")
    for x in s.steps([torch.randn(4, 8)] * steps):
        compiled(x).sum().backward()


@pytest.mark.world("profiles")
def test_a_session_takes_a_profile_of_its_own() -> None:
    with wb.session(profile=True) as s:
        train(s, 3)
    profile = s.profile
    assert profile.header.on_cpu
    assert profile.header.has_shapes
    operators = set(profile.frame("kernels")["operator"])
    assert {"aten::addmm", "aten::relu"} <= operators
    assert not any("dynamo_timed" in operator for operator in operators)
    assert not profile.header.has_stacks, "torch would record its own compiler: gigabytes"
    assert profile.busy_us <= 1.001 * profile.frame("kernels")["time_us"].sum(), "no compiling"
    assert profile.busy_us < profile.total_us
    assert not any("with_stack=True, with_modules" in note for note in profile.notes)
    assert not any("ProfilerActivity" in note for note in profile.notes)
    steps = [row.name for row in profile.tables["steps"] if row.kind == "profiler step"]
    assert len(steps) >= 3
    assert s.frame("compiles")["id"].nunique() == 1


@pytest.mark.world("profiles")
def test_the_profile_of_a_gpu_has_the_lines_of_the_reports_of_the_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What an H100 ran takes the place of what this machine did."""
    report = wb.Report.load(TRACES / "workbench.wbr")
    ran = wb.read_profile(TRACES / "workbench.json.gz")
    with wb.session(profile=True) as s:
        torch.compiler.reset()
        train(s, 1)
    monkeypatch.setattr(s, "_profile", ran)
    monkeypatch.setattr(type(s), "reports", {0: report})
    name = f"0: {next(iter(s.tables['compiles'])).id}"
    assert {row.of for row in s.profile.tables["record"]} == {name}
    assert list(s.profile.records) == [name]


def test_a_session_without_one_says_how_to_take_one() -> None:
    with wb.session() as s:
        pass
    with pytest.raises(wb.errors.UsageError, match="profile=True"):
        _ = s.profile


@pytest.mark.world("profiles")
def test_the_profile_is_there_when_the_session_has_stopped() -> None:
    with wb.session(profile=True) as s:
        with pytest.raises(wb.errors.UsageError, match="stops"):
            _ = s.profile
        train(s, 1)
    assert len(s.profile.tables["kernels"])


@pytest.mark.world("profiles")
def test_a_program_that_raises_keeps_its_profile_and_leaves_no_profiler() -> None:
    session = wb.session(profile=True)

    def fail() -> None:
        with session:
            train(session, 1)
            raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"):
        fail()
    assert len(session.profile.tables["kernels"])


@pytest.mark.world("profiles")
def test_another_profile_is_left_alone() -> None:
    with (
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as other,
        pytest.raises(wb.errors.UsageError, match=r"Another torch\.profiler"),
        wb.session(profile=True),
    ):
        pass
    torch.relu(torch.ones(2))
    assert other.events() is not None
    with wb.session():
        pass  # nothing of the session that was refused is left
