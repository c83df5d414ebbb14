"""The most bytes that live while operators run in turn, counted by hand."""

from __future__ import annotations

from workbench.analysis.memory.liveness import Operator, peak_bytes

SIZES = {1: 10, 2: 100, 3: 30, 4: 7}


def library(reads: tuple[int, ...], writes: tuple[int, ...]) -> Operator:
    return Operator("library", reads, writes)


def pointwise(reads: tuple[int, ...], writes: tuple[int, ...]) -> Operator:
    return Operator("pointwise", reads, writes)


def test_what_is_no_longer_read_is_given_back() -> None:
    chain = [library((1,), (2,)), library((2,), (3,)), library((3,), (4,))]
    assert peak_bytes(chain, SIZES) == 100 + 30
    assert peak_bytes(chain, SIZES, there={1}) == 100 + 30  # 1 goes before 3 comes
    assert peak_bytes(chain[:1], SIZES, there={1}) == 10 + 100
    assert peak_bytes(chain, SIZES, kept={2, 4}) == 100 + 30 + 7


def test_what_is_there_and_never_read_lives_on() -> None:
    assert peak_bytes([library((2,), (3,))], SIZES, there={1, 2}) == 10 + 100 + 30


def test_pointwise_results_take_memory_only_where_a_library_call_reads_them() -> None:
    fused = [pointwise((1,), (2,)), Operator("reduction", (2,), (3,))]
    assert peak_bytes(fused, SIZES) == 30
    apart = [pointwise((1,), (2,)), library((2,), (3,))]
    assert peak_bytes(apart, SIZES) == 100 + 30
    assert peak_bytes(fused, SIZES, kept={2}) == 100 + 30


def test_storages_without_a_size_are_the_callers() -> None:
    assert peak_bytes([library((9,), (3,))], SIZES, there={9}) == 30
