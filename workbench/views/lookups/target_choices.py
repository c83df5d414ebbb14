"""The GPUs that a live view can be compiled for in place."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.device_kinds import CPU, GPU
from workbench.report import Report
from workbench.specs import Catalogue
from workbench.views.wire import gpu_messages as wire

_ASLEEP = (
    "This is a saved view: run the cell again, or type "
    "`wb.aot_compile(fn, args, target=NAME)`, to compile for another GPU."
)

ONLY_A_RECORD = (
    "Only the record is here, not the function: show what `wb.aot_compile` returned, or type "
    "`wb.aot_compile(fn, args, target=NAME)`."
)


def find_asleep(report: Report) -> wire.Targets:
    """What could be compiled for in place in a live session."""
    name = report.request.target
    return {"present": name, "choices": [{"name": name, "words": name}], "why_not": _ASLEEP}


def describe_targets(
    present: str, names: Iterable[str], why_not: str | None = None
) -> wire.Targets:
    """The targets of these names with a description of each."""
    gpus = {gpu.name: f"{gpu.title}, {gpu.arch}" for gpu in Catalogue.built_in()}
    words = {**gpus, **_HERE}
    choices: list[wire.TargetChoice] = [
        {"name": name, "words": words.get(name, name)} for name in dict.fromkeys([*names, present])
    ]
    return {"present": present, "choices": choices, "why_not": why_not}


_HERE = {
    "host": "this machine",
    CPU: "the CPU of this machine",
    GPU: "the GPU of this machine",
}
