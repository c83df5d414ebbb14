"""What `make test-gpu` computes from the rows of a device: figures, differences, reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import workbench as wb
from tests.gpu import accuracy, differences, launching, ranks
from tests.gpu.accuracy import Errors
from tests.gpu.bounds import softmax
from tests.gpu.configs import config_times
from tests.gpu.figures import MARK, TABLE
from tests.gpu.launching import Launching
from tests.gpu.programs import WITHOUT_NUMBERS, programs
from tests.gpu.same_programs import Comparing, compare_all
from workbench.compiler.interpreter.session import Interpreter
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.report import Report, Table
from workbench.report.machine_rows import Resources
from workbench.specs import Catalogue

RECORD = Path(__file__).parents[1] / "assets" / "scores_h100.wbr"
Capture = pytest.CaptureFixture[str]


def figures(capsys: Capture) -> dict[str, dict[str, object]]:
    lines = capsys.readouterr().out.splitlines()
    told = [json.loads(line.removeprefix(MARK)) for line in lines if line.startswith(MARK)]
    return {each["name"]: each for each in told}


def test_a_record_is_identical_to_itself() -> None:
    report = Report.load(RECORD)
    value, checked, unchecked = differences.share(differences.compared("scores", report, report))
    assert value == 1.0
    assert checked >= 8 * sum(kernel.language == "triton" for kernel in report.kernels)
    assert unchecked == 0


def test_what_differs_is_named(capsys: Capture) -> None:
    virtual = Report.load(RECORD)
    first, *others = virtual.resources
    more = replace(first, registers=first.registers + 2)
    table = Table.of(Resources, [more, *others])
    device = replace(virtual, tables={**virtual.tables, "resources": table})
    rows = differences.compared("scores", device, virtual)
    differences.tell(rows, {"other": "it was not compiled"})
    lines = capsys.readouterr().out.splitlines()
    tables = [json.loads(line.removeprefix(TABLE)) for line in lines if line.startswith(TABLE)]
    changed, left_out = (each["row"] for each in tables)
    assert changed["aspect"] == "registers"
    assert changed["difference"] == (
        f"{more.registers} on the device, {first.registers} for the virtual GPU"
    )
    assert left_out == {"program": "other", "reason": "it was not compiled"}


def test_a_device_beyond_the_tolerance_is_named(capsys: Capture) -> None:
    good = Errors("sums", "output", "float32", 1e-6, 2e-6, "passed", "passed", 1e-5, 1e-6)
    bad = replace(good, program="products", device=1.0, device_verdict="failed")
    accuracy.tell([good, bad], {"draws": "its numbers are random"})
    told = figures(capsys)
    device = told["interpreter: programs in which the device is within the tolerance of float64"]
    assert (device["value"], device["note"]) == (0.5, "beyond it: products")
    assert told["interpreter: same verdict as the device"]["note"] == "another: products"
    count = told["interpreter: programs compared with float64"]
    assert (count["value"], count["note"]) == (2, "draws: its numbers are random")


def test_no_program_is_not_checked(capsys: Capture) -> None:
    accuracy.tell([], {})
    same = figures(capsys)["interpreter: same verdict as the device"]
    assert (same["value"], same["note"]) == (None, "no program was compared")


def test_orders_of_configurations_are_compared(capsys: Capture) -> None:
    ranks.tell_configs({"a": [(1, 2), (2, 3), (3, 9)], "b": [(1, 1), (2, 2)]})
    told = figures(capsys)
    assert told["rank correlation of rank_configs and measured times"]["value"] == 1.0
    few = told["rank correlation of the configurations of b"]
    assert (few["value"], few["note"]) == (None, "2 of its configurations have both times")


def test_what_graphs_save_is_told_beside_the_model(capsys: Capture) -> None:
    found = Launching(200.0, 150.0, 100.0, 80.0, starts=200, traced=200)
    launching.tell(found)
    told = figures(capsys)
    assert told["saved by CUDA graphs, by wb.launches"]["value"] == 0.25
    assert told["saved by CUDA graphs, measured"]["value"] == pytest.approx(0.2)
    launching.tell(replace(found, graph_us=None, no_graph="it draws random numbers"))
    measured = figures(capsys)["saved by CUDA graphs, measured"]
    assert (measured["value"], measured["note"]) == (None, "it draws random numbers")


def test_there_are_more_programs_than_are_wanted() -> None:
    names = [program.name for program in programs()]
    assert len(set(names)) == len(names)
    assert len(names) - len(WITHOUT_NUMBERS) >= accuracy.WANTED


@pytest.mark.slow
def test_programs_are_compared_with_the_cpu_in_the_place_of_a_device(worker: CrossCompiler) -> None:
    wanted = [each for each in programs() if each.name in ("pointwise", "normalised_gradient")]
    interpreter = Interpreter(job_s=60)
    gpu = Catalogue.built_in()["h100"]
    try:
        comparing = Comparing("cpu", gpu, worker, interpreter, backend="eager")
        found = compare_all(comparing, wanted, 200)
    finally:
        interpreter.close()
    assert (found.no_code, found.no_numbers) == ({}, {})
    assert {row.program for row in found.errors} == {"pointwise", "normalised_gradient"}
    assert all(row.is_foretold and row.device_verdict == "passed" for row in found.errors)
    assert {row.difference for row in found.same} == {"only for the virtual GPU"}


@pytest.mark.slow
def test_configurations_are_timed_one_by_one() -> None:
    x = torch.ones(256, 256)
    compiled = wb.aot_compile(softmax, (x,), target="h100", grad=False)
    ranked = compiled.rank_configs("k0")
    times = iter(range(1, 1000))
    found = config_times(
        compiled.report, ranked, "cpu", x.numel(), clock=lambda launch: float(next(times))
    )
    assert len(found) == sum(row.rank is not None for row in ranked.rows) >= 3
