from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.specs import Catalogue
from workbench.specs.likeness import Reported, found

GPUS = Catalogue.built_in()
H100 = Reported("NVIDIA H100 80GB HBM3", 9, 0, is_amd=False, sms=132, dram_bytes=80 << 30)


def test_a_known_name_is_that_gpu() -> None:
    assert found(GPUS, H100) == (GPUS["h100"], None)


def test_an_unknown_one_is_scaled_from_its_nearest_relative() -> None:
    seen = replace(
        H100, name="NVIDIA H100 Half", sms=66, memory_clock_mhz=2000.0, memory_bus_bits=4096
    )
    gpu, note = found(GPUS, seen)
    assert note is not None
    assert note.startswith("NVIDIA H100 Half is not in wb.targets(): its limits are those of")
    assert (gpu.name, gpu.sms, gpu.arch) == ("nvidia-h100-half", 66, "sm_90")
    assert gpu.registers_per_sm == GPUS["h100"].registers_per_sm
    assert gpu.bandwidth_gbs == pytest.approx(2 * 2000e6 * 4096 / 8 / 1e9)
    base = min((GPUS[n] for n in ("h100", "h100-pcie", "h200")), key=lambda g: abs(g.sms - 66))
    scale = 66 / base.sms
    assert gpu.matrix.of("bf16") == pytest.approx((base.matrix.of("bf16") or 0) * scale, rel=1e-3)
    assert gpu.matrix.of("fp4") is None


def test_vendors_are_not_mixed() -> None:
    seen = Reported("AMD Instinct MI300A", 9, 4, is_amd=True, sms=228, dram_bytes=128 << 30)
    gpu, note = found(GPUS, seen)
    assert gpu.vendor == "amd"
    assert gpu.arch == "gfx942"
    assert note is not None
