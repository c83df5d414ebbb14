"""Compiles for a GPU of this machine; its report has the same tables as that of a virtual one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from workbench.analysis.collectives.streams import time_collectives
from workbench.analysis.gpu_model.roofline import add_rooflines
from workbench.compiler.internals.local_device import read_properties, read_vendor
from workbench.compiler.machine_code.machine_code import MachineCodeRecorder
from workbench.compiler.pipeline.pipeline import CompiledCode, compile_ahead
from workbench.compiler.request.compile_request import CompileRequest, list_known_gpus
from workbench.device_kinds import Vendor
from workbench.errors import WorkbenchError
from workbench.report import Report
from workbench.specs import DTYPES, Gpu, Rates
from workbench.specs.device import Device
from workbench.tasks.progress_events import ProgressCallback


def compile_on_gpu(
    request: CompileRequest, progress: ProgressCallback | None = None
) -> CompiledCode:
    """Compile for the GPU of the inputs and record the machine code."""
    device, note = describe_local_gpu()
    with MachineCodeRecorder(device) as recorder:
        try:
            made = compile_ahead(request, progress)
        except (WorkbenchError, KeyboardInterrupt) as error:
            recorder.hurry()
            if (report := getattr(error, "report", None)) is not None:
                error.report = _whole(report, recorder, device, note)  # type: ignore[union-attr]
            raise
        return replace(made, report=_whole(made.report, recorder, device, note))


def describe_local_gpu() -> tuple[Device, str | None]:
    """Return the current GPU from the catalogue, or one derived from driver data, with a note."""
    reported = _reported(read_properties())
    gpu, note = find_relative(list_known_gpus(), reported)
    return Device(gpu), note


def _whole(
    report: Report, recorder: MachineCodeRecorder, device: Device, note: str | None
) -> Report:
    made = time_collectives(add_rooflines(recorder.added(report), device.spec), device.spec)
    if note is None:
        return made
    return replace(made, request=replace(made.request, notes=(*made.request.notes, note)))


def _reported(properties: Any) -> Reported:
    def of(name: str) -> Any:
        return getattr(properties, name, None) or None  # older releases do not tell all of it

    def megahertz(name: str) -> float | None:
        kilohertz = of(name)
        return None if kilohertz is None else kilohertz / 1000

    return Reported(
        name=properties.name,
        major=properties.major,
        minor=properties.minor,
        maker=read_vendor(),
        sms=properties.multi_processor_count,
        dram_bytes=properties.total_memory,
        l2_bytes=of("L2_cache_size"),
        shared_per_sm=of("shared_memory_per_multiprocessor"),
        shared_per_block_optin=of("shared_memory_per_block_optin"),
        clock_mhz=megahertz("clock_rate"),
        memory_clock_mhz=megahertz("memory_clock_rate"),
        memory_bus_bits=of("memory_bus_width"),
    )


@dataclass(frozen=True)
class Reported:
    """Device data from the driver, with None for unreported values. Sizes are bytes."""

    name: str
    major: int
    minor: int
    maker: Vendor
    sms: int
    dram_bytes: int
    l2_bytes: int | None = None
    shared_per_sm: int | None = None
    shared_per_block_optin: int | None = None
    clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    memory_bus_bits: int | None = None


def find_relative(gpus: Iterable[Gpu], reported: Reported) -> tuple[Gpu, str | None]:
    """Return the GPU with that name, or one derived from its nearest relative with a note.

    Limits are those of the relative. Rates are scaled by multiprocessors and clock. If the memory
    clock (two transfers per cycle) and bus width are known, the bandwidth is computed from them.
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
        arch=f"{reported.maker.arch_prefix}{reported.major}{reported.minor}"
        if reported.maker.is_arch_number
        else base.arch,
        minor=reported.minor,
        bandwidth_gbs=2 * clock * bus / 8e3 if clock and bus else base.bandwidth_gbs,
        vector=_scaled(base.vector, scale),
        matrix=_scaled(base.matrix, scale),
        aliases=(),
        sources={},
    )
    note = (
        f"{reported.name} is not in wb.targets(). It gets the limits of {base.title} and rates "
        "scaled from that GPU. For exact values, describe your GPU in a file."
    )
    return made, note


def _relative(gpus: list[Gpu], reported: Reported) -> Gpu:
    """The GPU of the same vendor with the nearest architecture, then the nearest size."""

    def distance(gpu: Gpu) -> tuple[int, int]:
        apart = abs(10 * (gpu.major - reported.major) + gpu.minor - reported.minor)
        return apart, abs(gpu.sms - reported.sms)

    return min((gpu for gpu in gpus if gpu.kind is reported.maker), key=distance)


def _scaled(rates: Rates, scale: float) -> Rates:
    values = {dtype: rates.of(dtype) for dtype in DTYPES}
    return Rates(**{name: value and round(value * scale, 3) for name, value in values.items()})
