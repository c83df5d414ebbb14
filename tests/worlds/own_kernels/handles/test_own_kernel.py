"""A handle of a kernel that a user wrote, compiled for GPUs that are not here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import workbench as wb
from tests.worlds.own_kernels.programs.cases import CASES, Case
from tests.worlds.own_kernels.programs.gluon_kernels import (
    PADDED,
    SWIZZLED,
    aborting,
    copy_transposed,
)
from tests.worlds.own_kernels.programs.kernels import add, matmul, transpose
from workbench.report.machine_rows import CheckedCase
from workbench.views.document import document
from workbench.worlds.own_kernels.handles.kernel_report import add_work
from workbench.worlds.own_kernels.handles.own_kernel import OwnKernel

X = torch.ones(1000)


def handle(case: Case, target: str = "h100", **meta: Any) -> OwnKernel:
    return wb.kernel(
        case.kernel, *case.args, grid=case.grid, target=target, **{**case.meta, **meta}
    )


@pytest.fixture(scope="module")
def tuned() -> OwnKernel:
    made = handle(CASES["tuned_matmul"]())
    assert len(made.report.kernels) == 1
    return made


def test_a_handle_knows_its_call_and_its_gpu() -> None:
    made = wb.kernel(add, X, X, X, 8, grid=(1,), target="a100", BLOCK=8)
    assert (made.name, made.target) == ("add", "a100")
    assert repr(made) == "Kernel(add, a100, grid (1,), BLOCK=8)"
    with pytest.raises(wb.UsageError, match="h10"):
        wb.kernel(add, X, X, X, 8, grid=(1,), target="h10", BLOCK=8)


def test_every_stage_leads_back_to_the_lines_of_the_kernel() -> None:
    made = wb.kernel(add, X, X, torch.empty(1000), 1000, grid=(4,), BLOCK=256)
    report = made.report
    by_stage = {row.stage: row for row in report.assembly}
    assert [*by_stage] == ["ttir", "ttgir", "llir", "ptx", "sass"]
    text = (report.texts.get(report.kernels[0].text or "") or "").splitlines()
    store = next(n for n, line in enumerate(text, 1) if "tl.store" in line)
    for row in by_stage.values():
        assert store in {line for _, _, line in row.lines}, row.stage
    sass = (report.texts.get(by_stage["sass"].text or "") or "").splitlines()
    runs = by_stage["sass"].lines
    stores = [n for n, line in enumerate(sass, 1) if "STG" in line]
    assert stores
    assert all(any(a <= n <= b and line == store for a, b, line in runs) for n in stores)
    taken = report.resources[0]
    assert (taken.spills, taken.occupancy) == (0, 1.0)
    assert report.kernels[0].lines[-1] == f"L:s0:{report.sources[0].first_line + store - 1}"


def test_an_autotuned_kernel_is_compiled_in_the_first_configuration_that_fits(
    tuned: OwnKernel,
) -> None:
    assert tuned.report.resources[0].choice == "BM=128, BN=256, BK=32, GROUP=8"
    (note,) = tuned.report.request.notes
    assert note.startswith("The first of the autotuner's 4 configurations that fits")
    assert "Nothing was timed" in note


def test_configurations_of_the_autotuner_are_ranked_by_a_model(tuned: OwnKernel) -> None:
    ranked = tuned.rank_configs()
    assert [row.rank for row in ranked.rows] == [1, 1, 3, 4]  # two that the model cannot tell apart
    assert all(row.model_us for row in ranked.rows)
    assert "K loop limited by" in (ranked.rows[0].note or "")
    assert len(tuned.report.ranked_configs) == 4


def test_given_configurations_are_ranked_and_what_does_not_compile_is_last() -> None:
    made = handle(CASES["softmax"]())
    ranked = made.rank_configs([{"num_warps": 1}, triton.Config({"BLOCK": 128}), {"BLOCK": 100}])
    assert [row.rejection for row in ranked.rows][-1] == "does not compile"
    assert "power of 2" in (ranked.rows[-1].note or "")
    assert "assumes that every tensor is moved once" in (ranked.rows[0].note or "")
    with pytest.raises(wb.UsageError, match="softmax has no autotuner"):
        made.rank_configs()
    with pytest.raises(wb.UsageError, match="softmax has no parameter BLOK"):
        made.rank_configs([{"BLOK": 1}])


def lay_along_y(meta: Mapping[str, Any]) -> tuple[int, int]:
    """A program for each of 80,000 places, or for none, as a block of another call would have."""
    return 1, 80_000 * 8 // meta["BLOCK"] if meta["BLOCK"] < 1024 else 0


def test_a_configuration_whose_grid_no_gpu_launches_is_rejected_and_the_next_is_taken() -> None:
    many = triton.autotune([triton.Config({"BLOCK": n}) for n in (1024, 8, 512)], key=[])(add)
    made = wb.kernel(many, X, X, X, 1000, grid=lay_along_y, target="h100")
    assert made.report.resources[0].choice == "BLOCK=512"
    assert "after 2 that do not" in made.report.request.notes[0]
    said = {row.choice: row.rejection for row in made.rank_configs().rows}
    assert said["BLOCK=512"] is None
    assert said["BLOCK=8"] == (
        "cannot be launched: axis 1 of the grid is 80,000, but h100 allows at most 65,535"
    )
    assert (said["BLOCK=1024"] or "").startswith("launches nothing: part 1 of the grid is 0")


def test_a_matrix_says_where_the_grid_cannot_be_launched() -> None:
    made = wb.kernel(add, X, X, X, 1000, grid=(1, 70_000), target="mi300x", BLOCK=8)
    frame = made.matrix(["mi300x", "h100"]).frame().set_index("target")
    assert frame.note.isna()["mi300x"]
    assert frame.note["h100"].startswith("it cannot be launched: axis 1 of the grid is 70,000")


def test_a_matrix_has_the_call_on_every_gpu(tuned: OwnKernel) -> None:
    frame = tuned.matrix(["a100", "mi300x"]).frame()
    assert [*frame.target] == ["a100", "mi300x"]
    assert frame.registers.notna().all()


def test_two_versions_are_compared(tuned: OwnKernel) -> None:
    case = CASES["tuned_matmul"]()
    other = wb.kernel(
        matmul, *case.args, grid=(16,), target="h100", BM=32, BN=32, BK=32, GROUP=8, num_warps=2
    )
    assert "registers" in str(wb.diff(tuned, other))


def test_its_record_is_saved_and_its_view_is_a_page(tuned: OwnKernel, tmp_path: Path) -> None:
    tuned.save(tmp_path / "k.wbr")
    again = wb.Report.load(tmp_path / "k.wbr")
    assert repr(again).startswith("Report(matmul, h100, ok, 1 kernel, 1 configuration)")
    assert "tl.dot" in tuned.to_html()
    assert "registers per thread" in str(again)


def test_a_call_of_meta_tensors_is_compiled() -> None:
    empty = torch.empty(1000, device="meta")
    made = wb.kernel(add, empty, empty, empty, 1000, grid=(4,), BLOCK=256)
    assert made.report.resources[0].instructions
    assert "cannot run" in made.report.request.notes[0]


def test_hooks_of_a_configuration_set_the_blocks_of_descriptors_and_change_no_argument() -> None:
    case = CASES["tuned_descriptors"]()
    made = handle(case)
    assert made.report.resources[0].choice == "BM=64, BN=64, BK=32"
    assert case.args[0].block_shape == [1, 8]


@triton.jit
def mistaken(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, undefined_name)  # noqa: F821


@triton.jit
def sorts_columns(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.sort(tl.load(x + i[:, None] * BLOCK + i), dim=0)
    tl.store(x + i[:, None] * BLOCK + i, v)


HALVES = torch.empty(512, 512, dtype=torch.float16)
WRONG: Mapping[str, Any] = {
    r"add: it cannot be launched: axis 1 of the grid is 70,000, but h100 allows at most 65,535"
    "": lambda: wb.kernel(add, X, X, X, 1000, grid=(1, 70_000), BLOCK=256),
    r"transpose: none of the autotuner's 1 configuration fits on rtx4090 \(B=256: it cannot "
    "be launched: 131072 bytes of shared memory.*Add a smaller one": lambda: wb.kernel(
        triton.autotune([triton.Config({"B": 256}, num_warps=32)], key=[])(transpose),
        *(HALVES, HALVES, 512, 512),
        grid=(2, 2),
        target="rtx4090",
    ),
    r"mistaken: Triton does not compile it for h100: in `tl.store\(x \+ i, undefined_name\).*`, "
    ".*undefined_name is not defined": lambda: wb.kernel(mistaken, X, grid=(1,), BLOCK=16),
    r"add: Triton does not compile it for h100: in `mask = i < n`, invalid operands of type "
    "pointer<int64> and ": lambda: wb.kernel(
        add, X, X, X, torch.tensor(1000), grid=(4,), BLOCK=256
    ),
    # what a function of Triton's own library refuses, and who called it
    r"sorts_columns: Triton does not compile it for h100: in `v = tl.sort\(.*dim=0\)`, only minor "
    "dimension": lambda: wb.kernel(sorts_columns, X, grid=(1,), BLOCK=16),
    # what MLIR writes into the worker's own output
    r"add: Triton does not compile it for h100: in `tl.store\(out \+ i, .*`, 'llvm.fadd' op "
    "operand #0 must be floating point .*but got 'i8'": lambda: wb.kernel(
        add, X.to(torch.float8_e4m3fn), X.to(torch.float8_e4m3fn), X, 1000, grid=(4,), BLOCK=256
    ),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_cannot_be_compiled_is_said_in_one_sentence(said: str) -> None:
    with pytest.raises(wb.WorkbenchError, match=said):
        print(WRONG[said]().report)


def test_an_error_shows_no_line_of_ours_and_a_cell_shows_its_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = wb.kernel(mistaken, X, grid=(1,), BLOCK=16)
    with pytest.raises(wb.CaptureError) as raised:
        print(made.report)
    assert [frame.name for frame in raised.traceback][1:] == ["called"]
    made._ipython_display_()
    shown, said = capsys.readouterr().out.splitlines()
    assert shown == "Kernel(mistaken, h100, grid (1,), BLOCK=16)"
    assert said.startswith("CaptureError: mistaken: Triton does not compile it")


SQUARE = torch.randn(64, 64)


def test_a_kernel_of_gluon_is_compiled_from_its_own_layouts_on() -> None:
    made = wb.kernel(
        copy_transposed, SQUARE, SQUARE, 64, 64, SWIZZLED, grid=(1,), target="h100", num_warps=4
    )
    stages = [row.stage for row in made.report.assembly]
    assert stages == ["ttgir", "llir", "ptx", "sass"]
    assert made.report.request.backend == "gluon"
    assert made.report.resources[0].smem_bytes == 64 * 64 * 4
    said = "Result has an invalid layout: .*; its Gluon code is invalid there"
    with pytest.raises(wb.CaptureError, match=said):
        print(made.on("mi300x").report)


def test_a_compiler_that_ends_its_process_is_a_sentence_and_the_next_kernel_compiles() -> None:
    with pytest.raises(wb.CaptureError, match=r"aborting: Triton's compiler crashed"):
        print(wb.kernel(aborting, SQUARE, SHARED=PADDED, grid=(1,)).report)
    assert len(wb.kernel(aborting, SQUARE, SHARED=SWIZZLED, grid=(1,)).report.kernels) == 1


def test_what_is_of_programs_says_what_a_kernel_lacks(tuned: OwnKernel) -> None:
    with pytest.raises(wb.UsageError, match=r"not known yet; run k\.check"):
        wb.forecast(tuned)
    with pytest.raises(wb.UsageError, match=r"use wb\.memory on a program"):
        wb.memory(tuned)
    assert "the rules need a whole program" in str(wb.opportunities(tuned))
    assert "graph" not in str(tuned.report)


def test_a_view_of_a_kernel_opens_with_its_code(tuned: OwnKernel) -> None:
    assert wb.show(tuned).context.pane == "kernels"
    assert wb.show(tuned).context.variable == "k"


def test_what_a_run_counted_gives_a_roofline_and_a_modelled_time() -> None:
    made = wb.kernel(add, X, X, torch.empty(1000), 1000, grid=(4,), BLOCK=256)
    counted = CheckedCase(
        "add",
        "",
        "passed",
        (4, 1, 1),
        4,
        asked_bytes=16_000,
        least_read_bytes=8000,
        least_written_bytes=4000,
        operations=(("fp32", 1000),),
    )
    made.update(add_work(made.report, counted))
    (roof,) = made.report.roofline
    assert (roof.moved_bytes, roof.flops, roof.bound) == (12000, 1000, "memory")
    assert roof.asked_bytes == 16_000
    shown = document(made.report)
    (point,) = shown["points"]
    assert point["asked_bytes"] == 16_000
    empty = {pane["id"]: pane["empty"] for pane in shown["panes"] if pane["empty"]}
    assert "`k.rank_configs()`" in empty["autotune"]["text"]
    assert "`k.matrix([…])`" in empty["matrix"]["text"]
    told = wb.forecast(made)
    # what each line takes is not known: it is the function that takes it
    (line,) = told.lines
    assert (line.code.split("(")[0], line.own_us) == ("def add", told.kernels_us)
    assert told.rows[0].source == "modelled"
    assert told.kernels_us > told.bound_us > 0
