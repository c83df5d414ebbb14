"""The kernels of a profile with what their names and operators say of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.library_kernels.kernel_bounds import KernelBound, bound_kernel
from workbench.analysis.library_kernels.kernel_names import Kind, LibraryKernel, read_kernel_name
from workbench.analysis.library_kernels.operator_work import (
    OperatorCall,
    Work,
    estimate_work,
    read_operator_kind,
)
from workbench.specs import Gpu
from workbench.worlds.profiles.rows.profile_rows import DeviceEvent, RanKernel
from workbench.worlds.profiles.rows.run_profile import RunProfile


@dataclass(frozen=True)
class ProfiledKernel:
    """A row of the kernels, read; `gpu` is None where that is not known."""

    row: RanKernel
    gpu: Gpu | None

    @cached_property
    def read(self) -> LibraryKernel:
        """What its name says."""
        return read_kernel_name(self.row.name)

    @cached_property
    def call(self) -> OperatorCall:
        """The operator that launched it."""
        row = self.row
        return OperatorCall(row.operator, row.shapes, row.dtypes, row.strides, row.inputs)

    @cached_property
    def work(self) -> Work:
        """What one call computes and moves at least."""
        return estimate_work(self.call, self.read)

    @cached_property
    def bound(self) -> KernelBound | None:
        """The least time of one call."""
        return None if self.gpu is None else bound_kernel(self.read, self.work, self.gpu)

    @property
    def kind(self) -> Kind:
        """What it does, copies and fills of the driver as copies; of an operator by its name."""
        if self.row.kind == "operator":
            return read_operator_kind(self.row.operator)
        return self.read.kind if self.row.kind == "kernel" else "copy"

    @property
    def us(self) -> float:
        """µs of one call, the mean."""
        return self.row.time_us / max(1, self.row.calls)

    @property
    def is_compiled(self) -> bool:
        """Whether Inductor made it."""
        return bool(self.row.kernel_hash) or self.read.name.startswith("triton_")


def read_kernels(profile: RunProfile, gpu: Gpu | None) -> Sequence[ProfiledKernel]:
    """The kernels of a profile in the order of their table."""
    return [ProfiledKernel(row, gpu) for row in profile.tables["kernels"]]


Stream = tuple[int | None, int | None, int | None]
"""A rank, its device and a stream of that."""


def group_by_stream(events: Iterable[DeviceEvent]) -> dict[Stream, list[DeviceEvent]]:
    """The events of each stream in the order in which they began, the longer first."""
    streams: dict[Stream, list[DeviceEvent]] = {}
    for event in sorted(events, key=lambda each: (each.start_us, -each.duration_us)):
        streams.setdefault((event.rank, event.device, event.stream), []).append(event)
    return streams
