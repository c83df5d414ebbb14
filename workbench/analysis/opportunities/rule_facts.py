"""Look-ups in a report for the rules: kernels by buffer, nodes, lines, the time of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from workbench.analysis.forecast.forecast import KernelForecast, find_forecast, join_errors
from workbench.analysis.fusion.traffic import NodeFacts, count_moved_bytes, read_kernel_nodes
from workbench.artifacts.programs import read_forward_outputs
from workbench.number_text import number_text
from workbench.report import Buffer, Kernel, Report
from workbench.report.profile_record import read_measured_call

Use = tuple[Buffer, tuple[Kernel, ...], tuple[Kernel, ...]]
"""A buffer, the kernels that write it, those that only read it."""


class Facts:
    """One report with the look-ups of the rules, each done once."""

    def __init__(self, report: Report):
        self.report = report
        self.kernels = tuple(report.kernels)
        self._owner = {node: kernel for kernel in self.kernels for node in kernel.scheduler_nodes}
        for buffer in report.buffers:  # of several results: who takes one belongs to who made them
            makers = [self._owner[node] for node in buffer.written_by if node in self._owner]
            if buffer.shape is None and makers:
                self._owner.update((n, makers[0]) for n in buffer.read_by if n not in self._owner)
        self.left_out: list[str] = []
        self._texts = {source.id: report.texts.get(source.text or "") for source in report.sources}

    def leave_out(self, text: str) -> None:
        """Say what a rule found but does not propose, because it saves too little."""
        self.left_out.append(text)

    @cached_property
    def nodes(self) -> Mapping[str, NodeFacts]:
        """The FX nodes of the kernels, with their inputs."""
        return read_kernel_nodes(self.report)

    def nodes_of(self, kernel: Kernel) -> list[NodeFacts]:
        """The FX nodes of a kernel."""
        return [self.nodes[id] for id in kernel.nodes if id in self.nodes]

    @cached_property
    def buffers(self) -> tuple[Use, ...]:
        """Every buffer with the kernels that write it and those that read it."""
        rows = []
        for buffer in self.report.buffers:
            writers, readers = self._kernels(buffer.written_by), self._kernels(buffer.read_by)
            inside = {kernel.id for kernel in writers}
            rows.append((buffer, writers, tuple(k for k in readers if k.id not in inside)))
        return tuple(rows)

    def _kernels(self, nodes: Iterable[str]) -> tuple[Kernel, ...]:
        by_id = {k.id: k for node in nodes if (k := self._owner.get(node)) is not None}
        return tuple(by_id.values())

    @cached_property
    def _written(self) -> Mapping[str, list[Use]]:
        by_kernel: dict[str, list[Use]] = {}
        for use in self.buffers:
            for kernel in use[1]:
                by_kernel.setdefault(kernel.id, []).append(use)
        return by_kernel

    @cached_property
    def _read(self) -> Mapping[str, list[Use]]:
        by_kernel: dict[str, list[Use]] = {}
        for use in self.buffers:
            for kernel in use[2]:
                by_kernel.setdefault(kernel.id, []).append(use)
        return by_kernel

    def written(self, kernel: Kernel) -> list[tuple[Buffer, tuple[Kernel, ...]]]:
        """The buffers that a kernel writes, with their readers."""
        return [(buffer, readers) for buffer, _, readers in self._written.get(kernel.id, ())]

    def read(self, kernel: Kernel) -> list[tuple[Buffer, tuple[Kernel, ...]]]:
        """The buffers that a kernel reads, with their writers."""
        return [(buffer, writers) for buffer, writers, _ in self._read.get(kernel.id, ())]

    def between(self, kernel: Kernel) -> int:
        """Bytes that no longer move when a kernel is fused with its generated neighbours.

        A buffer that only the two use is no longer written or read; one that others need is still
        written.
        """
        saved = 0
        for buffer, readers in self.written(kernel):
            fused = [reader for reader in readers if reader.is_generated]
            stays = buffer.kind == "output" or len(fused) < len(readers)
            saved += (buffer.bytes or 0) * (len(fused) + (0 if stays or not fused else 1))
        for buffer, writers, users in self._read.get(kernel.id, ()):
            if len(writers) == 1 and writers[0].is_generated:
                alone = buffer.kind != "output" and len(users) == 1
                saved += (buffer.bytes or 0) * (2 if alone else 1)
        return saved

    def neighbours(self, kernel: Kernel) -> list[Kernel]:
        """The generated kernels that exchange buffers with a kernel."""
        uses = (*self.written(kernel), *self.read(kernel))
        by_id = {k.id: k for _, others in uses for k in others if k.is_generated}
        return list(by_id.values())

    @cached_property
    def has_backward(self) -> bool:
        """Whether it is a training step, whose forward also gives what the backward takes."""
        return any(kernel.is_backward for kernel in self.kernels)

    @cached_property
    def returned(self) -> frozenset[str]:
        """The names of what the forward of a training step returns and does not only keep."""
        outputs = read_forward_outputs(self.report, ())
        return frozenset(name for name, is_kept in outputs if not is_kept)

    @cached_property
    def gpu(self) -> str | None:
        """The GPU that the roofline is of; None where the code is for a CPU."""
        return next((row.target for row in self.report.roofline), None)

    @cached_property
    def bandwidth_gbs(self) -> float | None:
        """The bandwidth of that GPU's memory."""
        return next((row.bandwidth_gbs for row in self.report.roofline), None)

    def microseconds(self, moved: float, kernels: Iterable[Kernel]) -> float | None:
        """The time of so many bytes of these kernels: by measured times, a model or bandwidth.

        A modelled time is the longest within its error.
        """
        all_kernels = list(kernels)
        time_us = self._share(moved, [(kernel, kernel.time_us) for kernel in all_kernels])
        modelled = self._model(moved, all_kernels)
        return time_us if modelled is None else modelled[1]

    def least_microseconds(
        self, moved: float, kernels: Iterable[Kernel], *, stays: float = 0.0
    ) -> float | None:
        """The same by the minimum of the measured times, less a part that stays.

        A median includes other work on the machine, which no change saves. A modelled time is the
        shortest within its error, or that of the bytes at full bandwidth if it is not known.
        """
        all_kernels = list(kernels)
        modelled = self._model(moved, all_kernels)
        if modelled is not None:
            return modelled[0]
        times = [(kernel, self._least.get(kernel.id, kernel.time_us)) for kernel in all_kernels]
        time_us = self._share(moved, times)
        return (
            time_us * (1 - stays)
            if time_us is not None and self.is_measured(all_kernels)
            else time_us
        )

    @cached_property
    def _least(self) -> Mapping[str, float]:
        call = read_measured_call(self.report)
        return {} if call is None else call.least_us

    def _share(self, moved: float, times: list[tuple[Kernel, float | None]]) -> float | None:
        measured = [time for _, time in times if time is not None]
        total = sum(count_moved_bytes(kernel) or 0 for kernel, _ in times)
        if len(measured) == len(times) and total:
            return sum(measured) * min(1.0, moved / total)
        return None if self.bandwidth_gbs is None else moved / self.bandwidth_gbs / 1e3

    def _model(self, moved: float, kernels: list[Kernel]) -> tuple[float, float] | None:
        """The modelled share of these kernels, shortest and longest; None where one has none."""
        rows = self._find_modelled(kernels)
        total = sum(count_moved_bytes(kernel) or 0 for kernel in kernels)
        if not rows or not total or self.bandwidth_gbs is None:
            return None
        us = sum(row.us for row in rows) * min(1.0, moved / total)
        error = join_errors((row, 1.0) for row in rows)
        bound_us = moved / self.bandwidth_gbs / 1e3
        if error is None:
            return min(bound_us, us), us
        return us * (1 - error), us * (1 + error)

    def _find_modelled(self, kernels: Iterable[Kernel]) -> list[KernelForecast]:
        """The modelled times of kernels that were not measured, none where one has none."""
        forecast = find_forecast(self.report)
        rows = {} if forecast is None else {row.kernel: row for row in forecast.rows}
        own = [rows[kernel.id] for kernel in kernels if kernel.id in rows]
        return own if all(row.source == "modelled" for row in own) else []

    def is_measured(self, kernels: Iterable[Kernel]) -> bool:
        """Whether a profile timed all of these kernels."""
        return all(kernel.time_us is not None for kernel in kernels)

    def time_source(self, kernels: Iterable[Kernel]) -> str:
        """The source of `microseconds`, as a sentence that follows another."""
        if self.is_measured(kernels):
            return ". Time: the measured share of these kernels, from minimum to median"
        rows = self._find_modelled(kernels)
        if rows:
            error = join_errors((row, 1.0) for row in rows)
            how_far = (
                "error not measured" if error is None else f"± {number_text(error, 'percent')}"
            )
            return f". Time: the modelled share of these kernels on {self.gpu}, {how_far}"
        if self.bandwidth_gbs is None:
            return ". No time: the kernels were not measured"
        return f". Time: moving these bytes at the bandwidth of {self.gpu}"

    def place(self, nodes: Iterable[NodeFacts]) -> dict[str, Any]:
        """The fields of an opportunity that say where: the first of the nodes with a line."""
        for node in nodes:
            if node.file is not None and node.line is not None:
                id_and_text = self.line_at(node.file, node.line)
                if id_and_text is not None:
                    return {"line_id": id_and_text[0], "file": node.file, "line": node.line}
        return {}

    def line_at(self, file: str, line: int) -> tuple[str, str] | None:
        """The id and the text of a line; None where its text was not recorded."""
        for source in self.report.sources:
            text = self._texts[source.id]
            lines = [] if text is None else text.split("\n")
            if source.file == file and 0 <= line - source.first_line < len(lines):
                words = lines[line - source.first_line]
                return f"L:{source.id}:{line}", words
        return None

    def function_at(self, file: str, line: int) -> tuple[int, list[str]]:
        """The first line of the innermost function around a line, and its text as lines."""
        innermost: tuple[int, list[str]] = (line, [])
        for source in self.report.sources:
            lines = (self._texts[source.id] or "").split("\n")
            is_inside = source.file == file and 0 <= line - source.first_line < len(lines)
            if is_inside and source.first_line >= (innermost[0] if innermost[1] else 0):
                innermost = source.first_line, lines
        return innermost

    def fallbacks(self) -> Iterator[tuple[Kernel, list[NodeFacts]]]:
        """The eager operators that Inductor has no code for, with their nodes."""
        for kernel in self.kernels:
            if kernel.is_fallback:
                yield kernel, self.nodes_of(kernel)


def base(op: str) -> str:
    """`clone` of `aten.clone.default`."""
    parts = op.split(".")
    return parts[1] if len(parts) > 1 else op
