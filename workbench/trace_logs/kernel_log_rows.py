"""From the events of kernels to the tables of a report: kernels, their code, their launches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.compiler.machine_code.code_readers import AssemblyRows, CompiledConfig, read_texts
from workbench.compiler.sources.sources import SourceTable
from workbench.report import TABLES, AutotuneChoice, Kernel, Link, Table, TextWriter
from workbench.report.machine_rows import CODE_STAGES, Assembly, Launch, Resources
from workbench.trace_logs.kernel_events import Called, Compilation, KernelLog, Tuned, number_in
from workbench.trace_logs.kernel_metadata import architecture, describe_constants, find_device
from workbench.trace_logs.source_places import LogPlaces

_NOT_OWN = re.compile(
    r"/triton/(?:runtime|compiler|backends|language|knobs|testing)\b|/(?:site|dist)-packages/|/torch/_"
    r"|/tritonparse/(?:structured_logging|context_manager)\.py$|/torchinductor_|^<frozen "
)
_NO_REGISTERS = "the log does not say how many registers it takes"
_MOST_WARPS = 64  # of a block, on any GPU


class KernelLogRows:
    """The rows of one log or of several; texts go to `texts`."""

    def __init__(self, log: KernelLog, places: LogPlaces):
        self.texts = TextWriter()
        self.assembly: list[Assembly] = []
        self.resources: list[Resources] = []
        self.launches: list[Launch] = []
        self.kernels: list[Kernel] = []
        self.links: list[Link] = []
        self._log, self._places = log, places
        self._is_mixed = len({architecture(o.metadata) for o in log.compilations.values()}) > 1
        self._groups = list(group_configurations(log))
        self._configs = {
            one.hash: (f"k{n}", f"k{n}:c{m}")
            for n, group in enumerate(self._groups)
            for m, one in enumerate(group)
        }
        for one in log.compilations.values():
            self._note(one.stack)
        for stack in log.stacks.values():
            self._note(stack)
        self.sources = SourceTable([places], self.texts)
        self._read_launches()
        self._read_kernels()

    def tables(self) -> Mapping[str, Table[Any]]:
        """Every table by name."""
        rows: dict[str, list[Any]] = {
            "sources": self.sources.rows,
            "kernels": self.kernels,
            "assembly": self.assembly,
            "resources": self.resources,
            "launches": self.launches,
            "autotune": [
                row for n, one in enumerate(self._log.tuned) for row in list_choices(n, one)
            ],
            "links": self.links,
        }
        return {name: Table.of(TABLES[name], part) for name, part in rows.items()}

    def _note(self, stack: Iterable[Called]) -> None:
        for frame, text in _own(stack):
            self._places.note(frame.file, frame.line, frame.function, text)

    def _lines(self, stack: Iterable[Called]) -> tuple[str, ...]:
        """The `L:` ids of the user's lines of a stack, the innermost first."""
        ids = (
            self.sources.line_id(self._places.shown(frame.file), frame.line)
            for frame, _ in reversed(list(_own(stack)))
        )
        return tuple(dict.fromkeys(id for id in ids if id is not None))

    def _read_launches(self) -> None:
        launched = {kind.hash for kind in self._log.launches}
        for kind, count in self._log.launches.items():
            lines = self._lines(self._log.stacks.get(kind, ()))[:1]
            self.launches.append(
                Launch(
                    *self._configs[kind.hash],
                    grid=kind.grid,
                    count=count,
                    arguments=kind.arguments,
                    stream=kind.stream,
                    is_timing=kind.is_timing,
                    lines=lines,
                )
            )
        for hash, count in self._log.counted.items():
            if hash in self._configs and hash not in launched:  # only the summary is in the log
                self.launches.append(Launch(*self._configs[hash], (), count))

    def _read_kernels(self) -> None:
        rows = AssemblyRows(self.texts, self._places)
        counts: dict[str, int] = {}
        lines: dict[str, list[str]] = {}
        for launch in self.launches:
            if not launch.is_timing:
                counts[launch.kernel] = counts.get(launch.kernel, 0) + launch.count
            lines.setdefault(launch.kernel, []).extend(launch.lines)
        for n, group in enumerate(self._groups):
            id, first = f"k{n}", len(self.resources)
            for one in group:
                self._read_config(one, rows)
            stack = self._lines(group[0].stack)
            own = tuple(dict.fromkeys(lines.get(id) or stack[:1]))
            kernel = self._kernel(id, group[0], self.resources[first])
            row = replace(kernel, calls=counts.get(id, 1), lines=own, called_from=stack[1:])
            self.kernels.append(row)
            self.links += [Link(line, id, "line-kernel") for line in own]

    def _kernel(self, id: str, one: Compilation, row: Resources) -> Kernel:
        source = one.source
        return Kernel(
            id=id,
            name=one.name,
            language="triton",
            graph="",
            text=None if source is None else self.texts.add(self._places.shared(source.text)),
            registers=row.registers,
            spills=row.spills,
            smem_bytes=row.smem_bytes,
            occupancy=row.occupancy,
            estimate=row.estimate,
        )

    def _on(self, one: Compilation) -> str:
        """What a configuration is for, where the logs hold code for several architectures."""
        return f" on {architecture(one.metadata) or 'another GPU'}" if self._is_mixed else ""

    def _read_config(self, one: Compilation, rows: AssemblyRows) -> None:
        kernel, id = self._configs[one.hash]
        warps = number_in(one.metadata, "num_warps") or 0
        config = CompiledConfig(
            kernel=one.name,
            file=one.source.file if one.source else "",
            source=one.source.text if one.source else "",
            choice=f"{describe_constants(one)}{self._on(one)}",
            warps=warps,
            stages=number_in(one.metadata, "num_stages") or 0,
            dynamic_shared=number_in(one.metadata, "shared") or 0,
            texts=one.texts,
            binary=b"",
            lines_before=one.source.first_line - 1 if one.source else 0,
        )
        is_possible = 0 < warps <= _MOST_WARPS
        device = find_device(architecture(one.metadata)) if is_possible else None
        code = read_texts(config, device)
        note = _NO_REGISTERS if code.resources.registers is None else code.resources.note
        made = [*rows.of(kernel, id, config, code)]
        made += [Assembly(kernel, id, stage, None, note=why) for stage, why in one.missing.items()]
        self.assembly += sorted(made, key=lambda row: CODE_STAGES.index(row.stage))
        self.resources.append(replace(code.resources, kernel=kernel, config=id, note=note))


def group_configurations(log: KernelLog) -> Iterator[list[Compilation]]:
    """The configurations of each kernel, that of one name and text, the most launched first."""
    groups: dict[tuple[str, str], list[Compilation]] = {}
    for one in log.compilations.values():
        groups.setdefault((one.name, one.source.text if one.source else ""), []).append(one)
    launched: Counter[str] = Counter()
    for kind, count in log.launches.items():
        launched[kind.hash] += 0 if kind.is_timing else count
    for group in groups.values():
        yield sorted(group, key=lambda one: -launched[one.hash])


def _own(stack: Iterable[Called]) -> Iterator[Called]:
    """The frames that are the user's, outermost first."""
    return (called for called in stack if not _NOT_OWN.search(called.frame.file))


def list_choices(number: int, tuned: Tuned) -> Iterator[AutotuneChoice]:
    """What the autotuner timed of one kernel, and what it took."""
    operation = f"{tuned.kernel} {tuned.key}".strip()
    for n, (config, time) in enumerate(tuned.times_ms):
        note = "no time is in the log" if time is None else None
        is_best = config == tuned.best
        yield AutotuneChoice(f"a{number}:{n}", operation, config, "triton", time, is_best, note)
