"""The record of a hand-written kernel: one kernel, its code, what it takes of its GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import torch

from workbench.analysis.cost.line_shares import find_head
from workbench.analysis.gpu_model.roofline import add_rooflines
from workbench.compiler.internals.triton_functions import read_lines
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.kernels.kernel_variants import Variant
from workbench.compiler.recording.recorder import read_environment
from workbench.compiler.sources.sources import Places
from workbench.compiler.virtual_gpu.kernel_choice import Built
from workbench.report import TABLES, Capability, Kernel, Link, Report, Request, Source, TextWriter
from workbench.report.machine_rows import CheckedCase, KernelRoofline, Launch
from workbench.report.report_header import OWN_KERNEL
from workbench.report.table import Table
from workbench.specs import Gpu

KERNEL = "k0"
"""The id of the kernel in its record."""
_ALONE = "a single kernel has no {}"
_ABSENT = {
    "graphs": "graph",
    "guards": "guards",
    "breaks": "graph breaks",
    "fusion": "fusion decisions",
    "phases": "timeline of a compilation",
    "buffers": "generated program around it",
    "wrappers": "generated program around it",
}
_OF_CODE = ("kernels", "assembly", "resources", "autotune", "accesses")
_NOT_COMPILED = "it was not compiled: k.report compiles it"


def make_report(
    call: KernelCall, gpu: Gpu, made: Sequence[tuple[Variant, Built]], notes: Sequence[str]
) -> Report:
    """The record of a call, the configuration that is used first."""
    texts = TextWriter()
    chosen, built = made[0]
    for _, each in made:
        for text in each.texts.values():
            texts.add(text)
    source, lines = make_source_row(call, texts)
    first = source.first_line
    resources = [replace(each.resources, kernel=KERNEL) for _, each in made if each.resources]
    assembly = [replace(row, kernel=KERNEL) for _, each in made for row in each.assembly]
    # what comes before the first line of the body has the code of its entry
    head = find_head(lines) + 1
    own = {line for row in built.assembly for _, _, line in row.lines if head < line <= len(lines)}
    ids = tuple(f"L:s0:{first + line - 1}" for line in sorted(own))
    row = resources[0]
    kernel = Kernel(
        id=KERNEL,
        name=call.name,
        language="triton",
        graph="",
        lines=ids,
        text=source.text,
        registers=row.registers,
        spills=row.spills,
        smem_bytes=row.smem_bytes,
        occupancy=row.occupancy,
        estimate=row.estimate,
    )
    launch = Launch(
        KERNEL,
        row.config,
        call.resolve_grid({**chosen.constants, **chosen.options}),
        1,
        arguments=tuple((name, words) for name, words in describe_arguments(call).items()),
    )
    rows: Mapping[str, Sequence[Any]] = {
        "sources": [source],
        "kernels": [kernel],
        "resources": resources,
        "assembly": assembly,
        "launches": [launch],
        "links": [Link(line, KERNEL, "line-kernel") for line in ids],
    }
    return add_rooflines(_record(call, gpu.name, rows, texts, notes), gpu)


def record_source(call: KernelCall, target: str) -> Report:
    """A record with the source of a kernel, and of nothing that was compiled."""
    texts = TextWriter()
    rows: Mapping[str, Sequence[Any]] = {"sources": [make_source_row(call, texts)[0]]}
    return _record(call, target, rows, texts, (), dict.fromkeys(_OF_CODE, _NOT_COMPILED))


def make_source_row(call: KernelCall, texts: TextWriter) -> tuple[Source, Sequence[str]]:
    """The source of a kernel, and its lines."""
    places, function = Places(), call.jit
    file = function.fn.__code__.co_filename
    lines, first = read_lines(function)
    text = texts.add("".join(lines).rstrip("\n"))
    return Source("s0", call.name, places.shown(file), first, text, places.kind(file)), lines


def _record(
    call: KernelCall,
    target: str,
    rows: Mapping[str, Sequence[Any]],
    texts: TextWriter,
    notes: Sequence[str],
    missing: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    reasons = {name: _ALONE.format(what) for name, what in _ABSENT.items()} | dict(missing)
    absent = [Capability(name, False, reason) for name, reason in reasons.items()]
    every = {**rows, "capabilities": absent}
    return Report(
        environment=read_environment(),
        request=make_request(call, target, notes),
        tables={name: Table.of(TABLES[name], part) for name, part in every.items()},
        texts=texts.finish(),
    )


def make_request(call: KernelCall, target: str, notes: Sequence[str]) -> Request:
    """What was asked for: the call and its GPU."""
    return Request(
        name=call.name,
        kind=OWN_KERNEL,
        backend="gluon" if call.is_gluon else "triton",
        target=target,
        options=tuple((name, str(value)) for name, value in call.meta.items()),
        guards="none",
        capture="a call of a kernel",
        inputs=tuple(f"{name}: {words}" for name, words in describe_arguments(call).items()),
        notes=tuple(notes),
    )


def describe_arguments(call: KernelCall) -> dict[str, str]:
    """The arguments in words, by name."""
    return {name: _describe(value) for name, value in call.arguments.items()}


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    if hasattr(value, "block_shape"):
        return f"descriptor of {_describe(value.base)}, blocks {list(value.block_shape)}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_describe, value))})"
    return repr(value)


def add_work(report: Report, case: CheckedCase) -> Report:
    """The record with what a run counted: bytes that have to move, and operations; its roofline."""
    flops = sum(count for _, count in case.operations)
    kernels = [
        replace(
            kernel,
            bytes_read=case.least_read_bytes,
            bytes_written=case.least_written_bytes,
            flops=flops,
        )
        for kernel in report.kernels
    ]
    counted = replace(report, tables={**report.tables, "kernels": Table.of(Kernel, kernels)})
    found = add_rooflines(counted, find_gpu(report))
    rows = [replace(row, asked_bytes=case.asked_bytes) for row in found.roofline]
    return replace(found, tables={**found.tables, "roofline": Table.of(KernelRoofline, rows)})


def find_gpu(report: Report) -> Gpu:
    """The GPU of a record."""
    from workbench.compiler.request.compile_request import list_known_gpus

    return list_known_gpus()[report.request.target]
