"""What torch will record as CUDA graphs is in the report, with the reasons, without a GPU."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.report import Report

WITH_GRAPHS = {"triton.cudagraphs": True}


def there_and_back(x: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x) * 2
    z = (y.cpu() + 1).to(x.device)
    return torch.softmax(z, -1)


def adds_in_place(total: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    total.add_(x)
    return total * 2


def smooth(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x)


def compiled(f: object, *args: torch.Tensor, **options: object) -> Report:
    made = wb.aot_compile(f, args, target="h100", grad=False, options={**WITH_GRAPHS, **options})
    return made.report


@pytest.mark.slow
def test_a_program_is_cut_where_the_cpu_computes() -> None:
    report = compiled(there_and_back, torch.randn(32, 64))
    assert [row.verdict for row in report.cuda_graphs] == ["recorded", "skipped", "recorded"]
    first, cut, last = report.cuda_graphs
    assert cut.reason == "cpu ops; DeviceCopy ops"
    languages = {kernel.id: kernel.language for kernel in report.kernels}
    assert [languages[id] for id in (*first.kernels, *cut.kernels, *last.kernels)] == [
        *("triton", "cpp", "triton")
    ]
    source = next(source for source in report.sources if source.name == "there_and_back")
    assert cut.lines == (f"L:{source.id}:{source.first_line + 2}",)
    assert first.copied_bytes == 32 * 64 * 4  # x; what the CPU made is no input of the call
    found = wb.launches(report)
    assert [row.in_graph for row in found.rows] == [True, False, True]


def test_writing_to_an_input_leaves_the_decision_to_every_call() -> None:
    report = compiled(adds_in_place, torch.zeros(64), torch.randn(64))
    (part,) = report.cuda_graphs
    assert part.verdict == "depends"
    assert (part.reason or "").startswith("mutated inputs")


@pytest.mark.slow
def test_without_cutting_one_operation_on_the_cpu_costs_the_whole_graph() -> None:
    report = compiled(there_and_back, torch.randn(32, 64), graph_partition=False)
    (part,) = report.cuda_graphs
    assert part.verdict == "skipped"
    assert part.reason == "skipping cudagraphs due to cpu device (device_put)"
    assert len(part.kernels) == 3


@pytest.mark.slow
def test_parameters_are_not_copied_and_dynamic_sizes_need_a_graph_each() -> None:
    model = torch.nn.Linear(64, 64)
    report = compiled(model, torch.randn(32, 64))
    (part,) = report.cuda_graphs
    assert part.copied_bytes == 32 * 64 * 4
    dynamic = wb.aot_compile(
        smooth,
        (torch.randn(32, 64),),
        target="h100",
        grad=False,
        dynamic_shapes={"x": {0: torch.export.Dim("rows", min=2)}},
        options=WITH_GRAPHS,
    ).report
    (part,) = dynamic.cuda_graphs
    assert part.verdict == "recorded"
    assert part.reason == "one CUDA graph for each combination of sizes"
    assert part.copied_bytes is None


def test_on_the_cpu_nothing_is_recorded() -> None:
    report = wb.aot_compile(torch.relu, (torch.randn(8),), mode="reduce-overhead").report
    assert {(row.verdict, row.reason) for row in report.cuda_graphs} == {
        ("skipped", "nothing in it runs on a GPU")
    }
    assert report.why_missing("cuda_graphs") is None


def test_without_the_option_there_are_no_rows() -> None:
    report = wb.aot_compile(torch.relu, (torch.randn(8),)).report
    assert not len(report.cuda_graphs)
