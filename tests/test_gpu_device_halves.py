"""What runs on a GPU, tried with the CPU in its place or with torch believing that one is there.

A stand-in for the plumbing: that every call is one that torch, Triton and the workbench know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from tests.compiler.virtual_gpu.device.test_virtual import first
from tests.compiler.virtual_gpu.gpus import H100
from tests.gpu import bounds, differences, files, launching, memory, modes, packages, profiling
from tests.gpu.models import MODELS, Model
from tests.gpu.programs import Program, programs
from tests.gpu.same_programs import Comparing, Found, compare_all
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.interpreter_session import Interpreter
from workbench.compiler.measuring.call_memory import allocated
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.compiler.virtual_gpu.device.virtual import enter_virtual_gpu

pytestmark = pytest.mark.slow


@pytest.fixture
def comparing(worker: CrossCompiler) -> Iterator[Comparing]:
    """The CPU, without code of its own, in place of an H100."""
    interpreter = Interpreter(job_s=300)
    yield Comparing("cpu", H100.spec, worker, interpreter, backend="eager")
    interpreter.close()


def named(*names: str) -> list[Program]:
    return [program for program in programs() if program.name in names]


def test_programs_are_compared_with_float64(comparing: Comparing) -> None:
    wanted = named("rms_norm", "normalised_gradient", "random_numbers")
    found = compare_all(comparing, wanted, seconds=600)
    assert {row.leaf for row in found.errors if row.program == "normalised_gradient"} == {
        *("output", "gradient of call[0][0]", "gradient of call[0][1]"),
    }
    assert all(row.is_foretold for row in found.errors)
    assert found.no_numbers.keys() == {"random_numbers"}
    assert {row.difference for row in found.same} == {"only for the virtual GPU"}
    late = compare_all(comparing, wanted, seconds=-1)
    assert late.no_code.keys() == {program.name for program in wanted}


@pytest.mark.parametrize("name", ["layer_norm", "scatter", "dynamic_batch"])
def test_code_of_a_device_that_torch_believes_in_is_that_of_the_virtual_one(
    name: str, comparing: Comparing
) -> None:
    """As on a device: in this process, recorded by the same hooks; only nothing is launched."""
    (program,) = named(name)
    fn, args = program.made()
    with enter_virtual_gpu(H100, first):
        mode = tp.FAKE_TENSOR_MODE.get()(shape_env=tp.SHAPE_ENV.get()())
        with mode:
            there = tuple(torch.empty(a.shape, dtype=a.dtype, device="cuda") for a in args)
            here = wb.aot_compile(fn, there, **program.settings).report
    rows = differences.compared(name, here, comparing._virtual(program).report)
    told = [row for row in rows if row.aspect != differences.SETTINGS]
    assert {row.aspect for row in told} >= {"source", "registers", "ptx", "sass"}
    assert {row.verdict for row in told} == {"identical"}, [r.difference for r in told]


def test_a_program_that_fails_has_a_reason(comparing: Comparing) -> None:
    found = Found()
    comparing.of(Program("fails", lambda: (lambda x: print(x), (torch.ones(2),))), found)
    assert found.no_code["fails"].startswith("CaptureError: ")


def test_memory_of_a_training_step() -> None:
    made = memory.programs("cpu", 64)
    count = lambda call, base: (allocated(call).peak, None)  # noqa: E731
    rows = [memory.peak(name, made[name], count) for name in ("chain", "normalised")]
    assert [row.program for row in rows] == ["chain", "normalised"]
    assert all(abs(row.error) < memory.ALLOCATED for row in rows)


def test_modes_and_profiles_measure() -> None:
    found = modes.times("cpu", ("default", "no such mode"), size=32, calls=3)
    assert isinstance(found["default"], float)
    assert str(found["no such mode"]).startswith("UsageError: ")
    profile = profiling.profiled("cpu", 64)
    assert profile.is_unchanged
    assert profile.measured == profile.kernels > 0
    assert profile.in_step == profile.of_step > profile.kernels
    assert profile.overview.startswith("measured")
    assert launching.waiting("cpu")() is None
    assert list(bounds.kernel_times("cpu", (16,))) == []  # a CPU has no roofline


@pytest.fixture
def compile_here() -> Callable[[Model], Any]:
    def compile_(model: Model) -> Any:
        module, x = model.made()
        return wb.aot_compile(module, (x,), grad=model.trains)

    return compile_


def test_files_are_loaded_by_a_process_of_their_own(
    tmp_path: Path, compile_here: Callable[[Model], Any]
) -> None:
    files.save_all(tmp_path, compile_here, ["block", "perceptron"])
    rows = files.loaded_elsewhere(tmp_path, "cpu")
    assert [(row.model, row.agrees, row.failure) for row in rows] == [
        ("block", True, ""),
        ("perceptron", True, ""),
    ]


def test_files_for_the_virtual_gpu_are_refused_without_one(
    tmp_path: Path, worker: CrossCompiler
) -> None:
    files.save_all(tmp_path, files.for_virtual(H100.spec, worker), ["block"])
    (row,) = files.loaded_elsewhere(tmp_path, "cpu")
    assert "was compiled for h100" in row.failure


def test_packages_serve_two_threads_and_new_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = packages.steps(tmp_path, "cpu", "h100")
    steps["a package that was built on the device"]()
    packages.two_streams(tmp_path / "own.pt2", "cpu", calls=5)
    packages.swapped(tmp_path / "own.pt2", "cpu", calls=5, swaps=4)
    told = capsys.readouterr().out
    for name in ("calls from two streams that give", "calls during swaps that use one set"):
        (line,) = (line for line in told.splitlines() if name in line)
        assert '"value": 1.0' in line
    assert MODELS["block"] is packages.MODEL
