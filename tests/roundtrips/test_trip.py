"""Save, fresh process, load, call, compare: of a function, a module and a package."""

from __future__ import annotations

import _thread
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import loading_samples as samples
import psutil
import pytest
import torch

import workbench as wb
from workbench.artifacts.archive.file_kinds import FUNCTION
from workbench.processes.shipping import shipped_values
from workbench.report.file_rows import PHASES, WAYS
from workbench.report.roundtrip import RoundTrip
from workbench.roundtrips.trip import run

QUICK = ("ours", "eager")


@pytest.fixture(scope="module")
def compiled() -> Any:
    return wb.aot_compile(samples.scaled, samples.inputs(), grad=False)


@pytest.fixture(scope="module")
def trip(compiled: Any) -> RoundTrip:
    told: list[str] = []
    made = wb.roundtrip(
        compiled, samples.inputs(), ways=QUICK, progress=lambda name, seconds: told.append(name)
    )
    assert told == ["eager", "ours"]
    return made


def test_ours_gives_in_a_fresh_process_what_eager_gives(trip: RoundTrip) -> None:
    assert trip.ok
    assert [way.way for way in trip.ways] == ["eager", "ours"]
    assert trip.way("eager").bit_exact
    error = trip.way("ours").max_abs_error
    assert error is not None
    assert error < 1e-4
    assert {leaf.leaf for leaf in trip.leaves} == {"output"}


def test_the_phases_add_up_to_the_whole(trip: RoundTrip) -> None:
    for way in trip.ways:
        phases = [phase for phase in trip.phases if phase.way == way.way]
        assert {phase.phase for phase in phases} <= {*PHASES}
        assert phases[0].start_s == 0
        ends = [phase.start_s + phase.duration_s for phase in phases]
        assert ends[:-1] == pytest.approx([phase.start_s for phase in phases[1:]])
        assert ends[-1] == pytest.approx(way.total_s)
    ours = {phase.phase for phase in trip.phases if phase.way == "ours"}
    assert {"imports", "read", "unpack", "rebuild", "dlopen", "guards", "first_call"} <= ours
    row = trip.way("ours")
    assert row.imports_s is not None
    assert row.load_s is not None
    assert row.first_call_s is not None
    whole = row.imports_s + row.load_s + row.first_call_s
    assert row.first_result_s == pytest.approx(whole)


def test_each_way_has_percentiles_of_later_calls_and_the_memory_of_its_process(
    trip: RoundTrip,
) -> None:
    ways = trip.frame("ways").set_index("way")
    for way in QUICK:
        row = ways.loc[way]
        assert 0 < row["steady_s"] <= row["steady_p99_s"]
        assert 3 < row["steady_calls"] <= 1000
        assert 100e6 < row["peak_rss_bytes"] < psutil.virtual_memory().total
    assert trip.require(steady_p99="1min") is trip


def test_a_round_trip_is_tables_and_json(trip: RoundTrip) -> None:
    assert list(trip.frame("ways")["way"]) == ["eager", "ours"]
    assert set(trip.frame()["phase"]) <= {*PHASES}
    assert trip.frame("leaves")["ok"].all()
    assert RoundTrip.from_json(json.loads(json.dumps(trip.to_json()))) == trip
    with pytest.raises(wb.UsageError, match="choose one of ways, phases, leaves"):
        trip.frame("times")


def test_budgets_are_held_or_named(trip: RoundTrip) -> None:
    assert trip.require(first_call="1min", steady=60.0) is trip
    with pytest.raises(wb.BudgetError) as caught:
        trip.require(first_call="1ns", load="60s", guards="1ns")
    words = str(caught.value)
    assert "first call (first_call)" in words
    assert "build guards (guards)" in words
    assert "over the budget of 1.00 ns" in words
    assert "(load)" not in words
    with pytest.raises(wb.UsageError, match="Time 'second_call' does not exist"):
        trip.require(second_call="1s")
    with pytest.raises(wb.UsageError, match="choose one of eager, ours"):
        trip.require(way="torch", load="1s")


def test_wrong_results_miss_every_budget(trip: RoundTrip) -> None:
    leaves = tuple(
        replace(leaf, ok=leaf.way != "ours", max_abs_error=2.0, note="why") for leaf in trip.leaves
    )
    ways = tuple(replace(way, ok=way.way != "ours") for way in trip.ways)
    wrong = replace(trip, leaves=leaves, ways=ways)
    assert not wrong.ok
    with pytest.raises(wb.BudgetError, match=r"output differs from eager by 2 \(why\)"):
        wrong.require()


def test_the_report_of_what_was_compiled_learns_of_it(trip: RoundTrip, compiled: Any) -> None:
    assert [way.way for way in compiled.report.roundtrip] == ["eager", "ours"]
    facts = {row.name: row.value for row in compiled.report.artifact}
    assert facts["Path"] == "written for a round trip and removed"
    assert facts["Digest"] == trip.digest
    assert {row.verdict for row in compiled.report.requirements} == {"pass"}


class Framed:
    """A reference that no other process can be given."""

    def __init__(self) -> None:
        self.frame = sys._getframe()

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return samples.scaled(x, y)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files of this test are; checks that none is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shipped_values, "_SHARED", tmp_path)  # other tests use the machine's too
    yield tmp_path
    assert [*tmp_path.glob("aot-workbench*"), *tmp_path.glob("workbench-*")] == []


def test_a_way_that_cannot_run_says_why(compiled: Any, folders: Path) -> None:
    trip = wb.roundtrip(compiled, samples.inputs(), ways=QUICK, reference=Framed())
    eager, ours = trip.ways
    assert not eager.ran
    assert "the attribute 'frame'" in (eager.note or "")
    assert ours.ok
    assert trip.ok
    told = [line.strip() for line in repr(trip).splitlines()]
    row = next(n for n, line in enumerate(told) if line.endswith("did not run"))
    assert told[row + 1].startswith("scaled: the attribute 'frame'")


def test_an_interrupt_between_ways_leaves_nothing(compiled: Any, folders: Path) -> None:
    def interrupt(name: str, seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wb.roundtrip(compiled, samples.inputs(), ways=QUICK, progress=interrupt)


@pytest.fixture
def heard() -> Iterator[None]:
    """A signal is heard also where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_an_interrupt_ends_the_process(tmp_path: Path) -> None:
    timer = threading.Timer(0.7, _thread.interrupt_main)  # it imports torch by then
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "way", tmp_path / "caches", {"way": "ours"})
    mine = [child for child in psutil.Process().children() if _runs(child, tmp_path)]
    assert mine == []


def _runs(process: psutil.Process, folder: Path) -> bool:
    try:
        return any(str(folder) in part for part in process.cmdline())
    except psutil.NoSuchProcess:
        return False


def test_a_process_that_dies_is_a_reason(tmp_path: Path) -> None:
    order = {"way": "ours", "kind": FUNCTION, "inputs": "/no"}
    found = run(tmp_path / "way", tmp_path / "caches", order)
    assert "/no" in found["error"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"ways": ("ours", "theirs")}, "'theirs' is not a start-up mode. Choose from: eager, "),
        ({"ways": ()}, "Name at least one start-up mode"),
        ({"model": "encoder"}, "is only for packages with several models"),
    ],
)
def test_wrong_requests_are_refused(compiled: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        wb.roundtrip(compiled, samples.inputs(), **more)


def test_what_is_no_artifact_is_refused() -> None:
    with pytest.raises(wb.UsageError, match=r"wb\.roundtrip does not support a function"):
        wb.roundtrip(samples.scaled, samples.inputs())
    with pytest.raises(wb.UsageError, match="args is a Tensor"):
        wb.roundtrip(samples.scaled, samples.inputs()[0])  # type: ignore[arg-type]


@pytest.mark.slow  # a short one: tests/compiler/packaging/test_outputs.py
def test_a_package_makes_the_round_trip_too(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x = samples.Doubled(torch.nn.Linear(16, 4)).eval(), torch.randn(8, 16)
    package = wb.package(model, (x,), path=tmp_path / "doubled.pt2", capture="light")
    trip = wb.roundtrip(package, (x,), ways=QUICK)
    assert trip.ok
    assert trip.file == "doubled.pt2"
    assert {leaf.leaf for leaf in trip.leaves} == {"output['twice']"}
    ours = {phase.phase for phase in trip.phases if phase.way == "ours"}
    assert {"imports", "read", "unpack", "dlopen", "guards", "first_call"} <= ours
    assert [way.way for way in package.report.roundtrip] == ["eager", "ours"]
    assert {leaf.side for leaf in package.report.contract} == {"input", "output"}


SCRIPT = """
import torch
import workbench as wb

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
    def forward(self, x):
        return torch.nn.functional.dropout(self.linear(x), 0.5, self.training)

def closing(net):
    def inner(x):
        return net(x) * 2
    return inner

if __name__ == "__main__":
    net, x = Net().eval(), torch.randn(8, 16)
    for function in (net, closing(net)):
        compiled = wb.aot_compile(function, (x,), capture="light")
        print(wb.roundtrip(compiled, (x,), ways=("ours", "eager", "torch")))
    compiled = wb.aot_compile(net.train(), (x,))
    print(wb.roundtrip(compiled, (x,), ways="ours"))
"""


@pytest.mark.slow
def test_classes_of_a_script_are_handed_over(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(", ok\n") == 2
    assert "not importable, so passed in f_globals= when loading: Net" in done.stdout
    assert "NOT ok" in done.stdout
    assert "compiled code and eager draw different random numbers" in done.stdout


@pytest.mark.slow
def test_every_way_gives_the_same_numbers() -> None:
    x, _ = samples.inputs()
    compiled = wb.aot_compile(samples.block(), (x,))
    trip = wb.roundtrip(compiled, (x,), ways=WAYS)
    assert [(way.way, way.ran, way.ok) for way in trip.ways] == [(w, True, True) for w in WAYS]
    first = {way.way: way.first_result_s or 0.0 for way in trip.ways}
    assert first["ours"] < min(first["torch"], first["compile_cold"], first["compile_warm"])


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["inside", "beside", "later"])
def test_every_way_of_a_package_gives_the_same_numbers(tmp_path: Path, weights: str) -> None:
    torch.manual_seed(0)
    model, x = samples.Doubled(torch.nn.Linear(16, 4)).eval(), torch.randn(8, 16)
    package = wb.package(model, (x,), path=tmp_path / "m.pt2", weights=weights, capture="light")
    trip = wb.roundtrip(package, (x,), ways=WAYS)
    assert [(way.way, way.ran, way.ok) for way in trip.ways] == [(w, True, True) for w in WAYS]


def test_state_and_gradients_are_compared_in_every_process() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4)).train()
    x = torch.randn(16, 8)
    compiled = wb.aot_compile(model, (x,))
    found = wb.roundtrip(compiled, (x,))
    assert found.ok, found.frame("leaves").to_string()
    assert tuple(way.way for way in found.ways) == ("eager", "ours")
    names = {leaf.leaf for leaf in found.leaves if leaf.way == "ours"}
    assert {"output", "buffer 1.running_mean", "buffer 1.num_batches_tracked"} <= names
    assert {"gradient of 0.weight", "gradient of 1.bias"} <= names
    assert model[1].num_batches_tracked == 0
    frozen = wb.roundtrip(compiled, (x,), ways=("ours",), reference=lambda x: model(x).detach())
    wrong = {leaf.leaf for leaf in frozen.leaves if not leaf.ok}
    assert "gradient of 0.weight" in wrong
    assert "output" not in wrong


def test_random_states_are_compared_and_what_is_not_checked_is_never_ok() -> None:
    x = (torch.randn(4),)
    strict = wb.aot_compile(lambda x: x * 2, x, options={"fallback_random": True}, grad=False)
    found = wb.roundtrip(strict, x, ways=("ours",), reference=samples.wasteful)
    wrong = {leaf.leaf: leaf.note for leaf in found.leaves if not leaf.ok}
    assert wrong == {"random state of torch": "only eager draws random numbers"}
    assert found.way("ours").ok is False
    found = wb.roundtrip(wb.aot_compile(samples.wasteful, x, grad=False), x, ways=("ours",))
    rows = {leaf.leaf: (leaf.ok, leaf.checked) for leaf in found.leaves}
    assert rows == {"output": (True, True), "random state of torch": (False, False)}
    assert not found.ok
    assert found.way("ours").ok is None
    assert "not all checked" in str(found)
    assert "not checked: random state of torch of ours, it depends on random" in found.notes[0]
    with pytest.raises(wb.BudgetError, match="random state of torch was not checked"):
        found.require()


@pytest.mark.slow
def test_small_numbers_and_what_outputs_are_besides_them_are_compared() -> None:
    compiled = wb.aot_compile(samples.mixed, (torch.randn(4, 8),), backend="eager")
    found = wb.roundtrip(
        compiled, (torch.randn(4, 8),), reference=samples.mixed_original, ways=["ours"]
    )
    wrong = [leaf.leaf for leaf in found.leaves if not leaf.ok]
    assert wrong == ["output[0]", "container output", "memory of output[1]"]
    assert "not checked: memory of output[1]" in found.notes[0]
