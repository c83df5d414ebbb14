"""Numerics: where compiled code departs from eager, whether it matters, why, its cure and price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite, isnan
from pathlib import PurePath
from typing import Any

from workbench.analysis.cost.line_shares import list_line_ids
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.device_kinds import TARGETS
from workbench.number_text import number_text, plural
from workbench.report import Report
from workbench.report.report_header import OWN_KERNEL
from workbench.views.kit.block_wire import write_action
from workbench.views.kit.blocks import (
    Action,
    Block,
    Items,
    Own,
    Rows,
    Sentence,
    Table,
    write_frame_call,
)
from workbench.views.kit.live_actions import ActionView, ShownAction, choose_opportunity
from workbench.views.kit.proposed_changes import list_code_lines
from workbench.views.panes.pane import (
    Answer,
    Content,
    PageSection,
    Pane,
    ViewContext,
    can_be_called,
    missing,
)
from workbench.views.tables.column import Column
from workbench.views.tables.columns import KERNEL, spell_out_columns
from workbench.views.wire.advice_messages import ProposedChange, TrialQuestion
from workbench.views.wire.codec import convert_row
from workbench.views.wire.table_messages import INFINITE
from workbench.worlds.numerics.findings.causes import RANDOM
from workbench.worlds.numerics.findings.numerics_cures import (
    describe_effect,
    describe_price,
    find_cures,
    name_change,
    name_option,
)
from workbench.worlds.numerics.findings.numerics_record import Numerics, read_numerics
from workbench.worlds.numerics.rows import Deviation, NumericsCure
from workbench.worlds.numerics.views import messages as wire

_NOT_COMPARED = (
    "The values were not compared with eager's. `wb.numerics(compiled, args)` computes every part "
    "from its own inputs, as eager does and in float64. It finds differences, their causes, and "
    "whether they matter."
)

NO_TWIN = "A single kernel has no eager counterpart: compare its values with `k.check(reference)`."
_COMPARE = Action("numerics", "Compare with eager…", "wb.numerics(compiled, args)")
_EACH = (
    "each value computed from the same inputs as eager's nodes, so errors do not accumulate; "
    "worst cause first"
)


def document(report: Report, context: ViewContext) -> Content:
    """The sentence, the answers, the stages, and every deviation, the worst cause first."""
    numerics = read_numerics(report)
    if numerics is None:
        part = "numerics" if report.why_missing("numerics") else "runnable graphs"
        is_alone = report.request.kind == OWN_KERNEL
        why = NO_TWIN if is_alone else _NOT_COMPARED
        empty = missing(report, part, "Not compared with eager.", why)
        empty["action"] = write_action(_COMPARE)
        if can_be_called(report):
            empty["offer"] = "Compare…"
        return Content({"numerics": None, "deviations": []}, empty=empty)
    rows = numerics.sorted
    tried = {cure.option: cure for cure in numerics.tried}
    changes = numerics.opportunities
    lines = list_line_ids(report)
    deviations = [
        convert_row(
            wire.Deviation,
            row,
            id=f"deviation.{at}",
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
    ids = {id(row): f"deviation.{at}" for at, row in enumerate(rows)}
    worst, cure = numerics.questions.worst, numerics.questions.cure
    data: wire.NumericsFound = {
        "sentence": numerics.sentence,
        "answers": list(numerics.questions.answers),
        "first": None if worst is None else ids[id(worst)],
        "cure": None if cure is None else cure.id,
        "stages": [
            _bar(stage.stage, rows, ids) for stage in numerics.stages if stage.stage != "eager"
        ],
        "cures": [_propose(change, tried.get(name_option(change)), context) for change in changes],
    }
    return Content(
        {"numerics": data, "deviations": deviations},
        len(rows),
        is_problem=numerics.first is not None,
        blocks=[
            Sentence(numerics.sentence),
            Own("numerics"),
            Rows(
                "deviations",
                "Differing values",
                deviations,
                frame="numerics",
                note=_EACH,
                none="Every value is bitwise equal to eager's.",
            ),
        ],
        answer=_answer(numerics),
    )


def _answer(numerics: Numerics) -> Answer:
    """The verdict in three words; what was not compared is never called equal."""
    if numerics.unlike:
        return "other shapes than eager", "break"
    if numerics.first is not None:
        is_random = numerics.first.cause == RANDOM
        return ("random: not compared", "plain") if is_random else ("differs from eager", "break")
    if not numerics.compared:
        return None
    if numerics.not_compared:
        return "agrees where compared", "plain"
    return "agrees with eager", "captured"


def build_section(report: Report, shown: Mapping[str, Any]) -> PageSection | None:
    """What a page without scripts has of it; None where nothing was compared."""
    numerics: wire.NumericsFound | None = shown["numerics"]
    if numerics is None:
        return None
    rows: list[wire.Deviation] = shown["deviations"]
    call = write_frame_call("report", "numerics")
    table = build_table(rows, call, shown["omitted"].get("numerics", 0), is_minor=True)
    return str(len(rows)), list_numerics_blocks(numerics, table, "report"), True


def build_table(
    rows: Sequence[wire.Deviation], call: str, omitted: int = 0, *, is_minor: bool = False
) -> Table:
    """Every value that departs; `call` gives all of them."""
    title = "Values that differ from eager (eps)"
    columns = spell_out_columns("deviations", rows)
    return Table(title, columns, rows, call, omitted=omitted, is_minor=is_minor)


_STAGES = (
    Column("Stage", "stage"),
    Column("Off", "own_off", "eps"),
    Column("Eager off", "eager_off", "eps"),
    Column("Noise", "noise", "eps"),
    Column("", "said"),
)


def list_numerics_blocks(found: wire.NumericsFound, deviations: Table, owner: str) -> list[Block]:
    """The sentence, the questions, what each stage departs by itself, every value that does."""
    call = write_frame_call(owner, "numerics_stages" if owner else "stages")
    return [
        Sentence(found["sentence"]),
        Items(
            [answer for _, answer in found["answers"]], heads=[asks for asks, _ in found["answers"]]
        ),
        Table("Local error of each stage (eps)", _STAGES, found["stages"], call),
        deviations,
    ]


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
    call = f"wb.numerics({context.variable})"
    if context.is_record:
        request = report.request
        inputs = f"  # {', '.join(request.inputs)}" if request.inputs else ""
        grad = "" if request.grad else ", grad=False"
        target = "" if request.target in TARGETS else f", target={request.target!r}"
        compile_line = f"compiled = wb.aot_compile({request.name}, args{grad}{target}){inputs}"
        call = f"import workbench as wb\n\n{compile_line}\nwb.numerics(compiled, args)"
    if kernel.is_generated and kernel.language == "cpp":
        return f'{call}.repro("{kernel.id}", "{kernel.id}.py", node="{row.node}")'
    return f'{call}.subgraph("{kernel.id}", node="{row.node}")'


def _bar(stage: str, rows: list[Deviation], ids: Mapping[int, str]) -> wire.StageBar:
    """The value that departs most by itself, and how many do."""
    own = [row for row in rows if row.stage == stage]
    if not own:
        bare: dict[str, None] = dict.fromkeys(("own_off", "eager_off", "noise", "row"))
        return convert_row(
            wire.StageBar, None, stage=stage, said="no difference", words="no difference", **bare
        )
    most = max(own, key=lambda row: row.own_off or 0.0)
    value = f"{most.kernel} {most.node}" if most.kernel else most.node
    rest = f" and {len(own) - 1} more" if len(own) > 1 else ""
    off, eager, noise = (
        number_text(number, "difference") for number in (most.own_off, most.eager_off, most.noise)
    )
    return {
        "stage": stage,
        "own_off": _limit(most.own_off),
        "eager_off": _limit(most.eager_off),
        "noise": _limit(most.noise),
        "said": value + rest,
        "words": f"{plural(len(own), 'value')}, largest {value}: error {off} eps, eager {eager} "
        f"eps, noise floor {noise} eps",
        "row": ids[id(most)],
    }


def _limit(off: float | None) -> float | None:
    """A distance that JSON can hold."""
    if off is None or isnan(off):
        return None
    return off if isfinite(off) else INFINITE


COLUMNS: Mapping[str, Sequence[Column]] = {
    "deviations": (
        replace(KERNEL, width="52px"),
        Column("Value", "value", "code", "minmax(84px, 1.2fr)"),
        Column("Cause", "cause", width="minmax(140px, 1.6fr)", full="detail"),
        Column("Verdict", "verdict", width="minmax(100px, 0.9fr)", look="mut"),
        Column("Off", "own_off", "eps", "54px"),
        Column("Eager off", "eager_off", "eps", "70px"),
        Column("Noise", "noise", "eps", "56px"),
        Column("Differ", "differ", "share", "52px"),
        Column("Most units", "max_ulp", "count", "78px", is_wide=True),
        Column("Line", "place", width="minmax(104px, 0.8fr)", look="end", is_wide=True),
    ),
}


def find_cure(view: ActionView, question: TrialQuestion) -> tuple[Opportunity]:
    """The option that is asked for; raises `UsageError` for another."""
    numerics = read_numerics(view.report)
    cures = () if numerics is None else numerics.opportunities
    return (choose_opportunity(cures, question["opportunity"]),)


ACTIONS: Mapping[str, ShownAction] = {
    "numerics": ShownAction(
        "This view has no live program to compare. Run `wb.show` on the result of "
        "`wb.aot_compile` instead.",
        None,
        lambda view, question: (),
        task="comparison",
        title=lambda name, arguments: f"{name} with eager",
    ),
    "numerics-cure": ShownAction(
        "This view has no live function to try the option on. Run `wb.show` on the result of "
        "`wb.aot_compile` instead.",
        TrialQuestion,
        find_cure,
        task="trial",
        title=lambda name, arguments: f"{name} with {name_option(arguments[0])}",
    ),
}
PANE = Pane(
    "numerics", "Numerics", document, question="right", after="artifact", section=build_section
)
