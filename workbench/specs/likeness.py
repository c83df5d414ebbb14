"""A GPU that the catalogue does not have: what it says of itself, and a near relative."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from workbench.device_kinds import AMD, NVIDIA
from workbench.specs.gpu import DTYPES, Gpu, Rates


@dataclass(frozen=True)
class Reported:
    """What a driver says of its device; None where it says nothing. Sizes are bytes."""

    name: str
    major: int
    minor: int
    is_amd: bool
    sms: int
    dram_bytes: int
    l2_bytes: int | None = None
    shared_per_sm: int | None = None
    shared_per_block_optin: int | None = None
    clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    memory_bus_bits: int | None = None


def found(gpus: Iterable[Gpu], reported: Reported) -> tuple[Gpu, str | None]:
    """The GPU of that name, or one made from its nearest relative, and then a note that says so.

    Limits are those of the relative, rates are scaled by multiprocessors and clock. The bandwidth
    follows from the memory clock (two transfers for each) and the bus, where they are known.
    """
    known = list(gpus)
    for gpu in known:
        if gpu.device_name == reported.name:
            return gpu, None
    base = _relative(known, reported)
    scale = reported.sms * (reported.clock_mhz or base.clock_mhz) / (base.sms * base.clock_mhz)
    clock, bus = reported.memory_clock_mhz, reported.memory_bus_bits
    same = {
        name: value for name, value in asdict(reported).items() if value and hasattr(base, name)
    }
    made = replace(
        replace(base, **same),
        name="-".join(reported.name.lower().split()),
        title=reported.name,
        device_name=reported.name,
        arch=base.arch if reported.is_amd else f"sm_{reported.major}{reported.minor}",
        minor=reported.minor,
        bandwidth_gbs=2 * clock * bus / 8e3 if clock and bus else base.bandwidth_gbs,
        vector=_scaled(base.vector, scale),
        matrix=_scaled(base.matrix, scale),
        aliases=(),
        sources={},
    )
    note = (
        f"{reported.name} is not in wb.targets(): its limits are those of {base.title}, its rates "
        "are scaled from there. Describe it in a file of your own for exact ones."
    )
    return made, note


def _relative(gpus: list[Gpu], reported: Reported) -> Gpu:
    """The GPU of the same vendor with the nearest architecture, then the nearest size."""
    vendor = (AMD if reported.is_amd else NVIDIA).name

    def distance(gpu: Gpu) -> tuple[int, int]:
        apart = abs(10 * (gpu.major - reported.major) + gpu.minor - reported.minor)
        return apart, abs(gpu.sms - reported.sms)

    return min((gpu for gpu in gpus if gpu.vendor == vendor), key=distance)


def _scaled(rates: Rates, scale: float) -> Rates:
    values = {dtype: rates.of(dtype) for dtype in DTYPES}
    return Rates(**{name: value and round(value * scale, 3) for name, value in values.items()})
