"""How code that was compiled for a virtual GPU may differ from code that is compiled on it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.compiler.virtual_gpu.device.virtual import has_known_question, has_known_rule
from workbench.device_kinds import CPU, GPU
from workbench.report import Node, Report, Table
from workbench.report.machine_rows import Fidelity
from workbench.specs.device import Device

_PRODUCTS = ("aten.mm", "aten.addmm", "aten.bmm", "aten.baddbmm")
_PARTITION = re.compile(r"^ *def partition_\d+\(", re.MULTILINE)
_MOVES = (CPU, GPU)  # methods of a tensor or module that name a device


def add_fidelity(report: Report, device: Device, options: Mapping[str, Any]) -> Report:
    """The report with the table `fidelity`; `options` are those of Inductor."""
    rows = [
        *_timings(report),
        *_options(report, options),
        *_kernels(report, device),
        *_devices(report),
    ]
    return replace(report, tables={**report.tables, "fidelity": Table.of(Fidelity, rows)})


def _timings(report: Report) -> Iterator[Fidelity]:
    """Decisions that torch takes by timing."""
    counts = Counter(row.kernel for row in report.resources)
    several = sum(count > 1 for count in counts.values())
    if several:
        yield Fidelity(
            "configurations",
            f"{several} of {len(counts)} Triton kernels have several configurations: the device "
            "times them at the first call and keeps one. All are in the report.",
        )
    if len(report.autotune):
        yield Fidelity(
            "templates",
            "Templates were chosen by a model (see `autotune`); a device times them and may choose "
            "others.",
        )
    if any(op.startswith(_PRODUCTS) for kernel in report.kernels for op in kernel.ops):
        how = "chosen by a model" if has_known_question() else "left out"
        yield Fidelity(
            "padding",
            f"Padding of matrices was {how}: torch pads where a measurement on the device says "
            "that it pays.",
        )
    if any(kernel.name.startswith("triton_tem") for kernel in report.kernels):
        yield Fidelity(
            "epilogues",
            "Epilogues were fused into templates without measuring whether that pays.",
        )
    looped = any(kernel.name.startswith("triton_red") for kernel in report.kernels)
    if looped and not has_known_rule():
        yield Fidelity(
            "reductions",
            "A device may add a configuration of a looped reduction with half its block, where "
            "registers limit the occupancy.",
        )


def _options(report: Report, options: Mapping[str, Any]) -> Iterator[Fidelity]:
    """Options that act when the code first runs."""
    if options.get("triton.cudagraphs"):
        programs = [report.texts.get(wrapper.text or "", "") for wrapper in report.wrappers]
        parts = sum(len(_PARTITION.findall(program)) for program in programs)
        how = ", where torch can replace the whole program by one"
        if parts:
            how = (
                f", of {'the part' if parts == 1 else f'the {parts} parts'} that the program is "
                "cut into (partition_0 and so on); what lies outside of them starts as usual"
            )
        yield Fidelity("CUDA graphs", f"CUDA graphs are recorded when the code first runs{how}.")
    if options.get("coordinate_descent_tuning"):
        yield Fidelity(
            "coordinate descent", "Tuning by coordinate descent happens when a kernel first runs."
        )


def _kernels(report: Report, device: Device) -> Iterator[Fidelity]:
    """Choices that depend on libraries of the target."""
    ops = {op for kernel in report.kernels for op in kernel.ops}
    if any("cudnn_attention" in op for op in ops):
        yield Fidelity("attention", "Attention calls cuDNN, taken to be release 9.16 or later.")
    if any("attention" in op for op in ops) and (built := device.kind.attention):
        yield Fidelity("attention", f"Attention is taken to be built with {built} for this device.")


def _devices(report: Report) -> Iterator[Fidelity]:
    """Lines that name a device: they do the same on every target."""
    graphs = {graph.id for graph in report.graphs if graph.stage == "dynamo"}
    seen = set()
    for node in report.nodes:
        if node.graph not in graphs or node.op == "placeholder" or node.line is None:
            continue
        words = _named(node)
        place = (words, node.file, node.line)
        if words is not None and place not in seen:
            seen.add(place)
            yield Fidelity("device", words, node.file, node.line)


def _named(node: Node) -> str | None:
    if node.target in _MOVES and node.op == "call_method":
        return f".{node.target}() names a device: use the device of an input"
    if node.device is not None and node.device.startswith("cpu") and node.shape:
        return f"{node.name} is on the CPU, whatever the target: use the device of an input"
    return None
