"""The numbers that come along: complete, with sources, and consistent with each other."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import workbench.specs
from workbench.specs import Catalogue, Gpu

GPUS = list(Catalogue.built_in())
DATA = Path(workbench.specs.__file__).parent / "data"
DOCUMENTS = tomllib.loads((DATA / "documents.toml").read_text())
each = pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)
FP32_LANES = {  # of a multiprocessor: CUDA programming guide; CDNA counts packed operations
    "sm_70": 64,
    "sm_75": 64,
    "sm_80": 64,
    "sm_86": 128,
    "sm_89": 128,
    "sm_90": 128,
    "sm_100": 128,
    "sm_120": 128,
    "gfx90a": 64,
    "gfx942": 128,
    "gfx950": 128,
}


@each
def test_every_number_names_a_document(gpu: Gpu) -> None:
    titles = tuple(DOCUMENTS.values())
    for field, value in gpu.values().items():
        if value is not None and field not in ("name", "aliases", "note", "dies"):
            assert gpu.sources[field].startswith(titles), field


def test_every_document_is_used() -> None:
    cited = " ".join(source for gpu in GPUS for source in gpu.sources.values())
    assert [key for key, title in DOCUMENTS.items() if title not in cited] == []


@each
def test_the_fp32_rate_follows_from_multiprocessors_and_clock(gpu: Gpu) -> None:
    lanes = FP32_LANES[gpu.arch]
    assert gpu.vector.fp32 is not None
    assert 2 * lanes * gpu.sms * gpu.clock_mhz / 1e6 == pytest.approx(gpu.vector.fp32, rel=0.02)


@each
def test_the_bandwidth_follows_from_the_memory_clock(gpu: Gpu) -> None:
    if gpu.memory_clock_mhz is None or gpu.memory_bus_bits is None:
        assert gpu.vendor == "amd"
        return
    moved = 2 * gpu.memory_clock_mhz * gpu.memory_bus_bits / 8 / 1e3
    assert moved == pytest.approx(gpu.bandwidth_gbs, rel=0.025)


@each
def test_rates_double_from_format_to_format(gpu: Gpu) -> None:
    rates = gpu.matrix
    assert rates.fp16 is not None
    if rates.bf16:
        assert rates.bf16 == rates.fp16
    if rates.tf32:
        assert rates.fp16 / rates.tf32 == pytest.approx(2, rel=0.03)
    if rates.fp8:
        assert rates.fp8 / rates.fp16 == pytest.approx(2, rel=0.03)


@each
def test_limits_fit_together(gpu: Gpu) -> None:
    assert gpu.max_threads_per_sm in (1024, 1536, 2048)
    assert gpu.shared_per_block_optin + gpu.shared_reserved == gpu.shared_per_sm
    assert gpu.shared_per_block_optin % gpu.shared_unit == 0
    assert gpu.registers_per_sm % (gpu.subpartitions * gpu.register_unit) == 0
    assert gpu.arch == (f"sm_{gpu.major}{gpu.minor}" if gpu.vendor == "nvidia" else gpu.arch)
    assert gpu.l2_bytes % gpu.dies == 0


def test_what_the_vendors_print() -> None:
    """A few numbers typed a second time, from the documents named in the data."""
    gpus = Catalogue.built_in()
    assert gpus["h100"].shared_per_block_optin == 227 * 1024
    assert gpus["a100"].shared_per_block_optin == 163 * 1024
    assert gpus["t4"].max_warps_per_sm == 32
    assert gpus["rtx3090"].max_blocks_per_sm == 16
    assert gpus["rtx4090"].l2_bytes == 73728 * 1024
    assert gpus["mi300x"].l2_bytes_per_die == 4 << 20
    assert gpus["mi250x"].sms * 2 == 220
    assert gpus["mi355x"].shared_per_sm == 160 * 1024
    assert gpus["v100"].matrix.bf16 is None
    assert gpus["b200"].matrix.fp4 == 9000
