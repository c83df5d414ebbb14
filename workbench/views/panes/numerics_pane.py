"""Numerics: where compiled code departs from eager, whether it matters, why, its cure and price."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, isnan
from pathlib import PurePath

from workbench.analysis.cost.line_shares import list_line_ids
from workbench.analysis.numerics.numerics_cures import (
    describe_effect,
    describe_price,
    find_cures,
    name_change,
    name_option,
)
from workbench.analysis.numerics.numerics_record import read_numerics
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.device_kinds import TARGETS
from workbench.number_text import number_text, plural
from workbench.report import Report
from workbench.report.numerics.numerics_rows import Deviation, NumericsCure
from workbench.views.block_wire import write_action
from workbench.views.blocks import Action, Own, Rows, Sentence
from workbench.views.panes.pane import Content, Pane, ViewContext, can_be_called, missing
from workbench.views.proposed_changes import list_code_lines
from workbench.views.wire import numerics_messages as wire
from workbench.views.wire.advice_messages import ProposedChange
from workbench.views.wire.codec import convert_row

_NOT_COMPARED = (
    "The numbers were not compared with eager's. `wb.numerics(compiled, args)` computes every part "
    "from its own inputs as eager does, and in float64: where it departs, why, and whether it "
    "matters."
)

_COMPARE = Action("numerics", "Compare with eager…", "wb.numerics(compiled, args)")
_EACH = "each from the same inputs as eager's nodes, nothing inherited; worst cause first"


def document(report: Report, context: ViewContext) -> Content:
    """The sentence, the answers, the stages, and every deviation, the worst cause first."""
    found = read_numerics(report)
    if found is None:
        empty = missing(report, "numerics", "Not compared with eager.", _NOT_COMPARED)
        empty["action"] = write_action(_COMPARE)
        if can_be_called(report):
            empty["offer"] = "Compare…"
        return Content({"numerics": None, "deviations": []}, empty=empty)
    rows = found.sorted
    tried = {cure.option: cure for cure in found.tried}
    changes = found.opportunities
    lines = list_line_ids(report)
    deviations = [
        convert_row(
            wire.Deviation,
            row,
            id=f"d{at}",
            node=f"{row.graph}:{row.node}",
            value=row.node,
            line=lines.get((row.file or "", row.line or 0)),
            place="" if row.file is None else f"{PurePath(row.file).name}:{row.line}",
            eager_off=_limit(row.eager_off),
            own_off=_limit(row.own_off),
            noise=_limit(row.noise),
            cone=[f"{row.graph}:{name}" for name in row.cone or (row.node,)],
            never_rounded=[f"{row.graph}:{name}" for name in row.never_rounded],
            cures=[cure.id for cure in find_cures(changes, row)],
            write=_write(row, report, context),
        )
        for at, row in enumerate(rows)
    ]
    ids = {id(row): f"d{at}" for at, row in enumerate(rows)}
    worst, cure = found.questions.worst, found.questions.cure
    data: wire.NumericsFound = {
        "sentence": found.sentence,
        "answers": list(found.questions.answers),
        "first": None if worst is None else ids[id(worst)],
        "cure": None if cure is None else cure.id,
        "stages": [
            _bar(stage.stage, rows, ids) for stage in found.stages if stage.stage != "eager"
        ],
        "cures": [_propose(each, tried.get(name_option(each)), context) for each in changes],
    }
    return Content(
        {"numerics": data, "deviations": deviations},
        len(rows),
        is_problem=found.first is not None,
        blocks=[
            Sentence(found.sentence),
            Own("numerics"),
            Rows(
                "deviations",
                "Deviations",
                deviations,
                frame="numerics",
                note=_EACH,
                none="Nothing departs: every value is eager's bit for bit.",
            ),
        ],
    )


def _propose(cure: Opportunity, tried: NumericsCure | None, context: ViewContext) -> ProposedChange:
    return {
        "id": cure.id,
        "title": name_change(cure),
        "why": cure.text,
        "lines": list_code_lines(cure.action),
        "code": cure.action,
        "ask": "numerics-cure",
        "question": {"opportunity": cure.id},
        "why_not": context.why_not["numerics-cure"],
        "outcome": None
        if tried is None
        else {
            "words": f"{describe_effect(tried)} {describe_price(tried)}",
            "tone": "captured" if tried.helps else "plain",
            "patch": "",
        },
    }


def _write(row: Deviation, report: Report, context: ViewContext) -> str:
    """What writes the kernel of a row alone; of one that cannot run here its nodes.

    Of what is alive it runs as it stands, on the inputs of the compilation.
    """
    kernel = next((kernel for kernel in report.kernels if kernel.id == row.kernel), None)
    if kernel is None:
        return ""
    known = f"wb.numerics({context.variable})"
    if context.is_record:
        request = report.request
        inputs = f"  # {', '.join(request.inputs)}" if request.inputs else ""
        grad = "" if request.grad else ", grad=False"
        target = "" if request.target in TARGETS else f", target={request.target!r}"
        made = f"compiled = wb.aot_compile({request.name}, args{grad}{target}){inputs}"
        known = f"import workbench as wb\n\n{made}\nwb.numerics(compiled, args)"
    if kernel.is_generated and kernel.language == "cpp":
        return f'{known}.repro("{kernel.id}", "{kernel.id}.py", node="{row.node}")'
    return f'{known}.subgraph("{kernel.id}", node="{row.node}")'


def _bar(stage: str, rows: list[Deviation], ids: Mapping[int, str]) -> wire.StageBar:
    """The value that departs most by itself, and how many do."""
    own = [row for row in rows if row.stage == stage]
    if not own:
        bare: dict[str, None] = dict.fromkeys(("own_off", "eager_off", "noise", "row"))
        return convert_row(
            wire.StageBar, None, stage=stage, said="none departs", words="none departs", **bare
        )
    most = max(own, key=lambda row: row.own_off or 0.0)
    value = f"{most.kernel} {most.node}" if most.kernel else most.node
    rest = f" and {len(own) - 1} more" if len(own) > 1 else ""
    off, eager, noise = (
        number_text(each, "difference") for each in (most.own_off, most.eager_off, most.noise)
    )
    return {
        "stage": stage,
        "own_off": _limit(most.own_off),
        "eager_off": _limit(most.eager_off),
        "noise": _limit(most.noise),
        "said": value + rest,
        "words": f"{plural(len(own), 'value')}, most {value}: off {off} eps, eager {eager} eps, "
        f"noise floor {noise} eps",
        "row": ids[id(most)],
    }


def _limit(off: float | None) -> float | None:
    """A distance that JSON can hold."""
    if off is None or isnan(off):
        return None
    return off if isfinite(off) else wire.INFINITE


PANE = Pane("numerics", "Numerics", document)
