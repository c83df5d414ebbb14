"""What keeps a function from being one graph that is compiled once: breaks, recompilations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.analysis.breaks.rewrites import rewrite_of
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts
from workbench.analysis.source.recompile_reasons import read_reason
from workbench.report import Break, Recompile

_NAME = re.compile(r"[\w.\[\]']+")  # what can be assigned to
_NO_NUMBER = "nothing: what runs between the parts of a broken graph is not in the record"


def graph_breaks(facts: Facts) -> Iterator[Opportunity]:
    """Every graph break for which a rewrite or a cure is known."""
    for item in facts.report.breaks:
        rewrite = rewrite_of(facts.report, item)
        if rewrite is not None:
            yield _break(
                facts,
                item,
                kind="rewrite",
                text=f"{rewrite.title}: the graph breaks here ({item.kind}). {rewrite.why}",
                sure="likely",
                before=rewrite.before,
                after=rewrite.after,
                line=rewrite.first_line,
            )
        elif item.hints:
            yield _break(
                facts,
                item,
                kind="break cure",
                text=f"Mend the graph break ({item.kind}): {item.hints[0]}",
                sure="possible",
                line=item.line,
            )


def _break(facts: Facts, item: Break, **more: object) -> Opportunity:
    line = facts.line_at(item.file, item.line)
    rule = "break-rewrite" if more["kind"] == "rewrite" else "break-cure"
    place = {"line_id": None if line is None else line[0], "file": item.file}
    return Opportunity(id="", rule=rule, source=_NO_NUMBER, **place, **more)  # type: ignore[arg-type]


def find_recompilations(facts: Facts) -> Iterator[Opportunity]:
    """Every guard that had a function compiled again, with what would let one code serve."""
    spent = {
        phase.compile_id: phase.duration_s for phase in facts.report.phases if phase.depth == 0
    }
    for item in facts.report.recompiles:
        cure = _cure(item)
        if cure is None:
            continue
        text, code = cure
        took = spent.get(item.compile_id)
        words = f" That took {took:.1f} s." if took else ""
        yield Opportunity(
            id="",
            rule="recompiled",
            kind="recompile cause",
            text=f"{item.function} was compiled again: {text}{words}",
            sure="likely",
            source="measured: the time of that compilation, once a process"
            if took
            else "counted: one compilation less in each process",
            after=(code,),
        )


def _cure(item: Recompile) -> tuple[str, str] | None:
    reason = read_reason(item.reason)
    name = reason.source
    if reason.dim is not None:
        return (
            f"dimension {reason.dim} of {reason.tensor} had another size. Compiled with sizes that "
            "vary from the start, one code serves all of them.",
            f"torch.compile({item.function}, dynamic=True)",
        )
    is_number = reason.expected.lstrip("-").replace(".", "", 1).isdigit()
    if reason.kind == "value" and is_number and _NAME.fullmatch(name):
        return (
            f"the number {name} had another value, and is a constant of the code. As a tensor it "
            "is an input.",
            f"{name} = torch.tensor({name})",
        )
    return None
