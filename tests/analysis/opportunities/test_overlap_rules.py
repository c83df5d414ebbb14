"""Collectives that kernels wait for: which of torch's switches is named, and when none is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import workbench as wb
from tests.analysis.collectives.test_streams import record
from tests.worlds.clusters.parallel_models import Block, shard_parameters
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rules import opportunities
from workbench.report import Kernel, Node, Report
from workbench.report.collectives.collective_rows import Collective
from workbench.report.rows import PassStep
from workbench.report.table import Table
from workbench.views.answers.alternatives_text import describe_stream_change, format_saved

OVERLAP = "aten_distributed_optimizations.enable_overlap_scheduling"
MERGE = "aten_distributed_optimizations.collective_bucketing"
RULES = ("exposed-collectives", "mergeable-collectives")


def found(made: Report, torch_release: str = "2.13.0", **options: str) -> dict[str, Opportunity]:
    given = tuple((OVERLAP, value) for value in options.values())
    made = replace(
        made,
        request=replace(made.request, options=given),
        environment=replace(made.environment, torch=torch_release),
    )
    return {each.rule: each for each in opportunities(made) if each.rule in RULES}


def test_what_the_kernels_wait_for_names_the_switches() -> None:
    made = record("k", ">", "<", "k", ">", "<")
    exposed, merged = (found(made)[rule] for rule in RULES)
    assert exposed.saved_us_low == 0
    assert exposed.saved_us_high == pytest.approx(200)  # the kernels: nothing else can hide any
    assert (exposed.sure, exposed.why_not) == ("possible", None)
    assert "the kernels wait 372 µs for 2 collectives" in exposed.text
    assert exposed.action == (
        "options={'aten_distributed_optimizations.enable_overlap_scheduling': True, "
        "'aten_distributed_optimizations.pre_bucketing_fsdp_collectives': False}"
    )
    assert "± 15 %" in exposed.source
    assert dict(merged.settings) == {OVERLAP: True, MERGE: True}
    assert "2 × all_reduce in one group" in merged.text


def test_one_collective_cannot_be_merged_and_a_hidden_one_is_left_alone() -> None:
    assert list(found(record("k", ">", "<", "k"))) == ["exposed-collectives"]
    assert found(record("k", ">", "k", "k", "<")) == {}
    assert found(record(*["k"] * 40, ">", "k", "<")) == {}  # 2 % of the call


def test_collectives_of_which_one_needs_the_other_cannot_be_merged() -> None:
    made = record("k", ">", "<", "k", ">", "<")
    rows = [replace(row, node=f"g0:{n}") for n, row in enumerate(made.collectives)]
    nodes = [
        Node(f"g0:{name}", "g0", name, "call_function", "", inputs)
        for name, inputs in (("0", ()), ("between", ("g0:0",)), ("1", ("g0:between",)))
    ]
    tables = {"collectives": Table.of(Collective, rows), "nodes": Table.of(Node, nodes)}
    chained = replace(made, tables={**made.tables, **tables})
    assert list(found(chained)) == ["exposed-collectives"]
    apart = replace(nodes[1], inputs=())
    tables["nodes"] = Table.of(Node, [nodes[0], apart, nodes[2]])
    assert set(found(replace(made, tables={**made.tables, **tables}))) == set(RULES)


def tie(made: Report, *edges: tuple[str, str]) -> Report:
    """The program with a node for each kernel and collective, and what needs what."""
    starts = {row.kernel: row.id for row in made.collectives}
    names = [starts.get(kernel.id, kernel.id) for kernel in made.kernels]
    nodes = [
        Node(f"g0:{name}", "g0", name, "call_function", "", inputs)
        for name in names
        if (inputs := tuple(f"g0:{first}" for first, then in edges if then == name)) or True
    ]
    kernels = [replace(row, nodes=(f"g0:{row.id}",)) for row in made.kernels]
    rows = [replace(row, node=f"g0:{row.id}") for row in made.collectives]
    tables = {
        "nodes": Table.of(Node, nodes),
        "kernels": Table.of(Kernel, kernels),
        "collectives": Table.of(Collective, rows),
    }
    return replace(made, tables={**made.tables, **tables})


def test_what_every_kernel_needs_or_feeds_cannot_be_hidden() -> None:
    """Tensor parallel: k0 → all-reduce → k3 → all-reduce. Torch's passes leave it exposed."""
    made = record("k", ">", "<", "k", ">", "<")
    chained = tie(made, ("k0", "c0"), ("c0", "k3"), ("k3", "c1"))
    assert "exposed-collectives" not in found(chained)


def test_only_independent_kernels_hide_a_collective() -> None:
    """Of 300 µs of kernels the last 100 µs need nothing of the collective."""
    made = record("k", ">", "<", "k", "k")
    tied = tie(made, ("k0", "c0"), ("c0", "k3"))
    exposed = found(tied)["exposed-collectives"]
    assert exposed.saved_us_high == pytest.approx(100)
    assert "Independent work can hide at most 100 µs of it" in exposed.text


def test_buckets_save_the_latency_of_all_but_one_and_not_the_transfer() -> None:
    made = record("k", ">", "<", ">", "<")
    merged = found(tie(made, ("k0", "c0"), ("k0", "c1")))["mergeable-collectives"]
    took = sum(row.est_us or 0.0 for row in made.collectives)
    assert merged.saved_us_high is not None
    assert 0 < merged.saved_us_high < took / 4


def test_a_pass_that_is_on_is_not_named_again() -> None:
    made = record("k", ">", "<", "k", ">", "<")
    assert found(made, on="True") == {}
    assert set(found(made, off="False")) == set(RULES)


def test_a_pass_that_torchs_own_configuration_turns_on_is_not_named_again() -> None:
    """As seen under `torch._inductor.config.patch`: the options of the call do not have it."""
    made = record("k", ">", "<", "k", ">", "<")
    ran = PassStep(
        "t0", "0/0", "post-grad", False, "overlap_scheduling", None, 9, 9, True, None, 1.0
    )
    assert found(replace(made, tables={**made.tables, "passes": Table.of(PassStep, [ran])})) == {}


def test_older_releases_have_other_switches_or_none() -> None:
    made = record("k", ">", "<", "k", ">", "<")
    assert found(made, "2.11.0") == {}
    assert dict(found(made, "2.12.1")["exposed-collectives"].settings) == {OVERLAP: True}
    assert len(found(made, "2.15.0+cu130")["exposed-collectives"].settings) == 2
    assert len(found(made, "2.13rc2")["exposed-collectives"].settings) == 2


def sharded(mesh: Any) -> Any:
    with torch.device("meta"):
        model = torch.nn.Sequential(Block(512, 2048, 64), Block(512, 2048, 64))
    return shard_parameters(model, mesh["dp"]).requires_grad_(False)


def test_a_trial_shows_both_by_the_model_and_what_its_error_allows() -> None:
    with wb.virtual_cluster({"dp": 8}) as mesh:
        x = torch.empty(2, 1024, 512, device="meta")
        compiled = wb.aot_compile(sharded(mesh), (x,), target="h100")
        advice = wb.opportunities(compiled)["exposed-collectives"]
        tried = advice.try_()
    change = tried.streams
    assert change is not None
    assert change.after.exposed_us < change.before.exposed_us
    assert change.least_us is not None
    assert change.most_us is not None
    assert change.least_us <= change.saved_us <= change.most_us
    is_apart = change.least_us > 0 or change.most_us < 0
    assert tried.saved_us == (change.saved_us if is_apart else None)
    words = describe_stream_change(change)
    assert "with collectives, modelled; exposed communication" in words
    assert ("Too close to say" in words) is not is_apart
    assert (format_saved(tried) == "too close to call") is not is_apart
    assert "rank" in repr(tried)
    assert "a cluster that no longer exists" in (advice.why_not or "")
    with wb.virtual_cluster({"dp": 16}):
        assert "a cluster that no longer exists" in (advice.why_not or "")
    with pytest.raises(wb.UsageError, match="no longer exists"):
        advice.try_()
