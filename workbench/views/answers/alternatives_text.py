"""What could be done otherwise, blocks and words: opportunities, cures, the autotuner's choices."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from workbench.analysis.changes.tried_change import Verdict
from workbench.analysis.collectives.streams import StreamChange
from workbench.analysis.opportunities.opportunity import Cost, Opportunity, Tried
from workbench.analysis.opportunities.rehearsed_cures import Rehearsal, RehearsedCure
from workbench.analysis.opportunities.rules import RULES, list_left_out
from workbench.number_text import format_bytes, format_ms, number_text, plural
from workbench.report import Report
from workbench.report.paired import PairedTimes
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL
from workbench.report.rivals import Rivals
from workbench.views.kit.blocks import Code, Document, Sentence, Table, write_text
from workbench.views.kit.shown import Shown
from workbench.views.tables.column import Column
from workbench.views.wire.table_messages import Tone
from workbench.views.words.record_words import short

_WIDTH = 80
_MOST = 25  # lines of a rehearsal
TONES: Mapping[Verdict, Tone] = {
    "cures": "captured",
    "helps": "captured",
    "explicit": "plain",
    "no help": "plain",
    "refused": "break",
    "not checked": "fallback",
}
"""How a view shows the verdict on a change that was tried."""
_VERDICTS: Mapping[Verdict, str] = {
    "cures": "It helps.",
    "helps": "The fix helps, but a break remains.",
    "explicit": "The break remains, now explicit in the code.",
    "no help": "It does not help.",
    "refused": "Not offered.",
    "not checked": "Not checked.",
}


def describe_opportunities(report: Report, changes: Sequence[Opportunity]) -> str:
    """All of them, or one sentence where there are none."""
    where = f"{report.request.name or 'the compilation'} on {report.request.target}"
    if not changes:
        return nothing(where, report)
    head = f"{plural(len(changes), 'change')} in {where}, largest saving first"
    return "\n".join([head, *("\n".join(_lines(change)) for change in changes)])


def nothing(where: str, report: Report) -> str:
    """The sentence for none."""
    if report.request.kind == KERNEL_LOG:
        return f"No rule was applied to {where}: a kernel log does not have the whole call."
    if report.request.kind == OWN_KERNEL:
        return f"No rule was applied to {where}: the rules need a whole program."
    small = list_left_out(report)
    if small:
        return f"No changes proposed for {where}. {_join_sentences(small)}"
    return f"No changes found for {where}: none of the {len(RULES)} rules applies."


def _join_sentences(parts: Sequence[str]) -> str:
    texts = (part.strip().rstrip(".") for part in parts)
    return " ".join(f"{text[:1].upper()}{text[1:]}." for text in texts)


def describe_opportunity(change: Opportunity) -> str:
    """One of them."""
    return "\n".join(_lines(change))


def _lines(change: Opportunity) -> Iterator[str]:
    """The saving, the sentence, the line, the change."""
    yield f"{change.id}  {saving(change)} ({change.sure})  [{change.rule}]"
    yield from textwrap.wrap(change.text, _WIDTH, initial_indent="    ", subsequent_indent="    ")
    if change.file is not None:
        yield f"    {change.file}:{change.line or '?'}"
    for code in _list_code(change):
        yield from (f"    {line}" for line in (code.text or "").split("\n"))


def saving(change: Opportunity) -> str:
    """What it could save: a range of time, of bytes, kernels; unknown where nothing is known."""
    savings = _savings(change)
    return f"saves {', '.join(savings)}" if savings else "saving unknown"


def format_shortest_saving(change: Opportunity) -> str:
    """The first of these."""
    return next(iter(_savings(change)), "unknown")


def _savings(gain: Opportunity) -> list[str]:
    moved = _range(gain.saved_bytes_low, gain.saved_bytes_high, format_bytes)
    parts = [
        _range(gain.saved_us_low, gain.saved_us_high, _time),
        moved if gain.is_told_by_bytes else None,
        plural(gain.fewer_kernels, "kernel") if gain.fewer_kernels else None,
        f"{format_bytes(gain.saved_memory)} of memory" if gain.saved_memory else None,
    ]
    return [part for part in parts if part is not None]


def _time(us: float) -> str:
    return number_text(us / 1e6, "seconds")


def _range(low: float | None, high: float | None, write: Callable[[Any], str]) -> str | None:
    """`0 to 4 MB`; None where nothing is known, or nothing is saved."""
    if not high:
        return None
    if low is None or write(low) == write(high):
        return write(high)
    return f"{'0' if not low else write(low)} to {write(high)}"


def describe_stream_change(change: StreamChange) -> str:
    """A call with its collectives before and after by the model, and what its error allows."""
    before, after = change.before, change.after
    whole = f"{_time(before.whole_us)} → {_time(after.whole_us)} with collectives, modelled"
    waits = f"exposed communication {_time(before.exposed_us)} → {_time(after.exposed_us)}"
    sentence = f"{whole}; {waits}. {name_stream_verdict(change).capitalize()}"
    if change.least_us is None or change.most_us is None:
        return f"{sentence}: {change.why}."
    if change.is_alike:
        return f"{sentence}."
    ends = f"{_time(change.least_us)} to {_time(change.most_us)}"
    return f"{sentence}: saves {ends}, given the model's errors for kernels and links."


def name_stream_verdict(change: StreamChange) -> str:
    """Which is faster, that nothing changes, or that the model does not tell."""
    if change.is_alike:
        return "no difference"
    if change.is_sure:
        return "faster" if change.saved_us > 0 else "slower"
    return "too close to call" if change.least_us is not None else "error unknown"


def _title(tried: Tried) -> str:
    return f"{tried.opportunity.rule} tried: predicted {saving(tried.opportunity)}"


def _list_changes(tried: Tried) -> Iterator[tuple[str, str]]:
    """What is counted, modelled and timed, before and after."""
    before, after = tried.before, tried.after
    if before.breaks or after.breaks:
        yield "breaks", f"{before.breaks} → {after.breaks}"
    if before.kernels:
        yield "kernels", f"{before.kernels} → {after.kernels}"
        yield "bytes", f"{_bytes(before)} → {_bytes(after)}"
    if before.bound_us is not None and after.bound_us is not None:
        yield "bound", f"{_time(before.bound_us)} → {_time(after.bound_us)} (roofline)"
    if tried.times is not None:
        yield "call", tried.times.sentence
    if tried.streams is not None:
        yield "rank", describe_stream_change(tried.streams)


def _list_times(times: PairedTimes) -> Iterator[tuple[str, str]]:
    """The shortest and the median time of both sides."""
    for side, runs in (("before", times.before_us), ("after", times.after_us)):
        if runs:
            yield side, f"min {_time(min(runs))}, median {_time(median(runs))}"


def build_trial(tried: Tried) -> Document:
    """Predicted beside measured, what was compared, the change."""
    facts = [*_list_changes(tried), *(_list_times(tried.times) if tried.times is not None else ())]
    rows = [{"name": name, "value": value} for name, value in facts]
    return Document(
        _title(tried),
        [
            Table("", (Column("", "name"), Column("", "value")), rows, most=len(rows)),
            Sentence(tried.checked),
            *_list_code(tried.opportunity),
            Sentence(".diff compares both compilations", "muted"),
        ],
    )


def build_opportunity(change: Opportunity) -> Document:
    """The saving, the sentence, the line, the change."""
    place = [] if change.file is None else [f"{change.file}:{change.line or '?'}"]
    return Document(
        f"{change.id}: {saving(change)}",
        [
            Sentence(change.text),
            *(Sentence(where, "code") for where in place),
            *_list_code(change),
        ],
        facts=f"{change.sure}, {change.rule}",
    )


def _list_code(change: Opportunity) -> Iterator[Code]:
    lines = [f"- {line}" for line in change.before]
    sign = "+" if change.before else " "
    lines += [f"{sign} {line}" for line in change.after]
    if change.settings:
        lines.append(change.action)
    if lines:
        yield Code("\n".join(lines))


def format_saved(tried: Tried) -> str:
    """What was measured to be saved: time, else bytes; what got worse has a minus.

    A time that the pairs do not allow is the verdict in its place.
    """
    if tried.times is not None and not tried.times.is_sure:
        return tried.times.verdict
    if tried.times is None and tried.streams is not None and tried.saved_us is None:
        return name_stream_verdict(tried.streams)
    if tried.saved_us is not None:
        return _time(tried.saved_us)
    if tried.saved_bytes is not None:
        return format_bytes(tried.saved_bytes)
    return plural(tried.fewer_kernels, "kernel")


def format_prediction(change: Opportunity) -> str:
    """Where a predicted saving of time is from, as it stands after "predicted, "."""
    if change.predicted_us is None:
        return "not predicted"
    if "the measured share" in change.source:
        return "from measured times"
    if change.sure == "measured elsewhere":
        return "from another machine's times"
    return "modelled"


def _bytes(cost: Cost) -> str:
    return format_bytes(cost.bytes) if cost.bytes is not None else "unknown"


def describe_rehearsal(trial: Rehearsal) -> str:
    """The sentence, then every break with its cures; the rest is counted where it is too long."""
    lines = [*textwrap.wrap(summarize_rehearsal(trial), _WIDTH), *_breaks(trial)]
    if len(lines) > _MOST:
        rest = len(lines) - _MOST + 1
        lines[_MOST - 1 :] = [f'and {plural(rest, "line")} more; .frame("cures") has every fix']
    return "\n".join(lines)


def summarize_rehearsal(trial: Rehearsal) -> str:
    """How many graphs there are, and how many with the cures that help together."""
    if not trial.breaks:
        graphs = plural(trial.graphs_before, "graph")
        how = f"{trial.compiled[:1].upper()}{trial.compiled[1:]}"
        return f"{trial.name}: no graph breaks, {graphs}. {how}."
    now = f"{plural(trial.graphs_before, 'graph')} and {plural(len(trial.breaks), 'break')}"
    if not trial.chosen:
        return f"{trial.name}: {now}. No known fix helps."
    after = f"{plural(trial.graphs_after, 'graph')} and {plural(trial.breaks_after, 'break')}"
    return f"{trial.name}: {now}. With {', '.join(trial.chosen)}, {after}; same results."


def describe_cure(cure: RehearsedCure) -> str:
    """What became of one cure: whether it helps, what is left with it, what was compared."""
    words = _VERDICTS[cure.verdict]
    now = left(cure)
    if now and cure.verdict != "refused":
        before = f"{plural(cure.graphs_before, 'graph')}, {plural(cure.breaks_before, 'break')}"
        words += f" {before} before, now {now}."
    return f"{words} {cure.checked}"


def left(cure: RehearsedCure) -> str:
    """What is left with a cure."""
    if cure.graphs_after is None or cure.breaks_after is None:
        return ""
    return f"{plural(cure.graphs_after, 'graph')}, {plural(cure.breaks_after, 'break')}"


def _breaks(trial: Rehearsal) -> Iterator[str]:
    for item in trial.breaks:
        yield short(f"{item.file}:{item.line}  {item.text}", _WIDTH)
        cures = [cure for cure in trial.cures if cure.break_id == item.id]
        for cure in cures:
            why = cure.checked if cure.verdict in ("refused", "not checked") else cure.text
            head = f"  {cure.id:<4}{cure.kind:<9} {cure.verdict:<12}{left(cure):<20}"
            yield short(f"{head} {why}", _WIDTH)
        if advice := trial.advice.get(item.id):
            words = f"no known fix removes the break. {advice}"
            yield from textwrap.wrap(words, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def summarize_rivals(pair: Rivals) -> str:
    """Which choice was taken, and the time of the next beside it; a factor only of a model."""
    winner, second = pair.winner, pair.runner_up
    how = " by a cost model (not timed)" if pair.is_model else ""
    words = f"{pair.op}: {winner.choice} ({winner.kind}) takes {format_ms(winner.time_ms)}{how}"
    if second is None:
        return f"{words}; it was the only choice."
    if pair.is_model and pair.ratio:
        ratio = f"{number_text(pair.ratio, 'ratio')} as long"
        return f"{words}; the next, {second.choice} ({second.kind}), takes {ratio}."
    took = f"{format_ms(second.time_ms)}. Inductor's autotuner timed each choice once"
    return f"{words}; the next, {second.choice} ({second.kind}), takes {took}."


def list_codes(pair: Rivals) -> list[tuple[str, str]]:
    """Each choice with its code."""
    both = [(pair.winner, pair.winner_code), (pair.runner_up, pair.runner_up_code)]
    return [(row.choice, code or "(no code was kept)") for row, code in both if row is not None]


SHOWN = {
    "Opportunity": Shown(document=build_opportunity, text=describe_opportunity),
    "Tried": Shown(document=build_trial, text=lambda tried: write_text(build_trial(tried))),
}
