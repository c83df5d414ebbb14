"""The parts `asm:<config>:<stage>` and `compare:<config>:<config>:<stage>`: texts of stages."""

from __future__ import annotations

from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.machine_rows import Assembly
from workbench.report.side_by_side import compare
from workbench.specs.opcodes import explanations
from workbench.views.wire.codec import convert_row
from workbench.views.wire.gpu_messages import ComparePart, Opcode, StagePart
from workbench.views.words.record_words import text_of

_PIECES = 5  # two configurations of two words each, and the stage


class Stages:
    """The texts of all stages of a report; looks everything up once."""

    def __init__(self, report: Report):
        self._report = report
        self._rows = {f"{row.config}:{row.stage}": row for row in report.assembly}

    def part(self, name: str) -> StagePart:
        """Build the part of `k0:c0:sass`; raises `UsageError` when there is no such text."""
        row, text = self.text(name)
        by_opcode = explanations(row.stage, text).items()
        opcodes = {name: convert_row(Opcode, opcode) for name, opcode in by_opcode}
        return convert_row(StagePart, row, kind="stage", text=text, opcodes=opcodes)

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


def compare_part(stages: Stages, name: str) -> ComparePart:
    """Build the part of `k0:c0:k0:c1:sass`; raises `UsageError` when a text is not there."""
    *words, last = name.split(":")
    is_loose = last == "loose"
    words = words if is_loose else [*words, last]
    if len(words) != _PIECES:
        raise UsageError(
            f"There is no comparison {name!r}: name two configurations and a stage, such as "
            "compare:k0:c0:k0:c1:sass."
        )
    stage = words[4]
    before, a = stages.text(":".join((*words[:2], stage)))
    after, b = stages.text(":".join((*words[2:4], stage)))
    return {
        "kind": "compare",
        "before": before.config,
        "after": after.config,
        "stage": stage,
        "blocks": [
            (kind, left.start + 1, left.stop, right.start + 1, right.stop)
            for kind, left, right in compare(a, b, loose=is_loose)
        ],
    }
