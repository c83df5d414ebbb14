"""The memory of a model in a package, with a measurement of it where it can be called."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.analysis.memory.memory import Memory, memory
from workbench.analysis.memory.timeline import is_on_cpu
from workbench.handles.memory.measured import WARM, MeasuredMemory, check_sizes

if TYPE_CHECKING:
    from workbench.handles.package import Package


def memory_of_package(package: Package, model: str | None) -> Memory:
    """The memory of one model, which can be measured where all of it is on the CPU."""
    found = memory(package.report if model is None else package.report_of(model))
    if not is_on_cpu(found.report):
        return found
    return replace(found, measurer=partial(_measure, package, model, found))


def _measure(
    package: Package, model: str | None, found: Memory, *args: Any, **kwargs: Any
) -> MeasuredMemory:
    from workbench.compiler.measuring.allocations import allocated

    check_sizes(found, args, kwargs)
    call = partial(package if model is None else package[model], *args, **kwargs)
    for _ in range(WARM):
        call()
    return MeasuredMemory(found.peak - found.base, allocated(call).peak, None)
