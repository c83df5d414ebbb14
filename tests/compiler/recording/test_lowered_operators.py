"""Which lowering each operator took."""

import pytest
import torch
from torch._inductor.lowering import lowerings

import workbench as wb
from tests.older_releases import since
from workbench.report import Report


def several(x, w):
    h = torch.relu(x @ w)
    top, _ = torch.topk(h, 2)
    return torch.softmax(h.t(), -1), h.mean(), top, torch.fft.fft(x).real


@pytest.fixture(scope="module")
def report() -> Report:
    return wb.aot_compile(several, (torch.randn(8, 16), torch.randn(16, 16)), grad=False).report


@since("2.12", "topk has no lowering")
def test_each_operator_has_its_lowering_and_what_that_made(report: Report) -> None:
    rows = {row.operator: (row.lowering, row.made) for row in report.lowerings}

    assert rows["aten.mm.default"] == ("kernel.mm.tuned_mm", ("library call",))
    assert rows["aten.relu.default"] == ("lowering.make_pointwise", ("pointwise",))
    assert rows["aten.permute.default"] == ("lowering.permute", ("view",))
    assert rows["aten.amax.default"] == ("lowering.make_reduction", ("reduction",))
    assert rows["aten.mean.default"] == ("lowering.mean", ("reduction", "pointwise"))
    assert rows["aten.topk.default"] == ("lowering.topk", ("fallback",))
    assert rows["aten._fft_r2c.default"] == ("lowering.fallback_handler", ("fallback",))


def test_an_operator_is_tied_to_its_node_and_through_it_to_the_line(report: Report) -> None:
    frame = report.frame("lowerings").set_index("operator")
    nodes = {node.id: node for node in report.nodes}

    assert nodes[frame.node["aten.mm.default"]].target == "aten.mm.default"
    assert nodes[frame.node["aten.mm.default"]].line == several.__code__.co_firstlineno + 1
    lowered = {row.origins for row in report.scheduler_nodes if row.kind == "extern"}
    assert (frame.node["aten.mm.default"],) in lowered


def test_forward_and_backward_have_their_own() -> None:
    x = torch.randn(8, 16, requires_grad=True)
    report = wb.aot_compile(lambda x: torch.sigmoid(x).sum(), (x,)).report

    graphs = list(dict.fromkeys(row.graph for row in report.lowerings))
    assert graphs == ["i0", "i1"]
    first = [row.operator for row in report.lowerings if row.graph == "i0"]
    assert "aten.sigmoid.default" in first
    assert Report.from_bytes(report.to_bytes()).lowerings == report.lowerings


def as_sigmoid(x):
    return lowerings[torch.ops.aten.sigmoid.default](x)


@since("2.12", "lowerings of users are not told from its own")
def test_a_lowering_that_a_user_registered_has_its_whole_name() -> None:
    from torch._inductor.lowering import user_lowerings

    user_lowerings[torch.ops.aten.erfinv.default] = as_sigmoid
    try:
        report = wb.aot_compile(torch.erfinv, (torch.rand(8),), grad=False).report
    finally:
        del user_lowerings[torch.ops.aten.erfinv.default]

    (row,) = report.lowerings
    assert row.lowering == f"{__name__}.as_sigmoid"
    assert row.made == ("pointwise",)
