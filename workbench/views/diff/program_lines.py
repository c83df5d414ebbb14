"""The programs of two compilations line by line, with what each line costs in either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.analysis.cost.costs import Cost, list_costs
from workbench.analysis.cost.line_shares import LineShares
from workbench.analysis.diff.difference import Diff, compare_functions
from workbench.analysis.source.lines import callers, sort_by_calls
from workbench.number_text import format_bytes, format_us
from workbench.report import Report, Source
from workbench.views.wire.codec import convert_row
from workbench.views.wire.diff_messages import DiffLine, DiffProgram

_TITLE = "Program, line by line"
MOST_LINES = 2_000
"""Lines of both programs in a view."""
_WORDS = {
    "time": "measured time",
    "bound": "roofline time (model)",
    "bytes": "DRAM traffic (estimate)",
}


def compare_programs(diff: Diff) -> DiffProgram:
    """The user's functions of both, aligned, or why they are not compared.

    A function is compared with that of its name, else with the other one in the same place. The
    costs are of the best kind that both reports know, each an estimated share of its kernels.
    """
    own_a, own_b = _list_own(diff.a), _list_own(diff.b)
    bare = [name for name, own in zip(diff.names, (own_a, own_b), strict=True) if not own]
    if bare:
        return _refuse(f"no source lines in {' and '.join(bare)}")
    pairs = _pair_sources(own_a, own_b)
    cost_a, cost_b = _choose_costs(diff.a, diff.b)
    by_line = _spread(diff.a, cost_a), _spread(diff.b, cost_b)
    lines: list[DiffLine] = []
    costs: list[list[str]] = []
    for a, b in pairs:
        texts = (_read(diff.a, a), _read(diff.b, b))
        names = (a.name if a else "", b.name if b else "")
        found = compare_functions(names, *texts)
        for row in found.rows:
            before = None if a is None else _number(a, row.before_line)
            after = None if b is None else _number(b, row.after_line)
            if before is None and after is None:
                continue
            kind = "added" if before is None else "removed" if after is None else row.kind
            left, right = row.before, row.after
            lines.append(
                convert_row(
                    DiffLine,
                    row,
                    kind=kind,
                    left=before,
                    right=after,
                    before=None if before is None else left,
                    after=None if after is None else right,
                )
            )
            costs.append(
                [_write(cost_a, by_line[0], a, before), _write(cost_b, by_line[1], b, after)]
            )
    if len(lines) > MOST_LINES:
        return _refuse(f"they have {len(lines):,} lines, more than {MOST_LINES:,}")
    return {
        "title": _TITLE,
        "missing": "",
        "cost": "" if cost_a is None else _WORDS.get(cost_a.kind, cost_a.kind),
        "lines": lines,
        "costs": costs,
    }


def _refuse(reason: str) -> DiffProgram:
    missing = f"The programs are not compared: {reason}."
    return {"title": _TITLE, "missing": missing, "cost": "", "lines": [], "costs": []}


def _list_own(report: Report) -> list[Source]:
    """The functions of the user, callers first."""
    known = (s for s in sort_by_calls(report, callers(report)) if report.texts.get(s.text or ""))
    return [source for source in known if source.kind != "library"]


def _pair_sources(
    a: Sequence[Source], b: Sequence[Source]
) -> list[tuple[Source | None, Source | None]]:
    """Functions of one name first, what is left by its place among the others."""
    names: dict[str, list[Source]] = {}
    for source in b:
        names.setdefault(source.qualified or source.name, []).append(source)
    partners: dict[str, Source] = {}
    for source in a:
        if own := names.get(source.qualified or source.name):
            partners[source.id] = own.pop(0)
    taken = {source.id for source in partners.values()}
    rest = iter([source for source in b if source.id not in taken])
    pairs: list[tuple[Source | None, Source | None]] = [
        (source, partners.get(source.id) or next(rest, None)) for source in a
    ]
    return [*pairs, *((None, source) for source in rest)]


def _read(report: Report, source: Source | None) -> str:
    return "" if source is None else report.texts[source.text or ""].rstrip("\n")


def _number(source: Source, line: int | None) -> int | None:
    """The number in the file of a line of a function that is counted from 1."""
    return None if line is None else source.first_line + line - 1


def _choose_costs(a: Report, b: Report) -> tuple[Cost | None, Cost | None]:
    others = {cost.kind: cost for cost in list_costs(b)}
    for cost in list_costs(a):
        if cost.kind in others:
            return cost, others[cost.kind]
    return None, None


def _spread(report: Report, cost: Cost | None) -> Mapping[str, float]:
    return {} if cost is None else LineShares.of(report).spread(cost.by_kernel)


def _write(
    cost: Cost | None, by_line: Mapping[str, float], source: Source | None, line: int | None
) -> str:
    amount = None if source is None else by_line.get(f"L:{source.id}:{line}")
    if cost is None or not amount:
        return ""
    return format_bytes(amount) if cost.unit == "B" else format_us(amount)
