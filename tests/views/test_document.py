from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from wire_types import mismatches

import workbench as wb
from workbench.analysis.fusion.fusion import kernel_kinds
from workbench.report import Guard, Kernel, Outcome, Report, Table
from workbench.report.machine_rows import KernelRoofline
from workbench.views.document import ViewContext, document
from workbench.views.pages.redaction import redact
from workbench.views.panes.breaks_pane import path
from workbench.views.panes.registry import list_panes
from workbench.views.parts.fusion_part import build_pairs_part
from workbench.views.wire import report_messages as wire

BLOCK = Report.load(Path(__file__).parents[1] / "records" / "block.wbr")
NORM = Report.load(Path(__file__).parents[1] / "records" / "norm_h100.wbr")


def test_every_field_is_what_the_wire_says(sample_report: Report) -> None:
    for report in (sample_report, BLOCK, Report(), redact(sample_report)[0]):
        made = document(report)
        assert json.loads(json.dumps(made)) is not None
        assert mismatches(made, wire.Document) == []


def test_a_line_leads_to_its_kernels_its_bytes_and_its_call_sites() -> None:
    made = document(BLOCK)
    marks = {mark["id"]: mark for source in made["sources"] for mark in source["marks"]}
    assert marks["L:s0:23"]["state"] == "traced"
    assert marks["L:s0:26"]["notes"][0]["title"] == "Fallback."
    assert marks["L:s0:26"]["notes"][0]["select"] == "k5"
    assert marks["L:s1:20"]["called_in"] == ["L:s0:24", "L:s0:29"]
    assert marks["L:s0:27"]["kernels"]
    assert marks["L:s0:27"]["cost"]["bytes"] > 0
    assert "L:s0:22" not in marks  # the line of the def is plain


def attend(x: torch.Tensor) -> torch.Tensor:
    y = F.scaled_dot_product_attention(x, x, x)
    return y.topk(3).values


def test_a_library_call_that_should_be_one_is_no_fallback() -> None:
    """As seen: two amber rows, "no lowering", for every attention of every model."""
    report = wb.aot_compile(attend, (torch.randn(1, 2, 16, 8),)).report
    made = document(report)
    by_line = {m["id"].rpartition(":")[2]: m for s in made["sources"] for m in s["marks"]}
    first = attend.__code__.co_firstlineno
    attention, top = by_line[str(first + 1)], by_line[str(first + 2)]
    assert (attention["state"], attention["notes"]) == ("captured", [])
    assert attention["said"] == "Library call, as expected."
    assert (top["state"], top["notes"][0]["title"]) == ("fallback", "Fallback.")
    assert sorted(set(kernel_kinds(report).values())) == ["fallback", "library call"]


@pytest.mark.parametrize(
    ("name", "is_fallback"),
    [
        ("torch.ops.aten._scaled_dot_product_flash_attention.default", False),
        ("torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default", False),
        ("torch.ops.aten._cudnn_rnn.default", False),
        ("torch.ops.mkldnn._linear_pointwise.default", False),
        ("torch.ops.aten._fft_r2c.default", False),
        ("torch.ops.aten.linalg_qr.default", False),
        ("torch.ops.aten.sort.stable", True),
        ("torch.ops.aten.topk.default", True),
        ("torch.ops.own.attention_like.default", True),
    ],
)
def test_only_what_generated_code_could_replace_is_a_fallback(
    name: str, *, is_fallback: bool
) -> None:
    assert Kernel("k0", name, "extern", "g0").is_fallback is is_fallback


def test_seeds_that_inductor_draws_for_its_own_kernels_are_no_fallback() -> None:
    """As seen: an amber row for each model with dropout."""
    seeds = Kernel(
        "k0", "aten.randint.low_out", "extern", "g0", ops=("prims.inductor_seeds.default",)
    )
    assert not seeds.is_fallback
    own = Kernel("k1", "aten.randint.low_out", "extern", "g0", ops=("aten.randint.low",))
    assert own.is_fallback


def test_measured_time_is_shared_among_the_lines_of_a_kernel(sample_report: Report) -> None:
    (source,) = document(sample_report)["sources"]
    assert {mark["id"]: mark["cost"] for mark in source["marks"]}["L:s0:13"]["time"] == 182.4


def test_a_kernel_names_what_it_is_tied_to() -> None:
    kernel = next(k for k in document(BLOCK)["kernels"] if k["id"] == "k6")
    assert (kernel["kind"], kernel["mark"], kernel["graph"]) == ("reduction", "g3", "g7")
    assert kernel["groups"] == ["i0:op10_op11_op12_op13"]
    assert "i0:buf6" in kernel["buffers"]
    assert (kernel["code"], kernel["wrapper"]) == ("code:k6", "w0")
    assert ("Lines", "26–27") in kernel["facts"]


def test_a_library_call_has_no_code(sample_report: Report) -> None:
    kernel = next(k for k in document(sample_report)["kernels"] if k["id"] == "k2")
    assert (kernel["mark"], kernel["code"], kernel["code_lines"]) == ("ext", None, 0)


def test_graphs_name_what_was_made_from_them() -> None:
    graphs = {graph["id"]: graph for graph in document(BLOCK)["graphs"]}
    assert graphs["g2"]["next"] == ["g3"]
    assert graphs["g7"]["part"] == "graph:g7"


def test_rejected_pairs_carry_the_whole_reason() -> None:
    pair = build_pairs_part(BLOCK)["rows"][0]
    assert (pair["a_kernel"], pair["b_kernel"], pair["rounds"]) == ("k4", "k6", 4)
    assert pair["why"].startswith("Not fused with k6. k5")
    assert BLOCK.fusion[int(pair["id"].partition(":")[2])].reason.startswith("intermediate")


def test_tabs_say_why_they_are_empty(sample_report: Report) -> None:
    empty = {pane["id"]: pane["empty"] for pane in document(Report())["panes"]}
    assert all(empty[name] for name in empty if name != "artifact")
    assert "mode='max-autotune'" in (empty["autotune"] or {"text": ""})["text"]
    full = document(sample_report)["panes"]
    unasked = [pane.id for pane in list_panes() if pane.id in ("numerics", "checks", "accesses")]
    assert [pane["id"] for pane in full if pane["empty"]] == unasked
    assert [pane["id"] for pane in full if pane["is_problem"]] == ["breaks"]


def test_a_failure_and_what_was_not_captured_are_said(sample_report: Report) -> None:
    made = document(replace(sample_report, outcome=Outcome(False, "capture", "Unsupported")))
    assert (made["verdict"], made["tone"]) == ("failed in capture", "break")
    assert made["notes"][0]["text"] == "Unsupported"
    assert made["missing"][0]["title"] == "recompiles"


def test_an_interrupt_is_cancelled_and_not_failed(sample_report: Report) -> None:
    outcome = Outcome(False, "Inductor", "interrupted", is_cancelled=True)
    made = document(replace(sample_report, outcome=outcome, tables={}))
    assert (made["verdict"], made["tone"]) == ("cancelled in Inductor", "plain")
    assert made["notes"][0]["title"] == "Cancelled in Inductor."
    assert "fail" not in str(made).lower().replace("failed-", "")


@pytest.mark.parametrize(
    ("source", "steps"),
    [
        ("L['x']", ["L['x']"]),
        ("L['self']._modules['h'].weight", ["L['self']", "._modules", "['h']", ".weight"]),
        ("G['torch'].nn", ["G['torch']", ".nn"]),
        ("", ["torch's global state"]),
        ("len(L['xs'])", ["len(L['xs'])"]),
    ],
)
def test_the_path_of_a_guard(source: str, steps: list[str]) -> None:
    assert path(source) == steps


def test_the_sandbox_offers_the_tensors_of_the_call() -> None:
    made = document(BLOCK)["sandbox"]
    (x,) = made["inputs"]
    assert (x["path"], x["shape"], x["stride"]) == ("L['x']", [2, 128, 256], [32768, 256, 1])
    assert "Run the cell again" in (made["why_not"] or "")
    alive: wire.Sandbox = {"inputs": [x], "dtypes": ["float32"], "why_not": None}
    assert document(BLOCK, ViewContext(sandbox=alive))["sandbox"] == alive
    gpu = replace(BLOCK, request=replace(BLOCK.request, target="a100"))
    said = document(gpu)["sandbox"]["why_not"] or ""
    assert said.startswith("Guards for a100 cannot be tried")
    assert 'Compile with `target="host"`' in said
    log = replace(BLOCK, request=replace(BLOCK.request, kind="trace"))
    assert "A log only has the guards' text" in (document(log)["sandbox"]["why_not"] or "")


def test_without_nodes_the_sandbox_reads_the_request(sample_report: Report) -> None:
    guards = [Guard("q0", True, "TENSOR_MATCH", f"L['{name}']") for name in "xw"]
    tables = {**sample_report.tables, "guards": Table.of(Guard, guards)}
    inputs = document(replace(sample_report, tables=tables))["sandbox"]["inputs"]
    assert [(item["path"], item["stride"]) for item in inputs] == [
        ("L['x']", [1024, 1]),
        ("L['w']", [1024, 1]),
    ]


def test_the_artifact_says_where_it_is(sample_report: Report) -> None:
    saved = document(BLOCK, ViewContext(saved=("block.aot", 133_000)))
    path, size = saved["artifact"][0]["facts"][:2]
    assert (path, size) == (("Path", "block.aot"), ("Size", "133 kB (133,000 bytes)"))
    assert saved["figures"][-1]["value"] == "133 kB"
    titles = [group["title"] for group in document(BLOCK)["artifact"]]
    assert titles[:3] == ["File", "Inputs", "Request"]
    (x, w) = document(sample_report)["file"]["contract"]
    assert (x["name"], x["shape"], w["dtype"]) == ("x", "[rows in 2..512, 1024]", "float32")


def test_an_artifact_for_another_machine_says_where_it_runs(sample_report: Report) -> None:
    there = replace(sample_report, request=replace(sample_report.request, target="h100"))
    facts = document(there, ViewContext(saved=("block.aot", 133_000)))["artifact"][0]["facts"]
    (where,) = [words for name, words in facts if name == "Runs on"]
    assert where.startswith("machines with the target GPU (h100)")
    here = document(sample_report, ViewContext(saved=("block.aot", 133_000)))["artifact"][0][
        "facts"
    ]
    assert "Runs on" not in dict(here)


def test_backward_kernels_say_so(sample_report: Report) -> None:
    kernel = replace(sample_report.kernels[0], is_backward=True)
    tables = {**sample_report.tables, "kernels": Table.of(Kernel, [kernel])}
    (made,) = document(replace(sample_report, tables=tables))["kernels"]
    assert made["is_backward"]
    assert ("Pass", "backward") in made["facts"]


def test_kernels_on_gpus_come_in_the_order_of_their_differences(sample_report: Report) -> None:
    made = document(sample_report)
    assert made["matrix_targets"] == ["t4", "a100", "h100"]
    first, second, third = made["matrix"]
    assert (first["kernel"], first["differs_in"]) == ("k1", "spills")
    assert first["spreads"]["registers"] == pytest.approx(1 - 96 / 255, abs=1e-4)
    assert second["kernel"] == "k0"
    cells = [cell and (cell["id"], cell["registers"], cell["choice"]) for cell in first["cells"]]
    assert cells[0] == ("k1:t4", 255, "XBLOCK=128, 4 warps, 1 stage")
    assert [cell and cell["note"] for cell in third["cells"]] == [
        "This kernel takes bf16, which a T4 cannot compute with.",
        None,
        None,
    ]


def test_ranked_configurations_say_their_sizes(sample_report: Report) -> None:
    rows = document(sample_report)["ranked"]
    assert [row["rank"] for row in rows] == [1, 2, 3, 4]
    assert (rows[3]["id"], rows[3]["sizes"]) == ("r3", {"XBLOCK": 256})
    assert rows[3]["rejection"] == "spills 12 registers"


def test_panes_without_gpus_say_what_to_type() -> None:
    empty = {pane["id"]: pane["empty"] for pane in document(BLOCK)["panes"]}
    text = (empty["matrix"] or {})["text"]
    assert text.startswith("No GPU kernel was generated. Pass the function and its inputs")
    alone = replace(NORM, tables={n: t for n, t in NORM.tables.items() if n != "matrix"})
    of_gpu = {pane["id"]: pane["empty"] for pane in document(alone)["panes"]}
    assert (of_gpu["matrix"] or {})["text"].startswith("The kernels were compiled for one target")


def test_a_saved_view_cannot_change_its_target() -> None:
    targets = document(BLOCK)["targets"]
    assert "run the cell again" in (targets["why_not"] or "")
    assert [choice["name"] for choice in targets["choices"]] == ["host"]


def test_one_figure_is_written_alike_wherever_it_stands(sample_report: Report) -> None:
    """A bound of 2.394 ns was cut to 0.0024 µs on its way to the inspector, which said 2.40 ns."""
    rows = [replace(row, bound_us=0.002394, measured_us=None) for row in sample_report.roofline]
    tables = {**sample_report.tables, "roofline": Table.of(KernelRoofline, rows)}
    made = document(replace(sample_report, tables=tables))
    assert {kernel["cost"]["bound"] for kernel in made["kernels"]} == {0.002394}
    marks = [mark for source in made["sources"] for mark in source["marks"]]
    costs = [mark["cost"]["bound"] for mark in marks if mark["kernels"]]
    assert costs
    assert all(cost / 0.002394 == pytest.approx(round(cost / 0.002394)) for cost in costs)
