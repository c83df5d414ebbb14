"""What keeps a function from being one graph that is compiled once: breaks, recompilations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workbench.analysis.breaks.broken_statement import Cure
from workbench.analysis.breaks.cures import find_cures
from workbench.analysis.breaks.rewrites import rewrite_of
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts
from workbench.analysis.source.recompile_reasons import Reason, list_changes, read_reason
from workbench.report import Break

_NAME = re.compile(r"[\w.\[\]']+")  # what can be assigned to
_NO_NUMBER = "no estimate: the report does not contain the code that runs at the graph break"


def graph_breaks(facts: Facts) -> Iterator[Opportunity]:
    """Every graph break with a known rewrite or fix, or with torch's hint."""
    rewrites = [(item, rewrite_of(facts.report, item)) for item in facts.report.breaks]
    mended: dict[Cure, list[str]] = {}  # breaks that one rewrite fixes are one
    for item, rewrite in rewrites:
        if rewrite is not None:
            mended.setdefault(rewrite, []).append(item.kind)
    for item, rewrite in rewrites:
        if rewrite is not None:
            kinds = mended.pop(rewrite, None)
            if kinds is None:
                continue
            here = "; ".join(dict.fromkeys(kinds))
            yield _break(
                facts,
                item,
                kind="rewrite",
                text=f"{rewrite.title}: this removes a graph break ({here}). {rewrite.why}",
                sure="likely",
                before=rewrite.change.before,
                after=rewrite.change.after,
                line=rewrite.change.edits[0].line,
            )
            continue
        cure = next(find_cures(facts.report, item), None)
        if cure is not None or item.hints:
            what = item.hints[0] if cure is None else cure.text
            yield _break(
                facts,
                item,
                kind="break cure",
                text=f"Fix the graph break ({item.kind}): {what}",
                after=() if cure is None else tuple(cure.change.code.split("\n")),
                sure="possible",
                line=item.line,
            )


def _break(facts: Facts, item: Break, **more: object) -> Opportunity:
    line = facts.line_at(item.file, item.line)
    rule = "break-rewrite" if more["kind"] == "rewrite" else "break-cure"
    place = {"line_id": None if line is None else line[0], "file": item.file}
    return Opportunity(id="", rule=rule, source=_NO_NUMBER, **place, **more)  # type: ignore[arg-type]


def find_recompilations(facts: Facts) -> Iterator[Opportunity]:
    """Every cause of a recompilation, with the line that changes the value."""
    # a guard that several earlier variants have is one cause: their values are in order
    spent = {
        phase.compile_id: phase.duration_s for phase in facts.report.phases if phase.depth == 0
    }
    causes: dict[tuple[str, str, str], list[tuple[str, Reason]]] = {}
    nearest: dict[str, tuple[int, ...]] = {}
    for item in facts.report.recompiles:
        reason = read_reason(item.reason)
        key = (item.function, reason.kind, reason.source)
        causes.setdefault(key, []).append((item.compile_id, reason))
        last = nearest.setdefault(item.compile_id, _number(reason.against))
        nearest[item.compile_id] = max(last, _number(reason.against))
    for (function, _, source), rows in causes.items():
        # what told older variants apart may be cured: the one before was compiled with it
        if all(_number(reason.against) < nearest[id] for id, reason in rows):
            continue
        cure = _cure(function, [reason for _, reason in rows])
        if cure is None:
            continue
        took = sum(spent.get(id, 0.0) for id in dict.fromkeys(id for id, _ in rows))
        changed = _find_changed(facts, source)
        blamed = f" `{changed[2]}` changes it." if changed is not None else ""
        file, line = changed[:2] if changed is not None else (None, None)
        here = None if file is None or line is None else facts.line_at(file, line)
        yield Opportunity(
            id="",
            rule="recompiled",
            kind="recompile cause",
            text=f"{cure[0]} {function} was recompiled{f' in {took:.1f} s' if took else ''} "
            f"because {cure[1]}.{blamed}",
            sure="likely",
            source="measured: the time of that compilation, once per process"
            if took
            else "counted: one fewer compilation per process",
            file=file,
            line=line,
            line_id=None if here is None else here[0],
            after=(cure[2],),
        )


def _find_changed(facts: Facts, source: str) -> tuple[str, int, str] | None:
    """The one line of the traced functions, all of which ran, that changes what a guard reads."""
    changes = {
        (row.file, change.line + row.first_line - 1, change.code)
        for row in facts.report.sources
        if (text := facts.report.texts.get(row.text or "")) is not None
        for change in list_changes(text, {}, source)
    }
    return changes.pop() if len(changes) == 1 else None


def _cure(function: str, reasons: Sequence[Reason]) -> tuple[str, str, str] | None:
    """What to do, why the function was recompiled, and the code to write."""
    reason = next((candidate for candidate in reasons if candidate.dim is not None), reasons[0])
    name = reason.source
    if reason.dim is not None:
        return (
            "Compile with dynamic=True: one specialization then covers all sizes.",
            f"dimension {reason.dim} of {reason.tensor} had a different size",
            f"torch.compile({'model' if '.' in function else function}, dynamic=True)",
        )
    values = [entry.expected for entry in sorted(reasons, key=lambda entry: _number(entry.against))]
    is_number = reason.expected.lstrip("-").replace(".", "", 1).isdigit()
    if reason.kind == "value" and is_number and _NAME.fullmatch(name):
        before = f", after {' → '.join(dict.fromkeys(values))}"
        return (
            f"Pass {name} as a tensor: a tensor is a graph input, a number becomes a constant.",
            f"the number {name} had a different value{before}",
            f"{name} = torch.tensor({name})",
        )
    return None


def _number(against: str) -> tuple[int, ...]:
    """A variant such as `0/1` as numbers, in whose order it was compiled."""
    return tuple(int(part) for part in re.findall(r"\d+", against))
