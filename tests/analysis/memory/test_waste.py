"""What a program could do without, each counted by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import workbench as wb
from workbench.analysis.memory.waste import MemoryRemark, remarks
from workbench.report import Report
from workbench.views.source_marks import note_lines

STEP = Report.load(Path(__file__).parents[2] / "records" / "training.wbr")
ROWS, WIDTH = 64, 48


class Wasteful(torch.nn.Module):
    """Copies its weight in each call, returns a row of a product, normalises what is activated."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(WIDTH, WIDTH).to(torch.bfloat16))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = x @ self.weight.float()
        return h[:1], F.layer_norm(F.gelu(x), (WIDTH,))


@pytest.fixture(scope="module")
def wasteful() -> Any:
    torch.manual_seed(0)
    return wb.aot_compile(Wasteful(), (torch.randn(ROWS, WIDTH),), grad=False)


def line_of(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").split("\n")
    return next(n for n, line in enumerate(lines, 1) if text in line)


def found(report: Report) -> dict[str, MemoryRemark]:
    return {remark.waste: remark for remark in remarks(report)}


def test_each_is_found_with_its_bytes_and_its_line(wasteful: Any) -> None:
    remark = found(wasteful.report)
    assert set(remark) == {"evaluated again", "part holds the whole", "converted weight"}
    product = line_of("h = x @ self.weight")
    copied = remark["converted weight"]
    assert (copied.bytes, copied.dtype, copied.line) == (4 * WIDTH * WIDTH, "float32", product)
    held = remark["part holds the whole"]
    assert (held.bytes, held.line) == (4 * ROWS * WIDTH - 4 * WIDTH, product)
    assert "only 192 B of mm" in held.text
    again = remark["evaluated again"]
    assert (again.count, again.bytes) == (3, 4 * ROWS * WIDTH)  # mean, variance, result
    assert again.line == line_of("return h[:1]")


def test_it_is_a_table_and_a_note_on_the_line(wasteful: Any) -> None:
    frame = wasteful.report.frame("memory_remarks")
    assert frame.bytes.is_monotonic_decreasing
    assert len(frame) == 3
    notes = {note["title"] for own in note_lines(wasteful.report).values() for note in own}
    assert notes >= {"Recomputed.", "Held longer than needed.", "A weight is copied."}


def test_an_operator_whose_buffer_is_much_larger_than_its_result_takes_scratch() -> None:
    nodes, rows = STEP.nodes, wb.memory(STEP).allocations
    wide = next(row for row in rows if row.kind == "temporary" and row.value == "mm")
    place = nodes.columns["id"].index(wide.node)
    sizes = list(nodes.columns["bytes"])
    sizes[place] = wide.bytes // 2
    narrow = replace(nodes, columns={**nodes.columns, "bytes": sizes})
    (remark,) = remarks(replace(STEP, tables={**STEP.tables, "nodes": narrow}))
    assert (remark.waste, remark.bytes, remark.storage) == ("scratch", wide.bytes, wide.id)


def test_a_branch_for_the_rest_of_a_vector_is_not_counted(wasteful: Any) -> None:
    (again,) = [r for r in remarks(wasteful.report) if r.waste == "evaluated again"]
    kernel = next(k for k in wasteful.report.kernels if k.id == again.kernel)
    text = wasteful.report.texts[kernel.text]
    tail = "if(C10_UNLIKELY(x0 >= 3))\n{\n  {\n    auto tmp = tmp0.erf();\n  }\n}\n"
    changed = {
        **wasteful.report.texts,
        kernel.text: text.replace("#pragma omp", tail + "#pragma omp", 1),
    }
    assert found(replace(wasteful.report, texts=changed))["evaluated again"].count == 3


def test_what_wastes_nothing_has_no_remark() -> None:
    assert remarks(STEP) == ()
    assert remarks(replace(STEP, tables={})) == ()
