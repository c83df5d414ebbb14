"""What a record says of its library calls and generated kernels, as the model takes it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import workbench as wb
from workbench.analysis.forecast.forecast import KernelForecast
from workbench.report import Kernel, Table


class Mixed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(8, 64, 3, padding=1)
        self.wide = torch.nn.Linear(64, 128)

    def forward(self, x: Tensor) -> Tensor:
        y = self.convolution(x.relu()).flatten(2).transpose(1, 2)
        a, b = self.wide(y).chunk(2, -1)
        heads = (a.sigmoid() * b).unflatten(-1, (2, 32)).transpose(1, 2)
        return F.scaled_dot_product_attention(heads, heads, heads)


@pytest.fixture(scope="module")
def compiled() -> wb.CompiledModule:
    module, x = Mixed().half().eval(), torch.randn(2, 8, 16, 16).half()
    return wb.aot_compile(module, (x,), target="h100", grad=False)


def forecast_by_name(report: wb.Report) -> dict[str, KernelForecast]:
    return {row.name.rpartition(".")[2]: row for row in wb.forecast(report).rows}


def test_a_convolution_has_its_padding_from_the_graph(compiled: wb.CompiledModule) -> None:
    row = next(r for n, r in forecast_by_name(compiled.report).items() if n == "convolution")
    assert (row.source, row.kind) == ("modelled", "convolution")


def test_attention_is_causal_only_where_the_call_says_so(compiled: wb.CompiledModule) -> None:
    report = compiled.report
    call = re.compile(r"(_scaled_dot_product_\w+\.default\([^)]*)\)")
    texts = {key: call.sub(r"\1, 0.0, True)", text) for key, text in report.texts.items()}
    plain, causal = (
        next(row for row in wb.forecast(each).rows if row.kind == "attention")
        for each in (report, replace(report, texts=texts))
    )
    assert causal.us < plain.us


def test_a_record_whose_texts_are_no_code_is_told_all_the_same(compiled: wb.CompiledModule) -> None:
    """A record is a file: what it holds for a call may be anything."""
    report = compiled.report
    call = re.compile(r"torch\.ops\.aten\.convolution\.default\([^)]*\)")
    texts = {key: call.sub("torch.ops.((((1 2)", text) for key, text in report.texts.items()}
    texts = {key: text.replace("(2, 64, 16, 16)", "(2, , 64)") for key, text in texts.items()}
    told = wb.forecast(replace(report, texts=texts))
    assert len(told.rows) == len(wb.forecast(report).rows)


def test_a_generated_kernel_has_the_elements_that_it_goes_through(
    compiled: wb.CompiledModule,
) -> None:
    """Both halves of what is taken apart are read, and no element twice."""
    report = compiled.report
    kernel = next(k for k in report.kernels if k.language == "triton" and "mul" in k.name)
    halves = re.compile(r"^    ([xyz])numel = (\d+)$", re.MULTILINE)
    twice = halves.sub(r"    \1numel = 1000000", report.texts[kernel.text or ""])
    larger = replace(report, texts={**report.texts, kernel.text or "": twice})
    told, more = (
        next(row.us for row in wb.forecast(each).rows if row.kernel == kernel.id)
        for each in (report, larger)
    )
    assert more > told


def test_a_kernel_that_is_called_again_takes_as_long_each_time(
    compiled: wb.CompiledModule,
) -> None:
    """The bytes of a record are those of one call: they were divided by the calls again."""
    report = compiled.report
    large = [
        replace(kernel, bytes_read=1 << 30, bytes_written=1 << 30) for kernel in report.kernels
    ]
    once, often = (
        next(row.us for row in wb.forecast(each).rows if row.language == "triton")
        for each in (
            replace(report, tables={**report.tables, "kernels": Table.of(Kernel, rows)})
            for rows in (large, [replace(kernel, calls=4) for kernel in large])
        )
    )
    assert often == pytest.approx(4 * once)
