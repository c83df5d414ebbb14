"""A kernel that fusion makes worse is named with the reason; the others are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import workbench as wb
from workbench.analysis.fusion.eager import list_eager_operators
from workbench.analysis.fusion.fusion import (
    explain_worse_fusion,
    list_before_fusion,
    list_saved_traffic,
    list_savings,
)
from workbench.analysis.fusion.traffic import measure_fusion_traffic
from workbench.report import Report, Table
from workbench.views.parts.fusion_part import build_fusion_part


def both_ways(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Rows and columns of one value are reduced by two kernels, each of which computes it."""
    y = torch.relu(a + b * c)
    return y.sum(0), y.amax(1)


@pytest.fixture(scope="module")
def reduced() -> Report:
    args = tuple(torch.rand(512, 512) for _ in range(3))
    return wb.aot_compile(both_ways, args, target="h100", grad=False).report


def test_what_is_computed_twice_is_named_with_what_it_costs(reduced: Report) -> None:
    rows = reduced.frame("traffic").set_index("kernel")
    worse = rows[rows.bytes_fused > rows.bytes_alone * 1.01]
    assert list(worse.index) == ["k2"]
    words = worse.why_more["k2"]
    assert words.startswith("It moves 3.15 MB, against 1.05 MB in eager (estimates). ")
    assert "It recomputes add, mul and relu, which k0" in words
    assert "Together, these kernels still move less: 6.31 MB instead of 10.5 MB." in words


def test_the_view_marks_it(reduced: Report) -> None:
    groups = {step["kernel"]: step for step in build_fusion_part(reduced)["steps"]}
    assert groups["k2"]["why_more"] is not None
    assert (groups["k2"]["saved"], groups["k2"]["unsaved"]) == (None, "moves more")
    assert groups["k0"]["why_more"] is None


def test_it_is_silent_where_fusion_saves_and_about_libraries() -> None:
    report = Report.load(Path(__file__).parents[2] / "records" / "block.wbr")
    rows = report.frame("traffic").set_index("kernel")
    (words,) = rows.why_more.dropna()
    assert rows.why_more["k15"] == words  # the residual, which the norm needs too
    assert "It recomputes add_1, which k10 also computes" in words


class Convolutions(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(8, 16, 3, padding=1)
        self.second = torch.nn.Conv2d(16, 16, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        return self.second(x) + x


@pytest.fixture(scope="module")
def convolved() -> Report:
    args = (torch.randn(1, 8, 16, 16),)
    return wb.aot_compile(Convolutions().eval(), args, grad=False).report


def test_what_a_convolution_moves_is_not_saved_by_the_copies_that_it_needs(
    convolved: Report,
) -> None:
    rows = convolved.frame("traffic")
    calls = rows[rows.name == "extern_kernels.convolution"]
    assert list(calls.operators) == [1, 1]
    assert list(calls.bytes_eager) == list(calls.bytes_fused)  # a call alone saves nothing
    (copies,) = rows[rows.operators == 0].itertuples()
    assert copies.bytes_eager == copies.bytes_alone == 0 < copies.bytes_fused
    assert "It copies the inputs of k1 (extern_kernels.convolution) into" in copies.why_more
    steps = build_fusion_part(convolved)["steps"]
    group = next(step for step in steps if step["kernel"] == copies.kernel)
    assert group["words"] == "Rearranges data of `first`"
    assert not group["saved"]


@pytest.mark.parametrize(
    "name", ["block", "layers", "training", "norm_h100", "torch_2.12", "torch_2.15"]
)
def test_the_rows_add_up_to_the_totals(name: str) -> None:
    report = Report.load(Path(__file__).parents[2] / "records" / f"{name}.wbr")
    add_up(report)


def test_the_rows_of_a_new_compilation_add_up_too(convolved: Report, reduced: Report) -> None:
    add_up(convolved)
    add_up(reduced)


def add_up(report: Report) -> None:
    rows, traffic = list_saved_traffic(report), measure_fusion_traffic(report)
    assert traffic is not None
    assert sum(row.bytes_fused for row in rows) == traffic.after
    totals = {each.words: each.bytes for each in list_before_fusion(report)}
    if "unfused" in totals:
        assert sum(row.bytes_alone for row in rows) == totals["unfused"]
    assert sum(row.bytes_before for row in rows) == next(iter(totals.values()))
    groups = list_savings(report)
    assert sum(group.after for group in groups) == traffic.after


def test_what_a_pass_replaced_is_computed_by_what_it_put_in_its_place() -> None:
    """As seen: the product of an `addmm` was of no kernel, "needs no kernel any more"."""

    def twice(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.relu(F.max_pool2d((x @ w + b)[None], 2)[0] @ w[:32] + b)

    report = wb.aot_compile(
        twice, (torch.randn(64, 64), torch.randn(64, 64), torch.randn(64))
    ).report
    operators = list_eager_operators(report)
    assert operators is not None
    assert "max_pool2d" in {each.name for each in operators}  # `fn` by torch's name for it
    assert all(each.became for each in operators)
    rows = list_saved_traffic(report)
    assert all(row.kernel for row in rows)
    called = [row.bytes_eager for row in rows if row.name == "extern_kernels.addmm"]
    products = [each.bytes for each in operators if each.name in ("matmul", "add")]
    assert len(called) == 2
    assert sum(map(int, filter(None, called))) == sum(products)


def test_what_a_kernel_adds_to_a_call_is_no_copy_that_the_call_reads() -> None:
    """As seen: the kernel that adds a bias to what a convolution wrote "copies what it reads"."""
    report = Report.load(Path(__file__).parents[2] / "records" / "convolutions.wbr")
    kernels = {kernel.id: kernel for kernel in report.kernels}
    own, call = kernels["k0"].scheduler_nodes, kernels["k1"].scheduler_nodes
    first = replace(report.buffers[0], written_by=call, read_by=own)
    buffers = Table.of(type(first), [first, *list(report.buffers)[1:]])
    turned = replace(report, tables={**report.tables, "buffers": buffers})
    why = explain_worse_fusion(turned, {"k0": (0, 100)})["k0"]
    assert "It copies the inputs of k5 (extern_kernels.convolution)" in why
    assert "It reads back the result of k1 (extern_kernels.convolution) to finish it" in why


class Block(torch.nn.Module):
    """A block of a GPT."""

    def __init__(self) -> None:
        super().__init__()
        self.ln1, self.ln2 = torch.nn.LayerNorm(64), torch.nn.LayerNorm(64)
        self.qkv, self.proj = torch.nn.Linear(64, 192), torch.nn.Linear(64, 64)
        self.up, self.down = torch.nn.Linear(64, 256), torch.nn.Linear(256, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        heads = [
            part.view(b, t, 4, 16).transpose(1, 2) for part in self.qkv(self.ln1(x)).chunk(3, -1)
        ]
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


def compile_transformer(name: str, target: str, *, grad: bool) -> Report:
    torch.manual_seed(0)
    encoder = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    module = Block() if name == "block" else encoder
    return wb.aot_compile(
        lambda x: module(x).square().mean(), (torch.randn(8, 64, 64),), target=target, grad=grad
    ).report


@pytest.mark.parametrize(
    ("name", "target", "grad"),
    [
        ("encoder", "h100", True),
        pytest.param("encoder", "host", True, marks=pytest.mark.slow),
        pytest.param("block", "host", False, marks=pytest.mark.slow),
        pytest.param("block", "h100", False, marks=pytest.mark.slow),
        pytest.param("block", "host", True, marks=pytest.mark.slow),
        pytest.param("block", "h100", True, marks=pytest.mark.slow),
    ],
)
def test_a_library_call_of_a_transformer_moves_no_more_than_in_eager(
    name: str, target: str, grad: bool
) -> None:
    """As seen: "516 kB → 4.98 MB, moves more" for a product inside of an attention."""
    report = compile_transformer(name, target, grad=grad)
    generated = {kernel.id for kernel in report.kernels if kernel.is_generated}
    rows = [row for row in list_saved_traffic(report) if row.kernel]
    assert len(rows) == len(report.kernels)
    for row in rows:
        if row.kernel not in generated:
            assert row.bytes_before >= row.bytes_fused, row
        elif row.bytes_fused > row.bytes_before * 1.01:
            assert row.why_more is not None
            assert "does not explain" not in row.why_more, row
    assert sum(row.bytes_fused > row.bytes_before for row in rows) <= len(rows) // 5
    add_up(report)


def test_an_operator_that_eager_takes_apart_counts_by_its_library_calls() -> None:
    """Attention with its projections is three calls with copies in between, not one pass."""
    attention = torch.nn.MultiheadAttention(64, 4, batch_first=True)
    x = torch.randn(8, 64, 64)
    report = wb.aot_compile(
        lambda x: attention(x, x, x, need_weights=False)[0], (x,), grad=True
    ).report
    first = (list_eager_operators(report) or ())[0]
    assert first.name == "multi_head_attention_forward"
    projection = x.nbytes + 3 * 64 * 64 * 4 + 3 * x.nbytes  # reads x and the weight, writes q, k, v
    assert projection in [each.bytes for each in first.passes]
    assert first.bytes == sum(each.bytes for each in first.passes) > 10 * x.nbytes
