"""The sentence that matters for a record: the figure, where it goes, what would help."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType

from workbench.analysis.breaks.cures import advise, find_cause
from workbench.analysis.calls.call_tree import CostRow, list_call_rows, list_module_rows
from workbench.analysis.collectives.streams import Streams, find_streams
from workbench.analysis.cost.costs import Cost, CostKind, list_costs
from workbench.analysis.forecast.forecast import Forecast, find_forecast
from workbench.analysis.gpu_model.launches import LaunchCosts, launches, tell_kernels_of
from workbench.analysis.kernel_checks.kernel_check import read_check
from workbench.analysis.memory.memory import count_quick_memory
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rules import opportunities
from workbench.compiler.sources.dynamo_messages import DATA_DECISION, DATA_NUMBER
from workbench.errors import UsageError
from workbench.number_text import (
    format_bytes,
    format_percent,
    format_seconds,
    format_us,
    plural,
)
from workbench.report import Break, Report
from workbench.report.collectives.collective_rows import has_fake_collectives, is_unplaced
from workbench.report.measures import measure_compile_seconds
from workbench.report.paired import PairedTimes
from workbench.report.profile_record import MeasuredCall, read_measured_call
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL
from workbench.report.rows import split_line
from workbench.report.texts import find_text
from workbench.views.wire import report_messages as wire
from workbench.views.wire.overview_messages import Piece
from workbench.views.words.progress_words import find_longest_work
from workbench.views.words.record_words import count_captured, describe_absent_parts, short

_INSIDE: Mapping[CostKind, str] = {  # what a part is a part of where it is not the call
    "time": "the kernels' time",
    "bound": "the kernels' bound",
    "bytes": "the bytes moved",
    "memory": "the peak",
}
_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_REFUSED = re.compile(r"torch cannot compile .+?\. During tracing, (?P<what>.+)")
_UNDECIDED = "data-dependent expression"
LIMIT = 24
"""Letters of an answer in a tab."""
_WORST = 0.01  # of the whole: smaller savings are not worth a headline

Measured = Mapping[str, PairedTimes | None]
NOTHING_TRIED: Measured = MappingProxyType({})


def answer(report: Report, tried: Measured = NOTHING_TRIED) -> wire.Answered:
    """The sentence with the chips below it, and where its figure is from.

    `tried` has the pairs of changes that were tried, by their keys; None where nothing was timed,
    or the outputs differ.
    """
    call = read_measured_call(report)
    source = ""
    if call is not None:
        spread = format_us(call.call_spread_us)
        source = f"median of {plural(call.repeats, 'call')}, interquartile range {spread}"
    sentence, chips = list(_sentence(report, tried)), list(_chips(report))
    return {"sentence": sentence, "chips": chips, "source": source}


def answer_in_brief(report: Report, changes: int) -> tuple[str, wire.Tone] | None:
    """How long a call takes, and how many changes are proposed, for the tab; None if unknown."""
    if not report.outcome.ok:
        tone: wire.Tone = "plain" if report.outcome.is_cancelled else "break"
        return report.outcome.verb, tone
    call, cost = read_measured_call(report), next(iter(list_costs(report)), None)
    if call is not None:
        words = f"{'' if call.quiet else 'about '}{format_us(call.call_us)}"
    elif cost is None or cost.kind == "memory":
        return None
    elif cost.kind == "time":
        words = f"{format_us(cost.total)} in kernels"
    elif cost.kind == "bytes":
        words = f"{format_bytes(cost.total)} moved"
    else:
        modelled = _find_modelled(report)
        bound = f"≥ {format_us(cost.total)}"
        words = bound if modelled is None else f"about {format_us(modelled.call_us)}"
    both = f"{words}, {plural(changes, 'change')}"
    return both if changes and len(both) <= LIMIT else words, "plain"


def answer_text(report: Report) -> str:
    """The sentence as plain text."""
    return "".join(piece["text"] for piece in _sentence(report))


def _sentence(report: Report, tried: Measured = NOTHING_TRIED) -> Iterator[Piece]:
    if not report.outcome.ok:
        yield from _failure(report)
        return
    if report.request.again:
        yield from _recompiled(report)
    if len(report.breaks):
        yield from _breaks(report)
    elif report.request.kind == KERNEL_LOG:
        yield from _kernel_log(report)
        return
    elif report.request.kind == "trace":
        graphs, ops = count_captured(report)
        yield plain("A trace log of ")
        yield figure(f"{plural(graphs, 'graph')}, {plural(ops, 'op')}")
        yield plain("; the log has no run times. ")
    cost = next(iter(list_costs(report)), None)
    if report.request.kind == OWN_KERNEL and cost is None:
        yield from _own_kernel(report)
    elif cost is not None:
        yield from _cost(report, cost)
        yield from _measured_changes(tried)
        yield from _changes(report, cost, tried)
    elif not len(report.breaks):
        yield from _no_cost(report)


def _kernel_log(report: Report) -> Iterator[Piece]:
    """What a log of kernels holds; launches that only timed a configuration do not count."""
    count = sum(launch.count for launch in report.launches if not launch.is_timing)
    configurations = plural(len(report.resources), "configuration")
    yield figure(plural(len(report.kernels), "Triton kernel"))
    yield plain(f" in {configurations} for {report.request.target}")
    if count:
        yield plain(", launched ")
        yield figure(plural(count, "time"))
    yield plain("; the log has no launch times. ")


def _own_kernel(report: Report) -> Iterator[Piece]:
    """What a kernel takes of its GPU, until a run has counted what it moves."""
    if not len(report.kernels):
        yield figure(report.request.name)
        check = read_check(report)
        sentence = "" if check is None else f"{check.sentence} "
        yield plain(f", not compiled for {report.request.target}. {sentence}")
        return
    resources, row = report.resources[0], report.kernels[0]
    yield figure(row.name)
    yield plain(f" for {report.request.target}: ")
    if resources.registers is not None:
        yield figure(plural(resources.registers, "register"))
        spills = "no spills" if not resources.spills else plural(resources.spills, "spill")
        yield plain(f" per thread, {spills}, ")
    yield plain(f"{format_bytes(resources.smem_bytes or 0)} of shared memory")
    if resources.occupancy is not None:
        limit = f", limited by {resources.limiter}" if resources.limiter else ""
        yield plain(f", occupancy {format_percent(resources.occupancy, 1.0)}{limit}")
    yield plain(". k.check(…) runs it and counts its memory traffic.")


def _failure(report: Report) -> Iterator[Piece]:
    """Where the user's code failed, why, and what to do; then what torch calls it."""
    outcome = report.outcome
    yield figure(f"{outcome.verb.capitalize()}{outcome.place}")
    first = next(iter((outcome.error or "").strip().splitlines()), "").rstrip(".")
    is_capture = not outcome.is_cancelled and outcome.step in (None, "compile", "capture")
    ended = [row for row in report.breaks if _has_ended(row, first)] if is_capture else []
    if ended:
        item = ended[-1]
        yield from _where(report, item.file, item.line, item.text)
        yield plain(f": {find_cause(item)}. ")
        yield from _to_do(advise(item, report).words)
        yield plain(f"Torch's words: {_without_stop(item.kind if item.gb_id else first)}.")
    elif is_capture and outcome.line:
        id = _find_line(report, outcome.file, outcome.line)
        yield from _where(report, outcome.file, outcome.line, read_line(report, id or ""))
        yield plain(f": {read_refusal(first) or first}. ")
        yield plain("If the call fails in eager too, fix that first.")
    elif is_capture and _UNDECIDED in first:
        yield plain(": a decision depends on the values of a tensor. ")
        yield from _to_do("compute both sides and choose with torch.where")
        yield plain(f"The message from torch: {first}.")
    else:
        yield plain(f": {first}." if first else ".")


def read_refusal(error: str) -> str | None:
    """The error of the program itself, in that of a capture which it ended."""
    refused = _REFUSED.fullmatch(error)
    return refused["what"] if refused else None


def _has_ended(row: Break, error: str) -> bool:
    """Whether a compilation failed at a break, by what torch raised."""
    is_data = row.kind in (DATA_DECISION, DATA_NUMBER) and _UNDECIDED in error
    return is_data or error.startswith(row.kind)


def _where(report: Report, file: str, line: int, text: str) -> Iterator[Piece]:
    """` at line 6, if y.sum() > 0`, which leads to the line."""
    yield plain(" at ")
    yield plain(f"line {line}", _find_line(report, file, line))
    if text.strip():
        yield plain(", ")
        yield code(text.strip())


def _find_line(report: Report, file: str, line: int) -> str | None:
    for source in report.sources:
        count = (find_text(report.texts, source.text) or "").count("\n") + 1
        if source.file == file and source.first_line <= line < source.first_line + count:
            return f"L:{source.id}:{line}"
    return None


def _to_do(words: str) -> Iterator[Piece]:
    """Advice as a sentence, its code as code."""
    for at, part in enumerate(f"{words[:1].upper()}{words[1:].rstrip('.')}. ".split("`")):
        if part:
            yield code(part) if at % 2 else plain(part)


def _without_stop(text: str) -> str:
    return text.rstrip(". ")


def _recompiled(report: Report) -> Iterator[Piece]:
    """Why a session compiled it once more; the line leads to its place where it was captured."""
    text = report.request.again
    blamed = re.search(r" \((.+):(\d+)\)\.$", text)
    line = int(blamed[2]) if blamed else 0
    for source in report.sources:
        count = (find_text(report.texts, source.text) or "").count("\n") + 1
        is_there = source.first_line <= line < source.first_line + count
        if blamed and is_there and PurePath(source.file).name == blamed[1]:
            text = text[: blamed.start()]
            break
    for at, words in enumerate(text.split("`")):
        yield code(words) if at % 2 else plain(words)
    if blamed and text != report.request.again:
        yield plain(", ")
        yield plain(f"line {line}", f"L:{source.id}:{line}")
        yield plain(".")
    yield plain(" ")


def _breaks(report: Report) -> Iterator[Piece]:
    """How many there are, with the one that was met most."""
    worst = max(report.breaks, key=lambda item: item.count)
    files = {source.file: source for source in report.sources}
    source = files.get(worst.file)
    yield figure(plural(len(report.breaks), "graph break"))
    graphs, _ = count_captured(report)
    frames = {graph.compile_id for graph in report.graphs if graph.stage == "dynamo"}
    parts = len({(frame or "").rpartition("/")[0] for frame in frames})
    if parts > 1 and not worst.gives_up:
        split = "splits" if len(report.breaks) == 1 else "split"
        again = f", compiled as {graphs} graphs" if graphs > parts else ""
        yield plain(f" {split} the call into {plural(parts, 'graph' if not again else 'piece')}")
        yield plain(again)
    yield plain(": " if len(report.breaks) == 1 else ", above all ")
    line = None if source is None else f"L:{source.id}:{worst.line}"
    yield plain(f"line {worst.line}", line)
    yield plain(", ")
    yield code(worst.text.strip())
    yield plain(". ")
    if worst.gives_up:
        yield plain("It is in a loop, so ")
        yield code(worst.function)
        yield plain(" falls back to eager")
        are = "is" if graphs == 1 else "are"
        callees = f"; {plural(graphs, 'graph')} of its callees {are} compiled. "
        yield plain(callees if graphs else ". ")


def _collectives(report: Report, *, is_measured: bool) -> Iterator[Piece]:
    """What no figure here holds: the network, unless a call with it was measured."""
    if not _excludes_collectives(report, is_measured=is_measured):
        return
    streams = _find_placed_streams(report)
    yield plain(f"Excludes {plural(len(report.collectives), 'collective')}")
    if streams is not None:
        yield plain("; with them ")
        yield figure(format_us(streams.whole_us))
        yield plain(f", {format_us(streams.exposed_us)} of it exposed (modelled)")
    yield plain(". ")


def _excludes_collectives(report: Report, *, is_measured: bool) -> bool:
    """Whether the figure of the call leaves the network out."""
    if not len(report.collectives) or (is_measured and not has_fake_collectives(report)):
        return False
    return is_measured or not _has_waits(report)


def _find_placed_streams(report: Report) -> Streams | None:
    """The rank's call with its collectives; None where hooks start some at unknown places."""
    return None if any(map(is_unplaced, report.collectives)) else find_streams(report)


def _cost(report: Report, cost: Cost) -> Iterator[Piece]:
    call = read_measured_call(report)
    has_backward = any(report.kernels.columns.get("is_backward", ()))
    both = ", forward and backward" if has_backward else ""
    if call is not None:
        yield from _measured(cost, call, both)
        yield from _collectives(report, is_measured=True)
        is_inside = call.quiet and cost.kind == "time" and cost.total <= call.call_us
        whole = call.call_us if is_inside else cost.total
        of = "it" if is_inside else _INSIDE[cost.kind]
        if cost.kind == "time" and not is_inside:  # the sum is another figure than that of the call
            of = f"the kernels' {format_us(cost.total)}"
        yield from list_whereabouts(report, list_call_rows(report), cost.kind, whole, of)
        return
    kernels = plural(len(report.kernels), "kernel")
    is_whole = len(cost.by_kernel) == len(report.kernels)
    counted = kernels if is_whole else f"{len(cost.by_kernel)} of {kernels}"
    if cost.kind == "time":
        yield figure(format_us(cost.total))
        yield plain(f" in {counted}{both}; the call itself was not measured. ")
    elif cost.kind == "bound":
        modelled = list(_forecast(report, both))
        yield from modelled
        yield figure(f"≥ {format_us(cost.total)}")
        yield plain(" of work")
        yield from _launches(report)
        yield from _waits(report)
        yield plain(". " if modelled else f" (model): {tell_kernels_of(report)}{both}. ")
    else:
        yield figure(format_bytes(cost.total))
        yield plain(f" moved by {counted}{both} (estimate); nothing was timed. ")
    yield from _collectives(report, is_measured=cost.kind == "time")
    of = "the work" if cost.kind == "bound" else "it"
    yield from list_whereabouts(report, list_call_rows(report), cost.kind, cost.total, of)


def _measured(cost: Cost, call: MeasuredCall, both: str) -> Iterator[Piece]:
    if call.quiet:
        yield figure(format_us(call.call_us))
        yield plain(f" a call{both}. ")
        return
    yield plain("About ")
    yield figure(format_us(call.call_us))
    yield plain(f" a call{both}; the measurement is noisy. ")


def _forecast(report: Report, both: str) -> Iterator[Piece]:
    """The call by the calibrated model, where that knows its kernels."""
    forecast = _find_modelled(report)
    if forecast is None:
        return
    between = f"{format_us(forecast.least_us)} to {format_us(forecast.most_us)}"
    yield figure(format_us(forecast.call_us))
    yield plain(f" a call{both}, modelled ({between if forecast.most_us else forecast.how_far}); ")


def _find_modelled(report: Report) -> Forecast | None:
    """The model's time of a call, where that is more than the bounds of its kernels."""
    forecast = find_forecast(report)
    is_bound = forecast is not None and any(row.source == "bound" for row in forecast.rows)
    return None if is_bound else forecast


def _launches(report: Report) -> Iterator[Piece]:
    """What starting the kernels takes, by the model."""
    model = _model_launches(report)
    if model is not None:
        yield plain(", ")
        yield figure(format_us(model[0]))
        yield plain(" of launches")


def _has_waits(report: Report) -> bool:
    """Whether the modelled time of the call has the waits for every collective in it."""
    rows = report.collectives
    forecast = _find_modelled(report) if len(rows) else None
    return forecast is not None and all(row.exposed_us is not None for row in rows)


def _waits(report: Report) -> Iterator[Piece]:
    """What of the modelled call the kernels wait for the network."""
    forecast = _find_modelled(report) if _has_waits(report) else None
    if forecast is not None:
        yield plain(", ")
        yield figure(format_us(forecast.waits.us))
        yield plain(f" exposed by {plural(len(report.collectives), 'collective')}")


def _model_launches(report: Report) -> tuple[float, float] | None:
    """By the model what the CPU spends on launches, and the whole, in µs; None without a GPU."""
    try:
        model = launches(report, LaunchCosts())
    except UsageError:
        return None
    if any(part.verdict == "recorded" for part in report.cuda_graphs):
        return model.graph_host_us, model.graph_us
    return model.host_us, model.plain_us


def _measured_changes(tried: Measured) -> Iterator[Piece]:
    """What the best of the tried changes saves, by its pairs; changes are not added up."""
    saved = [
        times.saved_us.median
        for times in tried.values()
        if times is not None and len(times) and times.verdict == "faster"
    ]
    if saved:
        yield plain("A tried change saves ")
        yield figure(format_us(max(saved)))
        yield plain(" (measured). ")


def _changes(report: Report, cost: Cost, tried: Container[str]) -> Iterator[Piece]:
    """What the changes that were not tried would save together, as far as that can be said."""
    left = [change for change in opportunities(report) if change.key not in tried]
    changes = [change for change in left if _saved(change, cost)[1] > 0]
    if not changes:
        return
    call, model = read_measured_call(report), _model_launches(report)
    whole, of = call.call_us if call is not None else cost.total, " (predicted)"
    if call is None and cost.kind == "bound" and model is not None:
        # what is saved may be launches, beside which the work runs
        forecast = find_forecast(report)
        whole = max(whole, model[1] if forecast is None else forecast.call_us)
        of = f" of {format_us(whole)} (model)" if _find_modelled(report) is None else ""
    is_measured = call is not None or cost.kind == "time"
    if cost.kind != "bytes" and _excludes_collectives(report, is_measured=is_measured):
        streams = _find_placed_streams(report)  # changes may save their time, too
        if streams is not None and streams.exposed_us:
            whole = max(whole + streams.exposed_us, streams.whole_us)
            of = f" of {format_us(whole)} with collectives (model)"
    saved = [_saved(change, cost) for change in _drop_alternatives(changes, cost)]
    low, high = (sum(part) for part in zip(*saved, strict=True))
    count = len(saved)
    number = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    many = f"{number} change{'s' * (count > 1)}"
    if not whole or high < _WORST * whole:
        return
    if high > whole:  # they save the same thing, or the model counts what is hidden
        yield plain(f"{many} to try.")
        return
    is_sure = low >= high / 2
    yield plain(f"{many} would save {'about' if is_sure else 'at most'} ")
    yield figure(format_percent((low + high) / 2 if is_sure else high, whole))
    yield plain(f"{of}.")


def _drop_alternatives(changes: Sequence[Opportunity], cost: Cost) -> list[Opportunity]:
    """Of changes that set the same option only the one that saves most: no call has both."""
    kept: list[Opportunity] = []
    taken = set[str]()
    for change in sorted(changes, key=lambda each: -_saved(each, cost)[1]):
        names = {name for name, _ in change.settings}
        if not names & taken:
            kept.append(change)
        taken |= names
    return kept


def _saved(change: Opportunity, cost: Cost) -> tuple[float, float]:
    """What a change saves of a cost by prediction, at least and at most."""
    if cost.kind == "bytes":
        low, high = change.saved_bytes_low, change.saved_bytes_high
        return (low or 0, high or 0) if change.is_told_by_bytes else (0, 0)
    return change.saved_us_low or 0, change.saved_us_high or 0


def _no_cost(report: Report) -> Iterator[Piece]:
    graphs, ops = count_captured(report)
    absent = describe_absent_parts(report)
    if len(report.kernels):
        yield figure(plural(len(report.kernels), "kernel"))
        yield plain("; their traffic and times were not recorded. ")
    elif graphs:
        yield figure(f"{plural(graphs, 'graph')}, {plural(ops, 'op')}")
        yield plain(" captured without graph breaks; no code was generated. ")
    else:
        yield plain("Nothing was captured. ")
    if absent:
        name, why = absent[0]
        yield plain(f"No {name.replace('_', ' ')}: {why.rstrip('.')}.")


def _chips(report: Report) -> Iterator[wire.Chip]:
    """Breaks, the peak, the time of compiling; each leads to its pane."""
    broken = len(report.breaks)
    if broken:
        words = plain(f" graph break{'s' * (broken > 1)}")
        yield {"pane": "breaks", "pieces": [figure(str(broken)), words]}
    elif report.outcome.ok and count_captured(report)[0]:
        yield {"pane": "breaks", "pieces": [plain("No graph breaks")]}
    usage = count_quick_memory(report)
    if usage is not None and usage.peak:
        pieces = [plain("Peak "), figure(format_bytes(usage.peak))]
        yield {"pane": "memory", "pieces": pieces}
    yield from _compile_time(report)


def _compile_time(report: Report) -> Iterator[wire.Chip]:
    seconds = measure_compile_seconds((p.start_s, p.duration_s) for p in report.phases)
    if seconds is None:
        return
    words, most_s = find_longest_work(report)
    most = f", {format_seconds(most_s)} of it {words}"
    how = "Compiled in " if report.outcome.ok else "Ended after "
    pieces = [plain(how), figure(format_seconds(seconds)), plain(most)]
    yield {"pane": "timeline", "pieces": pieces}


_WORDS = ((0.95, "Nearly all"), (0.64, "Two thirds"), (0.47, "Half"), (0.31, "A third"))
_NEAR = 0.03  # a part is called by its word within this
_LEAST = 0.05  # smaller parts are no headline
_LETTERS = 44
_ONLY_NUMBERS = set("0123456789–.")
_ALL = 0.95  # a part that is all of its line says nothing more


def plain(text: str, select: str | None = None) -> Piece:
    """Text, which may lead to a thing."""
    return {"text": text, "look": "plain", "select": select}


def figure(text: str) -> Piece:
    """A number that matters."""
    return {"text": text, "look": "figure", "select": None}


def code(text: str) -> Piece:
    """A piece of the user's code, cut where it is long."""
    return {
        "text": short(" ".join(text.split()).rstrip(":"), _LETTERS),
        "look": "code",
        "select": None,
    }


def list_whereabouts(
    report: Report, rows: Sequence[CostRow], kind: str, whole: float, of: str
) -> Iterator[Piece]:
    """`A third of it is line 35, self.out1(u), most of that norm2. ` or nothing.

    A line that has little of it is no headline, nor the only one of the call, nor one of which all
    have as much.

    Lines of libraries are not named: it is the user's line that calls them. Where there is no
    other, as in a module of torch's own, it is the module below it: `Half of it is self_attn. `
    """
    lines = [line for row in rows if row.kind == "function" for line in row.parts]
    while len(lines) == 1:  # all of it is that line: what it calls tells more
        inner = [part for call in lines[0].parts if call.kind == "function" for part in call.parts]
        if not inner:
            break
        lines = inner
    parts = lines or list_module_rows(report).parts
    most = max(parts, key=lambda part: part.total.get(kind, 0.0), default=None)
    share = 0.0 if most is None or not whole else most.total.get(kind, 0.0) / whole
    if most is None or share < _LEAST or len(parts) < 2:
        return
    if len({part.total.get(kind) for part in parts}) == 1:  # one kernel, shared out evenly
        return
    pieces = [plain(f"{_part(share)} of {of} is ")]
    if not lines:
        is_number = set(most.name) <= _ONLY_NUMBERS  # of a Sequential
        pieces.append(plain(f"module {most.name}" if is_number else most.name, most.id))
    else:
        pieces.append(plain(f"line {most.id.rpartition(':')[2]}", most.id))
        if text := _call_of(read_line(report, most.id)):
            pieces += [plain(", "), code(text)]
    pieces += _most_of(report, most, kind)
    yield from pieces
    yield plain(" " if pieces[-1]["text"].endswith("…") else ". ")


def _part(share: float) -> str:
    for value, word in _WORDS:
        if share >= value and (value == _WORDS[0][0] or share < value + 2 * _NEAR):
            return word
    return f"About {format_percent(share)}"


def _most_of(report: Report, line: CostRow, kind: str) -> Iterator[Piece]:
    """The innermost thing that has most of a line but not all, where one has."""
    whole, inner, row, function = line.total.get(kind, 0.0), None, line, ""
    while row.parts:
        row = max(row.parts, key=lambda part: part.total.get(kind, 0.0))
        cost = row.total.get(kind, 0.0)
        if cost <= whole / 2:
            break
        is_part = cost < _ALL * whole or row.kind == "module"
        # "0–2" of a Sequential tells nothing
        is_named = row.kind != "module" or not set(row.name) <= _ONLY_NUMBERS
        inner = (row, function) if is_part and is_named else inner
        function = row.name if row.kind in ("function", "library") else function
    if inner is None:
        return
    row, function = inner
    yield plain(", most of that ")
    if row.kind == "line":
        yield plain(f"line {row.id.rpartition(':')[2]}", row.id)
        yield plain(" of ")
        yield code(function)
    else:
        yield code(row.name)


def read_line(report: Report, id: str) -> str:
    """The text of a source line."""
    source, number = split_line(id)
    source_row = next((row for row in report.sources if row.id == source), None)
    if source_row is None:
        return ""
    lines = (find_text(report.texts, source_row.text) or "").split("\n")
    at = number - source_row.first_line
    return lines[at].strip() if 0 <= at < len(lines) else ""


def _call_of(text: str) -> str:
    """What a line computes: without what it is assigned to, or `return`."""
    try:
        statement = ast.parse(text).body[0]
    except (SyntaxError, IndexError):
        return text.removeprefix("return ")
    value = getattr(statement, "value", None)
    return text if not isinstance(value, ast.expr) else ast.get_source_segment(text, value) or text
