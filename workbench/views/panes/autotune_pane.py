"""The autotuner: every choice that was timed, and the configurations that a model ranked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workbench.number_text import format_ms, plural
from workbench.report import AutotuneChoice, Report
from workbench.report.report_header import OWN_KERNEL
from workbench.report.rows import ESTIMATED_CHOICE
from workbench.views.kit.blocks import Block, Own, Rows, Sentence
from workbench.views.panes.pane import Content, Pane, ViewContext, missing, tell_cost
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row
from workbench.views.wire.gpu_messages import Ranked

_NOTHING = (
    "Inductor had no choices in this mode. "
    "`mode='max-autotune'` benchmarks templates against library calls."
)
_NOTHING_ON_A_GPU = (
    "Inductor had no choices in this mode. "
    '`compiled.rank_configs("k0")` compiles a kernel\'s configurations and ranks them by modelled '
    "time; `mode='max-autotune'` lets Inductor choose between templates and library calls."
)
_NO_CHOICE = (
    "Inductor had no choices in this mode either. Its templates cover GEMMs, convolutions and "
    "attention for certain sizes and dtypes."
)
_OF_YOUR_KERNEL = (
    "A hand-written kernel is not timed. `k.rank_configs()` ranks its autotuner's configurations "
    "(or given ones) by a model; `k.tune()` searches for others."
)
_NOT_TIMED = (
    "Nothing was timed: the choices are in the compiler's order. On a machine with the device, "
    "the pane shows measured times."
)
_SEEN = 8  # choices at once above those that a model ranked
_SIZE = re.compile(r"(\w+)\s*[=:]\s*(\d+)")
_OWN = ("num_warps", "num_stages", "warps", "stages")  # told beside the sizes of blocks


def document(report: Report, context: ViewContext) -> Content:
    """Timed choices and ranked ones, the best of each operation and of each kernel first."""
    ordered = _put_best_first(report)
    choices = [
        convert_row(
            wire.Choice,
            choice,
            state=_state(choice),
            tone="captured" if choice.chosen else "",
        )
        for choice in ordered
    ]
    count = len(report.autotune) + len(report.ranked_configs) or None
    text = _NOTHING_ON_A_GPU if len(report.resources) else _NOTHING
    if (report.request.mode or "").startswith("max-autotune"):
        text = _NO_CHOICE
    if report.request.kind == OWN_KERNEL:
        text = _OF_YOUR_KERNEL
    empty = missing(report, "autotune", "Nothing was timed.", text + tell_cost(report))
    ranked = _ranked(report)
    blocks = [
        *(_list_choices(ordered, choices, None if not ranked else _SEEN) if choices else ()),
        *([Own("ranked")] if ranked else []),
    ]
    data = {"choices": choices, "ranked": ranked}
    return Content(data, count, empty=None if count else empty, blocks=blocks)


def _list_choices(
    rows: Sequence[AutotuneChoice], choices: Sequence[wire.Choice], seen: int | None
) -> Iterator[Block]:
    """What was chosen in a sentence, every choice, and what those chosen take in all."""
    yield Sentence(summarize_choices(rows))
    if all(row.time_ms is None for row in rows):
        yield Sentence(_NOT_TIMED, "note")
    yield Rows(
        "choices",
        "Choices",
        choices,
        frame="autotune",
        label="Tuning choices",
        note="best first",
        seen=seen,
    )
    times = [row.time_ms for row in rows if row.chosen and row.time_ms is not None]
    if times:
        yield Sentence(f"Total of the chosen: {format_ms(sum(times))}", "strong")


def _put_best_first(report: Report) -> list[AutotuneChoice]:
    """The choices by operation, in their order; of each the fastest first, what failed last."""
    order = {op: at for at, op in enumerate(dict.fromkeys(row.op for row in report.autotune))}
    last = float("inf")
    return sorted(
        report.autotune,
        key=lambda row: (order[row.op], last if row.time_ms is None else row.time_ms),
    )


def summarize_choices(choices: Sequence[AutotuneChoice]) -> str:
    """What was chosen takes in all, and how much less that is than what came next."""
    by_op: dict[str, list[AutotuneChoice]] = {}
    for choice in choices:
        by_op.setdefault(choice.op, []).append(choice)
    if not by_op:
        return ""
    counted = f"{plural(len(choices), 'choice')} for {plural(len(by_op), 'operation')}"
    pairs = [pair for own in by_op.values() if (pair := _chosen_and_next(own)) is not None]
    if not pairs:
        return f"{counted}; nothing was timed here."
    total, others = sum(chosen_ms for chosen_ms, _ in pairs), sum(next_ms for _, next_ms in pairs)
    is_guess = any(row.note == ESTIMATED_CHOICE for row in choices)
    source = ", modelled; nothing was timed" if is_guess else ", timed by Inductor"
    text = f"{counted}: the chosen ones take {format_ms(total)} together"
    more = f"{format_ms(others - total)} less than the next best"
    return f"{text}, {more if others > total else 'as long as the next best'}{source}."


def _chosen_and_next(own: Sequence[AutotuneChoice]) -> tuple[float, float] | None:
    """The time of the choice and of the best of the others; None where one was not timed."""
    chosen = next((row.time_ms for row in own if row.chosen), None)
    rest = [row.time_ms for row in own if not row.chosen and row.time_ms is not None]
    return None if chosen is None or not rest else (chosen, min(rest))


def _state(choice: AutotuneChoice) -> str:
    if choice.chosen:
        return "chosen"
    return "failed" if choice.time_ms is None and choice.note else "alternative"


def _ranked(report: Report) -> list[Ranked]:
    """The configurations that a model ranked, the best of each kernel first."""
    rows = list(report.ranked_configs)
    order = {pair: at for at, pair in enumerate(dict.fromkeys((r.kernel, r.target) for r in rows))}
    last = len(rows) + 1
    places = sorted(
        range(len(rows)),
        key=lambda at: (order[rows[at].kernel, rows[at].target], rows[at].rank or last, at),
    )
    sizes = [
        {name: int(size) for name, size in _SIZE.findall(row.choice) if name not in _OWN}
        for row in rows
    ]
    return [convert_row(Ranked, rows[at], id=f"r{at}", sizes=sizes[at]) for at in places]


PANE = Pane("autotune", "Tuning", document)
