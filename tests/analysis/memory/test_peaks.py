"""What torch's caching allocator would reserve, by the rules of its source."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import workbench as wb
from workbench.analysis.memory.peaks import CachingAllocator

RECORDS = Path(__file__).parents[2] / "records"
MIB = 1 << 20


@pytest.mark.parametrize(
    ("size", "allocated", "reserved"),
    [
        (1, 512, 2 * MIB),
        (513, 1024, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB - 1, 10 * MIB, 10 * MIB),  # rounded first
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB),
        (21 * MIB + 1, 22 * MIB, 22 * MIB),  # a rest of up to 1 MiB stays in the block
        (23 * MIB - 512, 23 * MIB - 512, 24 * MIB),  # more is split off
    ],
)
def test_one_tensor(size: int, allocated: int, reserved: int) -> None:
    gpu = CachingAllocator()
    gpu.take(size)
    assert (gpu.allocated, gpu.reserved) == (allocated, reserved)


def test_a_block_is_split_and_its_neighbours_are_joined_again() -> None:
    gpu = CachingAllocator()
    parts = [gpu.take(512 * 1024) for _ in range(4)]
    assert gpu.reserved == 2 * MIB
    for place in (1, 3, 0, 2):
        gpu.give(parts[place])
    assert (gpu.allocated, gpu.reserved) == (0, 2 * MIB)
    gpu.take(MIB)
    gpu.take(MIB)
    assert gpu.reserved == 2 * MIB


def test_what_is_kept_between_two_free_blocks_is_fragmentation() -> None:
    gpu = CachingAllocator()
    first, _kept, last = (gpu.take(6 * MIB) for _ in range(3))
    gpu.give(first)
    gpu.give(last)
    gpu.take(9 * MIB)
    assert gpu.reserved == 40 * MIB


def test_small_and_large_tensors_have_segments_of_their_own() -> None:
    gpu = CachingAllocator()
    gpu.give(gpu.take(30 * MIB))
    gpu.take(512)
    assert gpu.reserved == 32 * MIB
    gpu.take(2 * MIB)
    assert gpu.reserved == 32 * MIB


def test_a_program_for_a_gpu_says_what_would_be_reserved() -> None:
    found = wb.memory(RECORDS / "norm_h100.wbr")
    whole = found.peaks[-1]
    assert whole.allocated_bytes is not None
    assert whole.reserved_bytes is not None
    rows = [row for row in found.allocations if row.bytes]
    assert whole.bytes <= whole.allocated_bytes <= whole.bytes + 512 * len(rows)
    assert whole.reserved_bytes >= whole.allocated_bytes
    assert whole.reserved_bytes % (2 * MIB) == 0
    assert "modelled for torch's caching allocator" in whole.source
    reserved = [row.reserved_bytes or 0 for row in found.peaks]
    assert all(a <= b for a, b in pairwise(reserved))


def test_a_program_for_the_host_reserves_nothing() -> None:
    peaks = wb.memory(RECORDS / "training.wbr").peaks
    assert {(row.allocated_bytes, row.reserved_bytes) for row in peaks} == {(None, None)}
    assert {row.source for row in peaks} == {"counted from the generated program"}
