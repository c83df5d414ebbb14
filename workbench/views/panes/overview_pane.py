"""The overview: its sentence, what went wrong, where the cost goes, every source line."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from statistics import median, quantiles

from workbench.analysis.calls.call_tree import CostRow, list_call_rows, list_module_rows
from workbench.analysis.changes.change import split_text
from workbench.analysis.cost.costs import list_all_costs, list_costs
from workbench.analysis.cost.identical_kernels import grouped
from workbench.analysis.fusion.fusion import list_before_fusion
from workbench.analysis.fusion.traffic import count_moved_bytes, measure_fusion_traffic
from workbench.analysis.gpu_model.launches import tell_kernels_of
from workbench.analysis.memory.memory import count_quick_memory
from workbench.analysis.memory.timeline import explain_unknown_memory
from workbench.analysis.opportunities.opportunity import SURE, Opportunity, Tried
from workbench.analysis.opportunities.rules import opportunities
from workbench.number_text import (
    format_bytes,
    format_percent,
    format_seconds,
    format_us,
    plural,
)
from workbench.report import Report
from workbench.report.measures import count_guards, measure_compile_seconds
from workbench.report.paired import PairedTimes
from workbench.report.profile_record import MeasuredCall, read_measured_call
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL
from workbench.report.rows import MODULE_CLASSES, split_line
from workbench.views.answers.alternatives_text import (
    format_prediction,
    format_saved,
    format_shortest_saving,
    name_stream_verdict,
    nothing,
    saving,
)
from workbench.views.kit.proposed_changes import list_change_lines, list_code_lines
from workbench.views.overview.answer import (
    answer,
    answer_in_brief,
    answer_text,
    read_refusal,
)
from workbench.views.panes.artifact_pane import file_of
from workbench.views.panes.pane import Content, Pane, ViewContext, missing
from workbench.views.source_marks import sources
from workbench.views.wire import advice_messages as advice_wire
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row, shorten
from workbench.views.wire.overview_messages import TreeRow
from workbench.views.wire.report_messages import Source
from workbench.views.words.progress_words import find_longest_work
from workbench.views.words.record_words import (
    COST_HEADS,
    count_captured,
    describe_absent_parts,
    list_cuda_graph_reasons,
    summarize_cuda_graphs,
)

_QUICK = 10_000
"""Nodes of all graphs whose operators are counted before anyone asks: about 20 ms."""


def document(report: Report, context: ViewContext) -> Content:
    """The sentence, the trees, the figures, the notes, the sources; `empty` is about these."""
    shown = sources(report)
    calls, modules = list_tree_rows(report, shown)
    advised = advice(report, context)
    data = {
        "answer": answer(report, _list_measured(context)),
        "calls": calls,
        "modules": modules,
        "advice": advised,
        "costs": _list_cost_heads(report),
        "figures": figures(report, context.saved or file_of(report)),
        "notes": _notes(report, context.dropped),
        "missing": [
            {"title": name.replace("_", " "), "text": why, "tone": "fallback"}
            for name, why in describe_absent_parts(report)
        ],
        "sources": shown,
    }
    has_text = any(text is not None for text in report.sources.columns.get("text", ()))
    part = "source lines" if report.why_missing("sources") is None else "sources"
    empty = missing(report, part, "No source.", "No source text was recorded.")
    return Content(
        data,
        empty=None if has_text or modules else empty,
        answer=answer_in_brief(report, len(advised["rows"]) + advised["more"]),
    )


def _list_cost_heads(report: Report) -> list[wire.Cost]:
    """The costs that are known, the one that ranks first."""
    heads: list[wire.Cost] = []
    for cost in list_all_costs(report):
        name, unit, is_estimate = COST_HEADS[cost.kind]
        heads.append(
            {
                "kind": cost.kind,
                "name": name,
                "unit": unit,
                "source": cost.source,
                "brief": cost.brief,
                "is_estimate": is_estimate,
            }
        )
    return heads


def _list_measured(context: ViewContext) -> dict[str, PairedTimes | None]:
    """The pairs of each change that was tried; of one whose outputs differ none."""
    return {key: None if t.agrees is False else t.times for key, t in context.tried.items()}


def figures(report: Report, saved: tuple[str, int] | None = None) -> list[wire.Figure]:
    """The figures behind *Details*; `saved` is the path and the size in bytes of the artifact."""
    own = (_run_time, _kernels, _traffic, _memory, _captured, _compile_time)
    return [*(figure(report) for figure in own), _artifact(report, saved)]


def _figure(label: str, value: str, note: str, pane: wire.PaneId) -> wire.Figure:
    return {"label": label, "value": value, "note": note, "pane": pane}


def _run_time(report: Report) -> wire.Figure:
    """What a call takes and how much of that the kernels are, else the least that they can take."""
    by_kind = {cost.kind: cost for cost in list_costs(report)}
    call, time, bound = read_measured_call(report), by_kind.get("time"), by_kind.get("bound")
    if call is not None:
        inside = "kernels not timed" if time is None else _inside(time.total, call)
        how = "measured" if call.quiet else "noisy"
        return _figure("Run time", format_us(call.call_us), f"{how}, {inside}", "kernels")
    if time is not None:
        return _figure("Run time", format_us(time.total), "kernels alone, measured", "kernels")
    if bound is not None:
        note = f"model, {_part(len(bound.by_kernel), len(report.kernels))}"
        return _figure("Bound", f"≥ {format_us(bound.total)}", note, "roofline")
    return _figure("Run time", "–", "not measured", "kernels")


def _inside(kernels_us: float, call: MeasuredCall) -> str:
    """What part of the call the kernels are; where they take longer than it, that is noise."""
    if kernels_us > call.call_us:
        return "measure again"
    return f"{format_percent(kernels_us, call.call_us)} in kernels"


def _part(known: int, count: int) -> str:
    return "all kernels" if known == count else f"{known} of {plural(count, 'kernel')}"


def _captured(report: Report) -> wire.Figure:
    graphs, ops = count_captured(report)
    broken = len(report.breaks)
    note = plural(broken, "graph break") if broken else "no graph break"
    value = f"{plural(graphs, 'graph')}, {plural(ops, 'op')}"
    return _figure("Captured", value, note, "graphs")


def _kernels(report: Report) -> wire.Figure:
    words = {"triton": "Triton", "cpp": "C++", "extern": "library"}
    counts = Counter(kernel.language for kernel in report.kernels)
    note = ", ".join(f"{n} {words.get(language, language)}" for language, n in counts.items())
    if (different := len(grouped(report))) < len(report.kernels):
        note += f", {different} different"
    note += "".join(tell_kernels_of(report).partition(", ")[1:])
    return _figure("Kernels", str(len(report.kernels)), note or "none generated", "kernels")


def _traffic(report: Report) -> wire.Figure:
    traffic = measure_fusion_traffic(report)
    if traffic is None:
        return _kernels_traffic(report)
    if len(report.nodes) > _QUICK:
        note = "after fusion (estimate); the Fusion tab shows it before"
        return _figure("DRAM traffic", format_bytes(traffic.after), note, "fusion")
    before = list_before_fusion(report)[0]
    change = format_percent(traffic.after - before.bytes, before.bytes)
    value = f"{format_bytes(before.bytes)} → {format_bytes(traffic.after)}"
    return _figure("DRAM traffic", value, f"{change} vs. {before.words} (estimate)", "fusion")


def _kernels_traffic(report: Report) -> wire.Figure:
    """What the kernels move, where nothing is known of the time before fusion."""
    known = [moved for kernel in report.kernels if (moved := count_moved_bytes(kernel)) is not None]
    if not known:
        return _figure("DRAM traffic", "–", "not recorded", "fusion")
    note = f"{_part(len(known), len(report.kernels))}, after fusion"
    return _figure("DRAM traffic", format_bytes(sum(known)), note, "fusion")


def _memory(report: Report) -> wire.Figure:
    """The peak, where it is counted at once."""
    usage = count_quick_memory(report)
    if usage is not None and usage.peak:
        above = f"{format_bytes(usage.peak - usage.base)} above inputs"
        return _figure("Peak memory", format_bytes(usage.peak), above, "memory")
    note = "counted when opened" if explain_unknown_memory(report) is None else "not recorded"
    return _figure("Peak memory", "–", note, "memory")


def _compile_time(report: Report) -> wire.Figure:
    took = measure_compile_seconds((p.start_s, p.duration_s) for p in report.phases)
    if took is None:
        return _figure("Compile time", "–", "not recorded", "timeline")
    words, seconds = find_longest_work(report)
    note = f"{format_seconds(seconds)} of it {words}"
    return _figure("Compile time", format_seconds(took), note, "timeline")


def _artifact(report: Report, saved: tuple[str, int] | None) -> wire.Figure:
    counts = count_guards(report.guards.columns.get("kept", ()))
    guards = f"{plural(counts.kept, 'guard')} kept, {counts.dropped} dropped"
    if saved is not None:
        return _figure("Artifact", format_bytes(saved[1]), guards, "artifact")
    if report.request.kind in ("trace", KERNEL_LOG):
        return _figure("Artifact", "none", "only a log", "artifact")
    if report.request.kind == OWN_KERNEL:
        return _figure("Artifact", "none", "only a kernel", "artifact")
    if len(report.breaks):
        return _figure("Artifact", "none", "needs one graph without breaks", "artifact")
    if not report.outcome.ok:
        return _figure("Artifact", "none", f"the compilation {report.outcome.clause}", "artifact")
    return _figure("Artifact", "not saved", guards, "artifact")


def _notes(report: Report, dropped: Sequence[str] = ()) -> list[wire.Note]:
    """What was taken out before sharing, the failure, remarks on the request, its CUDA graphs."""
    notes: list[wire.Note] = []
    if dropped:
        text = f"{'; '.join(dropped)}."
        notes.append({"title": "Dropped before sharing:", "text": text, "tone": "fallback"})
    if not report.outcome.ok:
        error = report.outcome.error or ""
        refusal = read_refusal(error.rstrip("."))
        is_told = refusal is not None and refusal in answer_text(report)
        tone: wire.Tone = "plain" if report.outcome.is_cancelled else "break"
        title = f"{report.outcome.verb.capitalize()}{report.outcome.place}."
        if not is_told:
            notes.append({"title": title, "text": error, "tone": tone})
    for text in report.request.notes:
        notes.append({"title": "Note.", "text": text, "tone": "plain"})
    summary = summarize_cuda_graphs(report)
    if summary is not None:
        why = "; ".join(list_cuda_graph_reasons(report))
        text = f"{why[0].upper()}{why[1:]}." if why else "torch records them at the first run."
        note: wire.Note = {"title": f"CUDA graphs: {summary}.", "text": text, "tone": "plain"}
        notes.append({**note, "tone": "fallback" if why else "plain", "select": "c0"})
    return notes


MOST = 5


def advice(report: Report, context: ViewContext) -> advice_wire.Advice:
    """The opportunities that save most."""
    changes = opportunities(report)
    where = f"{report.request.name or 'this compilation'} on {report.request.target}"
    return {
        "rows": [_row(change, context) for change in changes[:MOST]],
        "more": max(len(changes) - MOST, 0),
        "none": nothing(where, report) if report.outcome.ok else "",
    }


def _row(change: Opportunity, context: ViewContext) -> advice_wire.Opportunity:
    tried = context.tried.get(change.key)
    file = None if change.file is None else PurePath(change.file).name
    return convert_row(
        advice_wire.Opportunity,
        change,
        saving=sentence(f"{saving(change)}"),
        short=format_shortest_saving(change),
        predicted_us=change.predicted_us,
        predicted_by=format_prediction(change),
        source=sentence(change.source),
        sure_words=f"{sentence(change.sure, '')}: {SURE[change.sure]}",
        place=file if change.line is None else f"{file}:{change.line}",
        change=_propose(change, context),
        tried=None if tried is None else _tried(change, tried),
    )


def _propose(change: Opportunity, context: ViewContext) -> advice_wire.ProposedChange:
    """What to write; `tried` of the row has what was measured of it."""
    title, why = split_text(change.text)
    is_written = bool(change.before or change.settings)
    return {
        "id": change.id,
        "title": title,
        "why": why,
        "lines": list_change_lines(change.change) if is_written else list_code_lines(change.action),
        "code": change.action,
        "ask": "" if change.why_not else "try",
        "question": {"opportunity": change.id},
        "why_not": change.why_not or context.why_not["try"],
        "outcome": None,
    }


def sentence(text: str, end: str = ".") -> str:
    """Words as a sentence."""
    return f"{text[:1].upper()}{text[1:]}{end}"


def _tried(change: Opportunity, tried: Tried) -> advice_wire.TriedChange:
    return {
        "rows": list(_figures(tried)),
        "times": None if tried.times is None else convert_pairs(tried.times),
        "saved": format_saved(tried),
        "agrees": tried.agrees,
        "checked": tried.checked,
        "part": f"tried:{change.id}",
    }


def convert_pairs(times: PairedTimes) -> advice_wire.TimedPairs:
    """The pairs as a view draws them, with the verdict that they allow."""
    saved = times.saved_us if len(times) else None
    return {
        "before": _runs(times.before_us),
        "after": _runs(times.after_us),
        "saved_us": None if saved is None else (saved.low, saved.median, saved.high),
        "faster": times.faster,
        "slower": times.slower,
        "disturbed": times.disturbed,
        "verdict": times.verdict,
        "doubt": times.doubt,
        "sentence": times.sentence,
    }


def _runs(runs_us: Sequence[float]) -> advice_wire.TimedRuns | None:
    if not runs_us:
        return None
    low, middle, high = quantiles(runs_us, n=4) if len(runs_us) > 1 else (runs_us[0],) * 3
    return {
        "runs_us": [shorten(run) for run in runs_us],
        "minimum_us": min(runs_us),
        "median_us": middle,
        "middle_us": (low, high),
    }


def _figures(tried: Tried) -> Iterator[tuple[str, str, str]]:
    """Each figure that both have: its name, before, after."""
    before, after = tried.before, tried.after
    if before.breaks or after.breaks:
        yield "Graph breaks, counted", str(before.breaks), str(after.breaks)
    yield "Kernels, counted", str(before.kernels), str(after.kernels)
    if before.bytes is not None and after.bytes is not None:
        yield "Traffic, counted", format_bytes(before.bytes), format_bytes(after.bytes)
    if before.bound_us is not None and after.bound_us is not None:
        yield "Bound (roofline)", format_us(before.bound_us), format_us(after.bound_us)
    if tried.streams is not None:
        old, new = tried.streams.before, tried.streams.after
        words = f"Call with collectives, modelled: {name_stream_verdict(tried.streams)}"
        yield words, format_us(old.whole_us), format_us(new.whole_us)
        was, now = format_us(old.exposed_us), format_us(new.exposed_us)
        yield "Exposed communication, modelled", was, now
    if tried.times is not None and len(tried.times):
        first, second = tried.times.before_us, tried.times.after_us
        yield "Call, minimum", format_us(min(first)), format_us(min(second))
        yield "Call, median", format_us(median(first)), format_us(median(second))


_GLOBAL = re.compile(r"\b[GL]\['(\w+)'\]")  # how Dynamo names what a function reads
_RANGE = re.compile(r"(\d+)[–,][^.]*")  # equal layers: 0–3, or 0, 2–4
_EXCEPTIONS = ("break", "fallback")  # states of lines that stay in sight


def list_tree_rows(
    report: Report, sources: Sequence[Source]
) -> tuple[list[TreeRow], list[TreeRow]]:
    """The rows of the lines and of the modules; `sources` are the functions with their marks.

    The modules are none where the record names none.
    """
    root = list_module_rows(report)
    classes = _Classes(report)
    modules = list(_Modules(classes).rows(root, 0)) if root.parts else []
    return list(_Lines(report, sources, classes).rows()), modules


class _Classes:
    """The classes of modules, as the record names them."""

    def __init__(self, report: Report):
        self._by_path: Mapping[str, str] = report.extra.get(MODULE_CLASSES, {})

    def of(self, row: CostRow) -> str:
        """Of equal layers that of the first; empty where the record has none."""
        if row.kind != "module":
            return ""
        return self._by_path.get(_RANGE.sub(r"\1", row.id.removeprefix("M:")), "")


class _Modules:
    def __init__(self, classes: _Classes):
        self._classes = classes

    def rows(self, row: CostRow, depth: int) -> Iterator[TreeRow]:
        tree_row = _tree_row(row, depth, self._classes.of(row))
        if row.kernels or row.lines:
            tree_row["kernels"], tree_row["lines"] = list(row.kernels), list(row.lines)
        yield tree_row
        for part in row.parts:
            yield from self.rows(part, depth + 1)


class _Lines:
    def __init__(self, report: Report, sources: Sequence[Source], classes: _Classes):
        self.report, self.classes = report, classes
        self.sources = {source["id"]: source for source in sources}
        self.has_costs = bool(len(report.kernels))

    def rows(self) -> Iterator[TreeRow]:
        """Those with a cost, then functions in which something went wrong, then the rest."""
        roots = list_call_rows(self.report)
        waiting, visited = list(roots), set()
        while waiting:
            row = waiting.pop()
            visited.add(row.id)
            waiting += row.parts
        for row in roots:
            if row.kind != "rest":
                yield from self._any(row, 0)
        names = {source.id: source.qualified or source.name for source in self.report.sources}
        for source in self.sources.values():
            lines = [CostRow("line", id, "", {}, {}) for id in self._told(source)]
            if lines and source["id"] not in visited:
                name = names[source["id"]]
                yield from self._function(CostRow("function", source["id"], name, {}, {}), lines, 0)
        yield from (_tree_row(row, 0, "") for row in roots if row.kind == "rest")

    def _any(self, row: CostRow, depth: int) -> Iterator[TreeRow]:
        if row.kind == "function":
            yield from self._function(row, row.parts, depth)
        elif row.kind == "library":
            file, count = self.sources[row.id]["file"], plural(len(row.parts), "line")
            yield _tree_row(row, depth, f"{_package(file)}, {count}")
            yield from self._parts(row, depth)
        else:
            yield from self._plain(row, depth)

    def _plain(self, row: CostRow, depth: int) -> Iterator[TreeRow]:
        called = [part.name for part in row.parts if part.kind in ("function", "library")]
        tree_row = _tree_row(row, depth, self.classes.of(row) or ", ".join(dict.fromkeys(called)))
        if len(row.parts) == 1 and row.parts[0].times > 1:
            tree_row["times"], tree_row["each"] = row.parts[0].times, _round_each(row.parts[0])
        yield tree_row
        yield from self._parts(row, depth)

    def _parts(self, row: CostRow, depth: int) -> Iterator[TreeRow]:
        for part in row.parts:
            yield from self._any(part, depth + 1)

    def _function(self, row: CostRow, lines: Sequence[CostRow], depth: int) -> Iterator[TreeRow]:
        """The function, its lines in order, and what costs nothing between them folded."""
        source = self.sources[row.id]
        place = f"{PurePath(source['file']).name}:{source['first']}"
        yield _tree_row(row, depth, f"{row.module}, {place}" if row.module else place)
        marked = [CostRow("line", id, "", {}, {}) for id in self._told(source)]
        shown = {split_line(line.id)[1]: line for line in (*marked, *lines)}
        body = _list_body(source)  # and what is above it, such as a default value, or a kernel
        numbers_of = [*sorted(number for number in shown if number not in body), *body]
        for is_shown, numbers in groupby(numbers_of, key=lambda n: n in shown):
            if is_shown:
                for number in numbers:
                    yield from self._plain(shown[number], depth + 1)
            else:
                yield from _fold(source, list(numbers), depth + 1)

    def _told(self, source: Source) -> list[str]:
        """The lines that something is said about, whatever they cost."""
        ids = []
        for mark in source["marks"]:
            is_exception = mark["notes"] or mark["state"] in _EXCEPTIONS
            if is_exception or (not self.has_costs and mark["state"] != "plain"):
                ids.append(mark["id"])
        return ids


def _tree_row(row: CostRow, depth: int, caption: str) -> TreeRow:
    tree_row: TreeRow = {
        "depth": depth,
        "kind": row.kind,
        "id": row.id,
        "name": _GLOBAL.sub(r"\1", row.name),
        "caption": caption,
        "total": _shorten(row.total),
        "own": _shorten(row.own),
    }
    if row.times > 1:
        tree_row["times"], tree_row["each"] = row.times, _round_each(row)
    return tree_row


def _shorten(costs: Mapping[str, float]) -> dict[str, float]:
    return {kind: shorten(amount) for kind, amount in costs.items()}


def _round_each(row: CostRow) -> dict[str, tuple[float, float]]:
    both = row.each.items()
    return {kind: (shorten(low), shorten(high)) for kind, (low, high) in both}


def _fold(source: Source, numbers: Sequence[int], depth: int) -> Iterator[TreeRow]:
    """One row for lines that cost nothing, or the only one; none where they are empty."""
    texts = [n for n in numbers if source["lines"][n - source["first"]].strip()]
    if len(texts) == 1:
        yield _tree_row(CostRow("line", f"L:{source['id']}:{texts[0]}", "", {}, {}), depth, "")
    elif texts:
        yield {
            "depth": depth,
            "kind": "fold",
            "id": f"L:{source['id']}:{numbers[0]}",
            "name": "",
            "caption": "",
            "total": {},
            "own": {},
            "last": numbers[-1],
            "count": len(texts),
        }


def _list_body(source: Source) -> range:
    """The numbers of the lines below the head of a function and its docstring."""
    first, lines = source["first"], source["lines"]
    whole = range(first, first + len(lines))
    try:
        (function, *rest) = ast.parse(textwrap.dedent("\n".join(lines))).body
    except (SyntaxError, ValueError):  # a piece of code, or no text
        return whole
    if rest or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return whole
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return range(first + body[0].lineno - 1, first + len(lines)) if body else range(0)


def _package(file: str) -> str:
    """What a library's file belongs to: `transformers`, `python`."""
    parts = PurePath(file).parts
    return parts[1] if len(parts) > 1 and parts[0] == "site-packages" else parts[0]


PANE = Pane("overview", "Overview", document, question="time", is_home=True)
