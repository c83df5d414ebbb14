"""Kernels of a log made again: what counts as equal, and what the table says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import triton

from tests.bench.real_compilations import (
    BEGIN,
    END,
    PAGE,
    Compared,
    clean,
    compile_with,
    find_signature,
    make_sums,
    make_table,
    name_alike,
    read_kernels,
)

LOG = Path(__file__).parents[1] / "records" / "kernel_logs" / "t4.ndjson.gz"


def test_a_kernel_of_this_triton_is_equal_and_one_without_its_helper_says_so() -> None:
    add, _, product = read_kernels(LOG)
    without, made = compile_with(sys.executable, [add, product])
    assert "clamp is not defined" in without.verdict
    if triton.__version__ == product.metadata["triton_version"]:
        assert (made.verdict, made.differ, made.from_log) == ("equal", (), ("llir", "ptx"))
    else:
        assert made.version == triton.__version__


def test_types_are_read_from_the_function_in_the_ttir() -> None:
    product = read_kernels(LOG)[2]
    assert find_signature(product) == {
        "a_ptr": "*fp16",
        "b_ptr": "*fp16",
        "c_ptr": "*fp32",
        "K": "i32",
        "SIZE": "constexpr",
    }


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx"])
def test_places_do_not_count(stage: str) -> None:
    text = read_kernels(LOG)[2].texts[stage]
    moved = text.replace("/home/somebody/project", "/elsewhere")
    assert moved != text
    assert clean(stage, moved) == clean(stage, text)


def test_registers_are_named_alike_and_declarations_left_out() -> None:
    a = ["\t.reg .b32 %r<9>;", "\tadd.s32 %r7, %r3, %r7;"]
    b = ["\t.reg .b32 %r<4>;", "\tadd.s32 %r1, %r2, %r1;"]
    assert name_alike(a) == name_alike(b) == ("\tadd.s32 %r:0, %r:1, %r:0;",)
    assert name_alike(["\tadd.s32 %r1, %r2, %r2;"]) != name_alike(a)


def test_a_row_says_in_what_code_differs() -> None:
    one, two = ("a", "b"), ("a", "c")
    same = Compared("k", "N=1", "3.4.0")
    spelt = Compared("k", "N=1", "3.7.1", ("ptx",), 1, (one, two))
    renamed = Compared("k", "N=1", "3.5.0", ("ptx",), 1, (one, one))
    other = Compared("k", "N=2", "3.4.0", ("llir", "ptx"), 0, (one, (*two, "d")))
    assert [row.verdict for row in (same, spelt, renamed, other)] == [
        "equal",
        "1 of 2 instructions; 1 parameter more",
        "same instructions; 1 parameter more",
        "3 instructions for 2; LLVM IR, PTX",
    ]
    assert "| `k` | N=1 | equal | 1 of 2" in make_table([same, spelt])
    assert "| same instructions | 1 of 2 | 0 of 1 |" in make_sums([same, other, spelt])


def test_the_page_has_the_twelve() -> None:
    told = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    rows = [line for line in told.splitlines() if line.startswith("| `")]
    assert (len(rows), sum("| equal |" in row for row in rows)) == (12, 9)
