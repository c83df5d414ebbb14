"""What the memory sees of kernels that are compiled for an H100 and run on the CPU."""

from __future__ import annotations

import linecache
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import workbench as wb
from tests.older_releases import until
from tests.worlds.own_kernels.programs.cases import CASES, Case
from tests.worlds.own_kernels.programs.gluon_kernels import PADDED, PLAIN, SWIZZLED, copy_transposed
from workbench.compiler.interpreter.watched.watched_call import Watched
from workbench.worlds.own_kernels.handles import memory_accesses
from workbench.worlds.own_kernels.handles.own_kernel import OwnKernel


@triton.jit
def take(x, out, STEP: tl.constexpr, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + STEP * i + SHIFT)
    tl.store(out + i, v)


@triton.jit
def get(p, i):
    return tl.load(p + i)


@triton.jit
def add_both(x, y, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, get(x, i) + get(y, 2 * i))


@triton.jit
def take_some(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n, other=0.0))


@triton.jit
def take_far(where, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(where).to(tl.pointer_type(tl.float32))
    tl.store(out + i, tl.load(x + i))


@triton.jit
def take_and_stop(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.device_assert(v > 0)
    tl.store(out + i, v)


LONG, OUT, SQUARE = torch.zeros(1 << 16), torch.empty(2048), torch.zeros(64, 64)


def take_from(step: int = 1, shift: int = 0, x: torch.Tensor = LONG) -> OwnKernel:
    return wb.kernel(take, x, OUT, grid=(4,), STEP=step, SHIFT=shift, BLOCK=512)


def handle(case: Case, **meta: Any) -> OwnKernel:
    return wb.kernel(case.kernel, *case.args, grid=case.grid, **{**case.meta, **meta})


def find(kernel: OwnKernel, argument: str) -> Any:
    kernel.frame("accesses")
    return next(row for row in kernel.report.accesses if row.argument == argument)


TABLE = {  # sectors of an instruction, the least, shares used: of it, of the warp's; its bytes
    "x[i]": (take_from, "x", (16, 16, 1, 1, 16)),
    "x[i + 1]": (lambda: take_from(shift=1), "x", (16.25, 4, 0.246, 0.941, 4)),
    "x[2 i]": (lambda: take_from(step=2), "x", (32, 4, 0.125, 0.5, 4)),
    "x[17 i]": (lambda: take_from(step=17), "x", (32, 4, 0.125, 0.125, 4)),
    "n = 1000": (lambda: handle(CASES["add"]()), "x", (7.81, 3.94, 0.5, 1, 4)),
    "K = 72": (lambda: handle(CASES["matmul"](), num_warps=2), "a", (15.4, 1.62, 0.094, 0.75, 2)),
}


@pytest.mark.parametrize("name", TABLE)
def test_sectors_and_shares_are_those_that_the_addresses_give(name: str) -> None:
    make, argument, expected = TABLE[name]
    row = find(make(), argument)
    found = row.sectors, row.least_sectors, row.used, row.used_l1, row.vector_bytes
    assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("case", "argument", "words"),
    [
        ("add", "x", "When recompiled with n = 1008, this line moves 8 bytes at a time"),
        pytest.param(
            "block_pointers",
            "a",
            "When recompiled with K = 80, this line moves 16 bytes at a time",
            marks=until("2.15", "its Triton, 3.9, has no block pointers"),
        ),
    ],
)
def test_a_size_that_is_not_divisible_is_the_cure_where_the_code_says_so(
    case: str, argument: str, words: str
) -> None:
    assert words in find(handle(CASES[case]()), argument).hint


def test_of_what_no_argument_mends_only_the_trouble_is_said() -> None:
    hint = find(take_from(shift=1), "x").hint
    assert "do not start at a multiple of 16" in hint
    assert "Recompiled" not in hint


@triton.jit
def put_behind(x, out, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i + SHIFT, tl.load(x + i))


@pytest.mark.parametrize("block", [128, 512])
def test_a_store_that_is_off_by_one_element_says_so_and_what_mends_it(block: int) -> None:
    def put(shift: int, out: torch.Tensor) -> Any:
        grid = (1024 // block,)
        return find(wb.kernel(put_behind, LONG, out, grid=grid, SHIFT=shift, BLOCK=block), "out")

    row = put(1, OUT)
    assert (row.sectors, row.least_sectors) == (5, 4)
    assert row.hint == (
        "An instruction touches 5 sectors; if aligned to a sector, it would touch 4. Every "
        "instruction starts 1 element (4 bytes) after a multiple of 32 bytes. Handle the first 7 "
        "elements separately, or pass out as a view that starts 1 element before an aligned one."
    )
    for cured in (put(8, OUT), put(1, OUT[7:])):  # the advice, taken: the first 7 apart; a view
        assert cured.sectors == cured.least_sectors


def test_a_view_that_begins_elsewhere_is_the_cause() -> None:
    assert "When recompiled with x aligned" in find(take_from(x=LONG[1:]), "x").hint


def test_a_mask_that_parts_a_vector_is_the_trouble_and_its_size_the_cure() -> None:
    row = find(wb.kernel(take_some, LONG, OUT, 1001, grid=(1,), BLOCK=1024), "x")
    assert row.used == pytest.approx(0.25, rel=0.01)
    assert row.hint.endswith(
        "the mask separates some of them, so 4 bytes are moved at a time. n = 1001 is not "
        "divisible by 16. When recompiled with n = 1008, this line moves 16 bytes at a time. Fix: "
        "pad n to 1008."
    )


def test_a_helper_that_two_calls_reach_has_no_width_of_another() -> None:
    kernel = wb.kernel(add_both, LONG, LONG.clone(), OUT, grid=(2,), BLOCK=1024)
    kernel.frame("accesses")
    x, y = (row for row in kernel.report.accesses if row.kind == "read")
    assert "several calls access memory in this line with different widths" in x.reason
    assert (y.vector_bytes, y.used, y.used_l1) == (4, 0.125, 0.5)


def test_memory_of_no_argument_is_a_row_that_is_not_judged() -> None:
    far = torch.tensor([LONG.data_ptr()])
    assert find(wb.kernel(take_far, far, OUT, grid=(1,), BLOCK=256), "").reason == (
        "the run did not access memory of an argument in this line"
    )


def test_a_run_that_stopped_says_so_of_what_was_counted_and_what_was_not() -> None:
    kernel = wb.kernel(take_and_stop, LONG, OUT, grid=(4,), BLOCK=256)
    kernel.frame("accesses")
    read, write = kernel.report.accesses
    assert read.used == 1
    assert write.used is None
    assert read.reason == write.reason != ""


@triton.jit
def take_for_long(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(n):
        v += tl.load(x + i)
    tl.store(out + i, v)


def test_a_run_that_takes_too_long_is_ended_and_a_longer_limit_runs_it_again() -> None:
    kernel = wb.kernel(take_for_long, LONG, OUT, 3000, grid=(1,), BLOCK=256)
    kernel.frame("accesses", time_limit=0.05)
    reason = kernel.report.accesses[0].reason
    assert reason.startswith("it did not end within 0.05 s, in ")
    assert reason.endswith("; a higher time_limit= lets it run longer")
    ended = kernel.report
    kernel.frame("accesses", time_limit=0.01)
    assert kernel.report is ended
    kernel.frame("accesses")
    assert {row.reason for row in kernel.report.accesses} == {""}
    with pytest.raises(wb.UsageError, match="time_limit is 0: expected seconds above 0"):
        take_from().frame("accesses", time_limit=0)


def test_layouts_are_read_without_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    warm = memory_accesses.keep_warm_interpreter()
    monkeypatch.setattr(warm, "ask", lambda *message: pytest.fail("it was run"))
    kernel = take_from()
    assert len(kernel.layouts())
    assert kernel.layout("tl.load").sentence
    assert "accesses" not in kernel.report.tables


def test_a_log_that_was_full_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    warm = memory_accesses.keep_warm_interpreter()

    def ask(message: Any, doing: str) -> Watched:
        seen: Watched = type(warm).ask(warm, message, doing)
        return replace(seen, log=replace(seen.log, is_whole=False))

    monkeypatch.setattr(warm, "ask", ask)
    row = find(wb.kernel(take, LONG, OUT, grid=(4,), STEP=1, SHIFT=0, BLOCK=512), "x")
    assert (row.used, row.reason) == (1, "the access log reached its limit of 0 MB")


def test_amd_memory_is_read_in_64_bytes() -> None:
    kernel = wb.kernel(take, LONG, OUT, grid=(4,), target="mi300x", STEP=2, SHIFT=0, BLOCK=512)
    row = find(kernel, "x")  # of two elements for each of 64 lanes, 16 bytes apart
    assert (row.sector_bytes, row.sectors, row.used) == (64, 16, 0.25)


def test_what_is_moved_by_tma_has_no_layout_and_says_so() -> None:
    row = find(handle(CASES["descriptors"]()), "a")
    assert (row.sectors, row.reason) == (None, "moved by TMA: no layout in registers")


def test_a_call_without_numbers_is_compiled_and_not_counted() -> None:
    case = CASES["add"]()
    args = [a.to("meta") if isinstance(a, torch.Tensor) else a for a in case.args]
    kernel = wb.kernel(case.kernel, *args, grid=case.grid, **case.meta)
    rows = kernel.frame("accesses")
    assert set(rows["vector_bytes"]) == {4}
    assert set(rows["reason"]) == {"its tensors are on meta and have no values, so nothing was run"}


@pytest.mark.parametrize(("shared", "conflicts"), [(PLAIN, 7), (SWIZZLED, 3)])
def test_gluon_reads_columns_of_shared_memory_with_conflicts(shared: Any, conflicts: int) -> None:
    kernel = wb.kernel(copy_transposed, SQUARE, SQUARE, grid=(1,), M=64, N=64, SHARED=shared)
    found = {row.op: row.conflicts for row in (kernel.layouts(), kernel.report.layouts)[1]}
    assert (found["ttg.local_alloc"], found["ttg.local_load"]) == (0, conflicts)
    assert "Gluon" in kernel.frame("accesses")["reason"][0]


def test_a_padded_layout_is_a_sentence_and_no_dead_process() -> None:
    kernel = wb.kernel(copy_transposed, SQUARE, SQUARE, grid=(1,), M=64, N=64, SHARED=PADDED)
    notes = set(kernel.layouts()["note"]) - {""}
    assert notes == {"Triton does not count bank conflicts for #ttg.padded_shared"}


def test_a_layout_says_who_holds_an_element() -> None:
    layout = take_from().layout("tl.load")
    (holder,) = layout.held_by(133)
    assert (holder.warp, holder.lane, holder.register) == (1, 1, 1)
    assert layout.sentence.startswith("tt.load in line ")
    with pytest.raises(wb.UsageError, match=r"Element \[512\] is outside"):
        layout.held_by(512)
    with pytest.raises(wb.UsageError, match="Line 1 has no layout"):
        take_from().layout(1)


MOVED = """
import triton, triton.language as tl

@triton.jit
def move(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) + 31)
"""


def test_code_that_was_compiled_for_a_file_that_is_gone_is_matched(tmp_path: Path) -> None:
    for place in ("first/moved.py", "second/moved.py", "second/renamed.py"):
        path = tmp_path / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(MOVED)
        kernel = runpy.run_path(str(path))["move"]
        made = wb.kernel(kernel, LONG, OUT, grid=(4,), BLOCK=512)
        row = find(made, "x")
        assert row.vector_bytes == 16
        assert row.file.endswith(place)
        linecache.clearcache()
        path.unlink()
