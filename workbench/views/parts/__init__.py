"""The parts that a view asks for by name, each built from a report when it is asked for."""

from __future__ import annotations

from functools import cached_property

from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.parts.code import Codes, bytecode_part, wrapper_part
from workbench.views.parts.graph import GraphParts, changes_part
from workbench.views.parts.stage import Stages, compare_part
from workbench.views.parts.table import table_part
from workbench.views.wire.document import Part

_FORMS = (
    "graph:ID, bytecode:ID, code:ID, script:ID, wrapper:ID, table:NAME, changes:ID:ID, "
    "asm:CONFIG:STAGE, compare:CONFIG:CONFIG:STAGE"
)


class Parts:
    """The parts of one report."""

    def __init__(self, report: Report):
        self._report = report

    @cached_property
    def _codes(self) -> Codes:
        return Codes(self._report)

    @cached_property
    def _graphs(self) -> GraphParts:
        return GraphParts(self._report)

    @cached_property
    def _stages(self) -> Stages:
        return Stages(self._report)

    def __call__(self, name: str) -> Part:
        """Build one part; raises `UsageError` when there is none of that name."""
        kind, _, rest = name.partition(":")
        match kind:
            case "graph":
                return self._graphs.part(rest)
            case "bytecode":
                return bytecode_part(self._report, rest)
            case "code":
                return self._codes.part(rest)
            case "script":
                return {"kind": "script", "id": rest, "text": self._report.kernel_script(rest)}
            case "wrapper":
                return wrapper_part(self._report, rest)
            case "table":
                return table_part(self._report, rest)
            case "changes":
                before, _, after = rest.partition(":")
                return changes_part(self._report, before, after)
            case "asm":
                return self._stages.part(rest)
            case "compare":
                return compare_part(self._stages, rest)
        raise UsageError(f"There is no part {name!r}. The parts are {_FORMS}.")


def report_part(report: Report, name: str) -> Part:
    """Build one part; raises `UsageError` when there is none of that name."""
    return Parts(report)(name)
