"""Compiles for a GPU of this machine; its report has the same tables as that of a virtual one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.analysis.gpu_model.kernel_roofline import add_rooflines
from workbench.compiler.contract.compile_request import CompileOptions, list_known_gpus
from workbench.compiler.internals.local_device import read_properties, read_vendor
from workbench.compiler.machine_code.device import Device
from workbench.compiler.machine_code.machine_code import MachineCodeRecorder
from workbench.compiler.pipeline.pipeline import CompiledCode, compile_ahead
from workbench.device_kinds import AMD
from workbench.errors import WorkbenchError
from workbench.processes.child_messages import ProgressCallback
from workbench.report import Report
from workbench.specs.likeness import Reported, found


def compile_on_gpu(
    target: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    options: CompileOptions,
    progress: ProgressCallback | None = None,
) -> CompiledCode:
    """Compile for the GPU of the inputs, and record its machine code."""
    device, note = describe_local_gpu()
    with MachineCodeRecorder(device, is_timed=True) as recorder:
        try:
            made = compile_ahead(target, args, kwargs, options, progress)
        except (WorkbenchError, KeyboardInterrupt) as error:
            recorder.hurry()
            if (report := getattr(error, "report", None)) is not None:
                error.report = _whole(report, recorder, device, note)  # type: ignore[union-attr]
            raise
        return replace(made, report=_whole(made.report, recorder, device, note))


def describe_local_gpu() -> tuple[Device, str | None]:
    """The current GPU as the catalogue has it, or made from what it says of itself, with a note."""
    reported = _reported(read_properties())
    gpu, note = found(list_known_gpus(), reported)
    return Device(gpu), note


def _whole(
    report: Report, recorder: MachineCodeRecorder, device: Device, note: str | None
) -> Report:
    made = add_rooflines(recorder.added(report), device.spec)
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
        is_amd=read_vendor() is AMD,
        sms=properties.multi_processor_count,
        dram_bytes=properties.total_memory,
        l2_bytes=of("L2_cache_size"),
        shared_per_sm=of("shared_memory_per_multiprocessor"),
        shared_per_block_optin=of("shared_memory_per_block_optin"),
        clock_mhz=megahertz("clock_rate"),
        memory_clock_mhz=megahertz("memory_clock_rate"),
        memory_bus_bits=of("memory_bus_width"),
    )
