"""What the memory sees of a call: compiled with its layouts, run under watch, cures tried."""

from __future__ import annotations

import copy
import linecache
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler.internals.triton_functions import read_lines
from workbench.compiler.interpreter.verification import keep_warm_interpreter
from workbench.compiler.interpreter.watched.watched_call import AccessLog, Watch, Watched
from workbench.compiler.kernel_checks.kernel_checking import (
    RUNNING,
    TIME_LIMIT,
    refuse_time_limit,
)
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.kernels.kernel_variants import StandIn, Variant, list_variants
from workbench.compiler.memory_layouts.laid_tensors import LaidKernel, LaidTensor
from workbench.compiler.sectors.seen_accesses import (
    SeenAccess,
    WidenedAccess,
    describe_access,
    find_call,
    find_trouble,
    find_width,
    list_unseen,
    see_accesses,
)
from workbench.compiler.sources.sources import Places
from workbench.compiler.virtual_gpu.client import build_all, keep_warm_worker
from workbench.errors import CaptureError
from workbench.processes.shipping.caller_context import CallerContext
from workbench.report import Report, Table
from workbench.report.machine_rows import KernelLayout, MemoryAccess
from workbench.specs import Gpu
from workbench.tasks.progress_events import ProgressCallback, step, tell_count
from workbench.worlds.own_kernels.handles.compiling import make_build
from workbench.worlds.own_kernels.handles.kernel_report import KERNEL

_ALIGNED = 16  # what Triton asks of sizes and addresses
_LINE = 128  # bytes of a line of a cache
_GLUON = "Gluon kernels are compiled but not run here, so their addresses are unknown"
_META = "its tensors are on meta and have no values, so nothing was run"


def add_layouts(report: Report, call: KernelCall, gpu: Gpu) -> Report:
    """The record with the table `layouts`; nothing is run but the compiler.

    Raises `CaptureError` where the layouts cannot be read: Triton's compiler may end its process.
    """
    layouts = _Look(report, call, gpu).list_layouts()
    return replace(report, tables={**report.tables, "layouts": layouts})


def add_accesses(
    report: Report,
    call: KernelCall,
    gpu: Gpu,
    time_limit: float = TIME_LIMIT,
    progress: ProgressCallback | None = None,
) -> tuple[Report, bool]:
    """The record with the tables `accesses` and `layouts`, and whether the run came to its end.

    The run takes `time_limit` seconds at most. Raises as `add_layouts` does, and `UsageError` for a
    limit that is none.
    """
    refuse_time_limit(time_limit)
    looked = _Look(report, call, gpu)
    with step(progress, "layouts"):
        laid = looked.read_own()
    with step(progress, RUNNING):
        log, stopped = looked.watch(time_limit)
    with step(progress, "counting sectors"):
        if log is None:
            seen = list_unseen(laid, stopped)
        else:
            starts, sector = looked.find_starts(log), gpu.kind.sector_bytes
            seen = see_accesses(laid, log, starts, sector, stopped=stopped)
    rows: list[MemoryAccess] = []
    with step(progress, "trying fixes"):
        for each in seen:
            tell_count(progress, len(rows), len(seen), "row")
            rows.append(looked.describe(each, looked.cure(each)))
    tables: dict[str, Table[Any]] = {
        "accesses": Table.of(MemoryAccess, rows),
        "layouts": looked.list_layouts(),
    }
    return replace(report, tables={**report.tables, **tables}), not looked.is_late


@dataclass
class _Look:
    """One call in the configuration of its record."""

    report: Report
    call: KernelCall
    gpu: Gpu

    def __post_init__(self) -> None:
        own = self.report.resources[0].choice
        variants = list_variants(self.call, self.gpu.kind.build)
        self.variant = next((each for each in variants if each.choice == own), variants[0])
        self._places = Places()
        self.is_late = False  # the run was ended before it came to its end
        self._tried: dict[str, LaidKernel | str] = {}

    def read_own(self) -> LaidKernel:
        """What the code of the record says; raises `CaptureError` where it says nothing."""
        laid = self.read_laid(self.variant)
        if isinstance(laid, str):
            raise CaptureError(f"{self.call.name}: {laid}")
        return laid

    def read_laid(self, variant: Variant, tried: str = "") -> LaidKernel | str:
        """What the compiled code says of a variant, or why it says nothing."""
        if tried not in self._tried:
            made = make_build(self.call, self.gpu, variant, f"{KERNEL}:layouts{tried}")
            build = replace(made, with_code=False, with_layouts=True)
            built = build_all([build], keep_warm_worker())[build.id]
            if built.laid is None:
                self._tried[tried] = built.note or "Triton does not compile it."
            else:
                laid = built.laid.place_in(self.call.jit.fn.__code__.co_filename)
                self._tried[tried] = laid.note or laid
        return self._tried[tried]

    def watch(self, seconds: float) -> tuple[AccessLog | None, str]:
        """Every access of a run of the variant; why there is none, or why it ended early."""
        call = self.call
        if call.is_gluon or call.is_data_free:
            return None, _GLUON if call.is_gluon else _META
        here = {name: _copy(value) for name, value in call.arguments.items()}
        meta = {**self.variant.constants, **self.variant.options}
        hook = getattr(self.variant.config, "pre_hook", None)
        if hook is not None:
            hook({**here, **meta})
        grid = call.resolve_grid({**self.variant.constants, **self.variant.options})
        alone = KernelCall(call.jit, here, grid, dict(self.variant.constants))
        with alone.make_parcel() as folder:
            asked = Watch(folder, CallerContext.current(), seconds=seconds)
            try:
                found: Watched = keep_warm_interpreter().ask(asked, f"watch the kernel {call.name}")
            except CaptureError as error:
                return None, str(error).rstrip(".")
        self.is_late = found.stopped_kind == "time"
        known = found.stopped_place >= 0
        line = found.log.places[found.stopped_place].line if known else 0
        stopped = found.explain_stop(line) if found.stopped else ""
        if not found.log.is_whole and not stopped:
            stopped = f"the access log reached its limit of {found.log.nbytes / 1e6:.0f} MB"
        if found.log.accesses:
            return found.log, stopped
        return None, stopped or "the run accessed no memory"

    def find_starts(self, log: AccessLog) -> dict[str, int]:
        """How far behind a line of a cache each argument begins, as it does on the GPU."""
        offsets = {
            name: int(tensor.storage_offset()) * tensor.element_size()
            for name, tensor in self.call.tensors().items()
        }
        return {
            held.name: min(offsets.get(name, 0) for name in held.names) % _LINE
            for held in log.arguments
        }

    def cure(self, seen: SeenAccess) -> WidenedAccess | None:
        """What makes an access wider, as was seen when it was compiled again; None: nothing did."""
        if find_trouble(seen) not in ("narrow", "masked", "unaligned") or seen.tensor is None:
            return None
        changes = dict(_list_changes(self.variant.arguments))
        if not changes:
            return None
        for names in (tuple(changes), *((name,) for name in changes if len(changes) > 1)):
            chosen = {name: changes[name] for name in names}
            width = self._try(seen, chosen)
            if width is None or width <= (seen.width or 0):
                if len(names) == len(changes):
                    return None
                continue
            best = WidenedAccess(
                tuple((n, *_show(self.variant.arguments[n], chosen[n])) for n in names), width
            )
            if len(names) == 1:
                return best
            together = best
        return together

    def _try(self, seen: SeenAccess, chosen: Mapping[str, Any]) -> int | None:
        """The width of an access where some arguments are others."""
        variant = replace(self.variant, arguments={**self.variant.arguments, **chosen})
        laid = self.read_laid(variant, ":" + ",".join(chosen))
        tensor = seen.tensor
        if isinstance(laid, str) or tensor is None:
            return None
        same = (
            find_width(laid, each)
            for each in laid.tensors
            if (each.line, each.column, each.kind, each.shape)
            == (tensor.line, tensor.column, tensor.kind, tensor.shape)
        )
        return min((width for width in same if width is not None), default=None)

    def describe(self, seen: SeenAccess, cure: WidenedAccess | None) -> MemoryAccess:
        """The row of an access."""
        moved, tensor = seen.moved, seen.tensor
        counted: dict[str, Any] = {}
        if moved is not None:
            counted = {
                "instructions": moved.instructions,
                "sectors": moved.sectors / moved.instructions,
                "least_sectors": moved.least / moved.instructions,
                "used": moved.share,
                "used_l1": moved.share_l1,
                "sector_bytes": moved.sector,
                "lanes": moved.lanes,
            }
        return MemoryAccess(
            KERNEL,
            seen.place.line or None,
            self._read_line(seen.place.file, seen.place.line),
            seen.argument,
            seen.kind,
            seen.asked,
            layout=tensor.layout if tensor else "",
            vector_bytes=seen.width,
            hint=describe_access(seen, cure),
            reason=seen.reason,
            file=self._places.shown(seen.place.file),
            column=seen.place.column or None,
            shape=seen.shape,
            element_bytes=seen.size,
            programs=seen.programs,
            all_programs=seen.all_programs,
            bases=tensor.bases if tensor else (),
            **counted,
        )

    def list_layouts(self) -> Table[KernelLayout]:
        """The layouts of all tensors."""
        rows = [self.describe_layout(each) for each in self.read_own().tensors]
        return Table.of(KernelLayout, rows)

    def describe_layout(self, tensor: LaidTensor) -> KernelLayout:
        """The row of a tensor; an access stands where its call begins."""
        line = tensor.line
        if tensor.kind is not None:
            line = find_call(tensor.file, line, tensor.column, tensor.kind).line
        return KernelLayout(
            KERNEL,
            line or None,
            tensor.op,
            tensor.shape,
            tensor.layout,
            *tensor.counts,
            shared=tensor.shared,
            conflicts=tensor.conflicts,
            note=tensor.note,
            text=self._read_line(tensor.file, line),
            file=self._places.shown(tensor.file),
            bases=tensor.bases,
        )

    def _read_line(self, file: str, line: int) -> str:
        """A line of the kernel as it was when it was decorated, of another function as it is."""
        function = self.call.jit
        lines, first = read_lines(function)
        if file == function.fn.__code__.co_filename and first <= line < first + len(lines):
            return lines[line - first].strip()
        return linecache.getline(file, line).strip()


def _list_changes(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments that Triton cannot take for divisible by 16, each as one that is."""
    for name, value in arguments.items():
        if type(value) is int and value > 1 and value % _ALIGNED:
            yield name, -(-value // _ALIGNED) * _ALIGNED
        elif isinstance(value, StandIn) and value.address % _ALIGNED:
            yield name, replace(value, address=0)


def _show(value: Any, other: Any) -> tuple[int | None, int | None]:
    return (value, other) if type(value) is int else (None, None)


def _copy(value: Any) -> Any:
    """A copy on the CPU that the hook of a configuration may change."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone()
    if hasattr(value, "block_shape"):
        made = copy.copy(value)
        made.block_shape = list(value.block_shape)
        return made
    return value
