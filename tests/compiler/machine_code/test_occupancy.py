"""Occupancy against a table from vendors' tools, and against NVIDIA's calculator itself."""

from __future__ import annotations

import csv
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from workbench.compiler.machine_code.occupancy import (
    Occupancy,
    combine_registers,
    compute_occupancy,
)
from workbench.errors import UsageError
from workbench.specs import Catalogue, Gpu

HERE = Path(__file__).parent
GOLDEN = list(csv.DictReader((HERE / "occupancy_golden.csv").open()))
GPUS = Catalogue.built_in()
BITS = {1: "warps", 2: "registers", 4: "shared memory", 8: "blocks"}


@pytest.mark.parametrize(
    "row", GOLDEN, ids=lambda r: f"{r['gpu']}-{r['registers']}-{r['shared']}-{r['threads']}"
)
def test_golden_table(row: dict[str, str]) -> None:
    found = compute_occupancy(
        GPUS[row["gpu"]],
        threads=int(row["threads"]),
        registers=int(row["registers"]),
        scalar_registers=int(row["scalar_registers"]),
        shared=int(row["shared"]),
    )
    assert found.blocks == int(row["blocks"]), row["source"]
    assert set(found.limiters) == set(row["limiters"].split(" + ")), row["source"]
    assert found.estimate


def test_the_table_covers_every_architecture_and_says_where_it_is_from() -> None:
    assert len(GOLDEN) >= 30
    assert all(row["source"] for row in GOLDEN)
    assert {GPUS[row["gpu"]].arch for row in GOLDEN} == {gpu.arch for gpu in GPUS}
    assert sum(row["source"].startswith("by hand") for row in GOLDEN) <= 4


def test_nvidias_own_calculator_agrees_everywhere(tmp_path: Path) -> None:
    program = calculator(tmp_path)
    chance = random.Random(4)
    asked = [kernel(chance) for _ in range(4000)]
    lines = [
        f"{gpu.major} {gpu.minor} {gpu.max_threads_per_sm} {gpu.registers_per_sm} "
        f"{gpu.shared_per_sm} {gpu.shared_per_block_optin} {gpu.shared_reserved} "
        f"{registers} {shared} {threads}\n"
        for gpu, registers, shared, threads in asked
    ]
    answers = subprocess.run(
        [program], input="".join(lines), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for (gpu, registers, shared, threads), answer in zip(asked, answers, strict=True):
        blocks, bits = map(int, answer.split())
        found = compute_occupancy(gpu, threads=threads, registers=registers, shared=shared)
        where = (gpu.name, registers, shared, threads)
        assert found.blocks == blocks, where
        if blocks:
            assert set(found.limiters) == {BITS[b] for b in BITS if b & bits}, where


def calculator(folder: Path) -> Path:
    triton = pytest.importorskip("triton")
    include = Path(triton.__file__).parent / "backends" / "nvidia" / "include"
    compiler = shutil.which("g++")
    if compiler is None or not (include / "cuda_occupancy.h").exists():
        pytest.skip("needs a C++ compiler and the CUDA headers of Triton")
    program = folder / "cuda_occupancy"
    source = HERE / "cuda_occupancy.cpp"
    subprocess.run([compiler, f"-I{include}", source, "-o", program], check=True)
    return program


def kernel(chance: random.Random) -> tuple[Gpu, int, int, int]:
    gpu = chance.choice([gpu for gpu in GPUS if gpu.vendor == "nvidia"])
    most = gpu.shared_per_block_optin
    shared = chance.choice([0, chance.randint(1, most), 128 * chance.randint(0, most // 128)])
    return gpu, chance.randint(1, 255), shared, chance.randint(1, 1024)


def h100(threads: int, registers: int = 0, shared: int = 0) -> Occupancy:
    return compute_occupancy(GPUS["h100"], threads=threads, registers=registers, shared=shared)


def test_an_example_in_words() -> None:
    found = h100(threads=256, registers=90, shared=40_000)
    # 90 x 32 registers are rounded up to 3072 for a warp: 5 warps on each of 4 subpartitions.
    assert dict(found.allowed)["registers"] == 2
    # 40000 + 1024 bytes are rounded up to 41088: five blocks have room.
    assert dict(found.allowed)["shared memory"] == 5
    assert (found.blocks, found.warps, found.limiter) == (2, 16, "registers")
    assert found.ratio == 0.25


def test_a_kernel_that_uses_little_is_limited_by_the_hardware_alone() -> None:
    found = h100(threads=256, registers=16)
    assert (found.ratio, found.limiters) == (1.0, ("warps",))


@pytest.mark.parametrize(
    ("asked", "limiter", "words"),
    [
        ((2048, 16, 0), "warps", "the limit of 1024"),
        ((32, 256, 0), "registers", "the limit of 255"),
        (
            (1024, 65, 0),
            "registers",
            "A block needs 73728 registers, more than the 65536 available",
        ),
        ((128, 32, 232449), "shared memory", "the limit of 232448"),
    ],
)
def test_what_cannot_be_launched_says_why(
    asked: tuple[int, int, int], limiter: str, words: str
) -> None:
    found = h100(*asked)
    assert (found.blocks, found.ratio, found.limiter) == (0, 0.0, limiter)
    assert words in (found.reason or "")


def test_accumulation_registers_share_the_file() -> None:
    assert combine_registers(255, 128) == 384  # as LLVM's .vgpr_count for such a kernel
    assert combine_registers(255, 0) == 255


def test_a_kernel_without_threads_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one thread"):
        h100(threads=0)
    with pytest.raises(UsageError, match="no negative resource"):
        h100(threads=32, registers=-1)
