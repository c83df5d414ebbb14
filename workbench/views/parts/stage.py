"""The part `asm:<config>:<stage>`: what one stage made of a kernel, tied to its source."""

from __future__ import annotations

from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.machine_rows import Assembly
from workbench.specs.opcodes import explanations
from workbench.views.wire.code import Opcode, StagePart
from workbench.views.words.places import text_of


class Stages:
    """The texts of all stages of a report; looks everything up once."""

    def __init__(self, report: Report):
        self._report = report
        self._rows = {f"{row.config}:{row.stage}": row for row in report.assembly}

    def part(self, name: str) -> StagePart:
        """Build the part of `k0:c0:sass`; raises `UsageError` when there is no such text."""
        row, text = self.text(name)
        return {
            "kind": "stage",
            "config": row.config,
            "stage": row.stage,
            "text": text,
            "lines": list(row.lines),
            "inlined": list(row.inlined),
            "ptx": list(row.ptx),
            "opcodes": _opcodes(row.stage, text),
        }

    def text(self, name: str) -> tuple[Assembly, str]:
        """A row and its text; raises `UsageError` when there is none."""
        row = self._rows.get(name)
        if row is None:
            raise UsageError(f"There is no code {name!r}; report.frame('assembly') lists it all.")
        text = text_of(self._report, row.text)
        if text is None:
            why = row.note or "it was not kept in the report"
            raise UsageError(f"There is no {row.stage.upper()} of {row.config}: {why}.")
        return row, text


def _opcodes(stage: str, text: str) -> dict[str, Opcode]:
    return {
        name: {"text": found.text, "parts": list(found.parts), "source": found.source}
        for name, found in explanations(stage, text).items()
    }
