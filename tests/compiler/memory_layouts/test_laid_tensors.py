"""Tensors are read of TTGIR with their places, layouts, and what they move."""

import pytest

from tests.older_releases import RELEASE
from workbench.compiler.memory_layouts.laid_tensors import BY_TMA, LaidTensor, read_laid

# Triton 3.9 refuses the older form: "tensor descriptors must not wrap tensor types"
DESCRIPTOR = (
    "!tt.tensordesc<tensor<64x64xf16>>" if RELEASE < (2, 15) else "!tt.tensordesc<64x64xf16>"
)

HEAD = """
#wide = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1],
  order = [1, 0]}>
#tall = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4],
  order = [0, 1]}>
#row = #ttg.slice<{dim = 0, parent = #wide}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1],
  instrShape = [16, 8]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#swizzled = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [1, 0]}>
#padded = #ttg.padded_shared<[64:+4] {order = [1, 0], shape = [64, 64]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90",
    "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: tensor<64x64x!tt.ptr<f32>, #wide>, %r: tensor<64x!tt.ptr<f16>, #row>,
      %one: !tt.ptr<i64>, %m: tensor<64x64xf16, #a>, %t: DESCRIPTOR) {
""".replace("DESCRIPTOR", DESCRIPTOR)
TAIL = """
    tt.return
  }
}
#loc1 = loc("/home/user/kernels.py":5:20)
#loc2 = loc("/home/user/kernels.py":6:4)
#loc3 = loc("/opt/triton/language/standard.py":90:8)
#loc4 = loc("v"(#loc1))
#loc5 = loc(callsite(#loc3 at #loc2))
"""


def read(*lines: str) -> tuple[LaidTensor, ...]:
    return read_laid({"ttgir": HEAD + "\n".join(lines) + TAIL}).tensors


LOAD = "%v = tt.load %p : tensor<64x64x!tt.ptr<f32>, #wide> loc(#loc4)"


def test_an_access_has_its_place_its_shape_and_who_holds_what():
    (load,) = read(LOAD)

    assert (load.op, load.kind, load.shape, load.bits) == ("tt.load", "read", (64, 64), 32)
    assert (load.file, load.line, load.column) == ("/home/user/kernels.py", 5, 21)
    assert load.layout == "blocked: 1 × 4 a thread, 4 × 8 lanes, 4 × 1 warps, axes 1, 0 first"
    assert load.bases[0][:2] == ((0, 1), (0, 2))
    assert load.bases[1] == ((0, 4), (0, 8), (0, 16), (1, 0), (2, 0))
    assert load.counts == (32, 32, 4)


def test_a_store_has_the_place_of_its_text_and_library_code_that_of_its_call():
    store = "tt.store %p, %v : tensor<64x64x!tt.ptr<f32>, #wide> loc(#loc2)"
    inside = "%r1 = tt.load %r : tensor<64x!tt.ptr<f16>, #row> loc(#loc5)"

    _, stored, library = read(LOAD, store, inside)

    assert (stored.kind, stored.line, stored.column) == ("write", 6, 5)
    assert (library.line, library.bits, library.shape) == (6, 16, (64,))
    assert library.layout.startswith("axis 0 cut from blocked")


def test_what_pipelining_repeats_is_there_once():
    again = LOAD.replace("%v", "%w")

    assert len(read(LOAD, again)) == 1


def test_a_scalar_is_one_address_for_all_lanes():
    (one,) = read("%s = tt.load %one : !tt.ptr<i64> loc(#loc1)")

    assert (one.shape, one.bits, one.layout) == ((), 64, "one address for all lanes")


def test_products_and_conversions_are_drawn_and_are_no_accesses():
    convert = "%c = ttg.convert_layout %m : tensor<64x64xf16, #a> -> tensor<64x64xf16, #wide>"

    (converted,) = read(convert + " loc(#loc1)")

    assert converted.kind is None
    assert converted.layout.startswith("blocked")


CONFLICTS = {"plain": (0, 7), "swizzled": (0, 3)}


@pytest.mark.parametrize("shared", CONFLICTS)
def test_conflicts_of_banks_are_counted_where_columns_are_read(shared):
    held = f"!ttg.memdesc<64x64xf32, #{shared}, #smem>"
    store, load = read(
        LOAD,
        f"%s = ttg.local_alloc %v : (tensor<64x64xf32, #wide>) -> {held} loc(#loc1)",
        f"%w = ttg.local_load %s : {held} -> tensor<64x64xf32, #tall> loc(#loc2)",
    )[1:]

    assert (store.conflicts, load.conflicts) == CONFLICTS[shared]


def test_of_a_layout_whose_question_would_end_the_process_it_says_so():
    held = "!ttg.memdesc<64x64xf32, #padded, #smem>"
    _, store = read(
        LOAD, f"%s = ttg.local_alloc %v : (tensor<64x64xf32, #wide>) -> {held} loc(#loc1)"
    )

    assert store.conflicts is None
    assert store.note == "Triton does not count bank conflicts for #ttg.padded_shared"


def test_a_text_that_is_missing_is_said():
    assert read_laid({}).note == "it has no TTGIR"


def test_a_descriptor_is_moved_without_registers():
    types = f"{DESCRIPTOR} -> tensor<64x64xf16, #wide>"
    moved = f"%d = tt.descriptor_load %t[%z, %z] : {types} loc(#loc1)"
    (bulk,) = read("%z = arith.constant 0 : i32", moved)

    assert (bulk.layout, bulk.kind, bulk.bases) == (BY_TMA, "read", ())
