"""The parts that a view asks for by name, each built from a report when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.parts.apart_part import build_apart_part
from workbench.views.parts.budgets_part import build_budgets_part
from workbench.views.parts.code_part import Codes, build_bytecode_part, build_wrapper_part
from workbench.views.parts.fusion_part import build_fusion_part, build_pairs_part
from workbench.views.parts.graph_part import GraphParts, build_changes_part
from workbench.views.parts.memory_part import build_memory_part
from workbench.views.parts.stage import Stages, compare_part
from workbench.views.parts.table_part import build_table_part
from workbench.views.wire.fusion_messages import FusionPart, PairsPart
from workbench.views.wire.report_messages import Part

DOORS = {
    "budgets_part": "The part `budgets:`: activation memory budgets of a training step.",
    "memory_part": "The part `memory:`: live bytes over the steps of a call.",
}
"""What other rooms import of this one."""

_FORMS = (
    "graph:ID, bytecode:ID, code:ID, script:ID, wrapper:ID, table:NAME, changes:ID:ID, "
    "asm:CONFIG:STAGE, compare:CONFIG:CONFIG:STAGE, memory:, budgets:, fusion:, pairs:, apart:ID|ID"
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
        build = self._builders.get(kind)
        if build is None:
            raise UsageError(f"There is no part {name!r}. The parts are {_FORMS}.")
        return build(rest)

    @cached_property
    def _builders(self) -> Mapping[str, Callable[[str], Part]]:
        """By kind what builds a part from the rest of its name."""
        report = self._report
        return {
            "graph": lambda rest: self._graphs.part(rest),
            "bytecode": lambda rest: build_bytecode_part(report, rest),
            "code": lambda rest: self._codes.part(rest),
            "script": lambda id: {"kind": "script", "id": id, "text": report.kernel_script(id)},
            "wrapper": lambda rest: build_wrapper_part(report, rest),
            "table": lambda rest: build_table_part(report, rest),
            "changes": lambda rest: build_changes_part(report, *rest.partition(":")[::2]),
            "asm": lambda rest: self._stages.part(rest),
            "compare": lambda rest: compare_part(self._stages, rest),
            "memory": lambda _: build_memory_part(report),
            "budgets": lambda _: build_budgets_part(report),
            "fusion": lambda _: build_fusion_part(report),
            "pairs": lambda _: build_pairs_part(report),
            "apart": lambda pair: build_apart_part(report, pair),
        }


def build_fused(report: Report) -> tuple[FusionPart, PairsPart]:
    """The parts of the Fusion pane, for where no script asks for them."""
    return build_fusion_part(report), build_pairs_part(report)


def report_part(report: Report, name: str) -> Part:
    """Build one part; raises `UsageError` when there is none of that name."""
    return Parts(report)(name)
