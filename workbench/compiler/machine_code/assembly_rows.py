"""Makes the rows of the table `assembly` from what was read of a configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator

from workbench.compiler.machine_code.compiled_configs import CompiledConfig
from workbench.compiler.machine_code.reading_code import MachineCode
from workbench.compiler.machine_code.spans import helper_runs, ptx_runs, source_runs
from workbench.compiler.sources.sources import Places
from workbench.report import TextWriter
from workbench.report.machine_rows import Assembly

MOST_TEXT = 100_000_000
"""Characters of assembly that a report keeps; what comes later is named without its text."""


class AssemblyRows:
    """Rows whose texts go to `writer`, until there is too much of them."""

    def __init__(self, writer: TextWriter, places: Places):
        self._writer = writer
        self._places = places
        self._kept = 0

    def of(
        self, kernel: str, id: str, config: CompiledConfig, code: MachineCode
    ) -> Iterator[Assembly]:
        """A row for each stage of one configuration."""
        file = os.path.basename(config.file)
        offset = len(config.source) - len(config.source.lstrip("\n"))
        for stage, listing in code.listings.items():
            size = sum(map(len, listing.lines))
            if self._kept + size > MOST_TEXT:
                note = f"not kept: the report holds {MOST_TEXT // 10**6} MB of assembly already"
                yield Assembly(kernel, id, stage, None, note=note)
                continue
            self._kept += size
            yield Assembly(
                kernel,
                id,
                stage,
                self._writer.add(self._places.shared("\n".join(listing.lines))),
                lines=source_runs(listing, file, offset),
                inlined=tuple(
                    (first, last, self._places.shown(helper), line)
                    for first, last, helper, line in helper_runs(listing, file)
                ),
                ptx=ptx_runs(listing),
            )
        if code.missing is not None:
            yield Assembly(kernel, id, "sass", None, note=code.missing)
