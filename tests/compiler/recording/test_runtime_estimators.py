"""Times by which torch parts a training step, and orders collectives: models of a GPU."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import workbench as wb
from tests.worlds.clusters.parallel_models import Block, shard_parameters
from workbench.analysis.collectives.links import estimate_collective, find_links
from workbench.compiler.process_groups.cluster import Topology, find_cluster
from workbench.compiler.recording.runtime_estimators import OverlapEstimator
from workbench.compiler.request.compile_request import list_known_gpus


def step(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w).relu().t()


def times(*sizes: int) -> dict[str, float]:
    rows, inner, columns = sizes
    graph = make_fx(step, tracing_mode="fake")(torch.ones(rows, inner), torch.ones(inner, columns))
    by = wb.roofline_estimator("h100")
    nodes = (node for node in graph.graph.nodes if node.op == "call_function")
    return {str(node.target): by(node) for node in nodes}


def test_small_products_are_bounded_by_their_bytes() -> None:
    found = times(64, 32, 128)
    bandwidth = list_known_gpus()["h100"].bandwidth_gbs * 1e9
    assert found["aten.mm.default"] == pytest.approx(
        4 * (64 * 32 + 32 * 128 + 64 * 128) / bandwidth
    )
    assert found["aten.relu.default"] == pytest.approx(4 * 2 * 64 * 128 / bandwidth)
    assert found["aten.t.default"] == 1e-9  # a view moves nothing


def test_large_products_are_bounded_by_their_operations() -> None:
    found = times(8192, 8192, 8192)["aten.mm.default"]
    moved = 3 * 4 * 8192**2 / (list_known_gpus()["h100"].bandwidth_gbs * 1e9)
    assert found > 10 * moved


def test_it_travels_to_another_process_and_has_a_name_for_caches() -> None:
    by = wb.roofline_estimator("h100")
    again = pickle.loads(pickle.dumps(by))
    assert (again.uuid(), repr(again)) == (by.uuid(), 'roofline_estimator("h100")')
    with pytest.raises(wb.UsageError, match="is unknown"):
        wb.roofline_estimator("h101")


A = "aten_distributed_optimizations."
OVERLAP = {
    f"{A}enable_overlap_scheduling": True,
    f"{A}collective_bucketing": True,
    f"{A}pre_bucketing_fsdp_collectives": False,
}


@pytest.fixture(scope="module")
def mesh() -> Iterator[Any]:
    with wb.virtual_cluster({"dp": 8, "tp": 4}, rank=5) as mesh:
        yield mesh


def collectives_and_products(mesh: Any) -> torch.fx.GraphModule:
    functions = torch.ops._c10d_functional
    group = mesh["dp"].get_group().group_name

    def step(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        gathered = functions.wait_tensor(functions.all_gather_into_tensor(w, 8, group))
        return (x @ gathered.t()).relu()

    x, w = (
        torch.empty(size, device="meta", dtype=torch.bfloat16)
        for size in ((8192, 8192), (512, 8192))
    )
    return make_fx(step)(x, w)


def test_a_collective_takes_what_the_links_of_its_group_let_pass(mesh: Any) -> None:
    by = wb.overlap_estimator("h100")
    nodes = {str(node.target): node for node in collectives_and_products(mesh).graph.nodes}
    gather = nodes["_c10d_functional.all_gather_into_tensor.default"]
    gpu = list_known_gpus()["h100"]
    links = find_links(gpu, {})
    assert not isinstance(links, str)
    sent = 8 * 512 * 8192 * 2
    told = estimate_collective("all_gather", sent, 8, 4, links)  # dp, of stride 4: on four nodes
    assert told is not None
    assert by(gather, None) == pytest.approx(told.us / 1e3)
    assert by(gather, 0) < by(gather, None) / 2  # its latency alone
    assert by(nodes["_c10d_functional.wait_tensor.default"], None) == 0
    product = by(nodes["aten.mm.default"], None) * 1e-3
    flops = 2 * 8192 * 8192 * 4096
    assert 0.5 < flops / product / 989e12 < 1  # TFLOPS of an H100, and no half of one


def test_an_estimator_is_told_apart_by_its_cluster_and_crosses_processes(mesh: Any) -> None:
    by = wb.overlap_estimator("h100")
    again = pickle.loads(pickle.dumps(by))
    (gather,) = (
        node for node in collectives_and_products(mesh).graph.nodes if "all_gather" in str(node)
    )
    assert again(gather) == by(gather)
    assert repr(again) == 'overlap_estimator("h100")'
    here = find_cluster()
    assert here is not None
    other = OverlapEstimator("h100", replace(here, topology=Topology(gpus_per_node=4)))
    assert pickle.dumps(other) != pickle.dumps(by)
    with pytest.raises(wb.UsageError, match="Collective times are unknown"):
        wb.overlap_estimator("mi300x")


def test_without_a_cluster_nothing_is_known_of_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.compiler.process_groups.cluster.find_cluster", lambda: None)
    with pytest.raises(wb.UsageError, match="No process group exists"):
        wb.overlap_estimator("h100")


def sharded(mesh: Any, **options: Any) -> wb.Report:
    """Two blocks, of whose parameters each is gathered for itself."""
    with torch.device("meta"):
        blocks = [shard_parameters(Block(512, 2048, 64), mesh["dp"]) for _ in range(2)]
    model = torch.nn.Sequential(*blocks).requires_grad_(False)
    x = torch.empty(4, 1024, 512, device="meta")
    asked = {A + name: value for name, value in options.items()}
    return wb.aot_compile(model, (x,), target="h100", options=OVERLAP | asked).report


def test_what_torch_would_time_is_answered_by_a_model(mesh: Any) -> None:
    """Its default times every product on the device, which is not here: compiling it failed."""
    timed, formula = sharded(mesh), sharded(mesh, compute_estimator="analytical")
    by_model, by_formula = (
        [(row.merged_from, row.order, row.wait_order) for row in report.collectives]
        for report in (timed, formula)
    )
    assert by_model != by_formula  # by torch's formula one product hides everything
    for report in (timed, formula):
        assert all(row.torch_exposed_us is not None for row in report.collectives)


def test_times_that_are_given_are_those_that_torch_goes_by(mesh: Any) -> None:
    by = wb.overlap_estimator("h100")
    report = sharded(mesh, custom_runtime_estimation=by)
    assert [row.torch_est_us for row in report.collectives if not row.merged_from] == [
        pytest.approx(row.est_us) for row in report.collectives if not row.merged_from
    ]
    assert dict(report.request.options)[f"{A}custom_runtime_estimation"] == repr(by)
