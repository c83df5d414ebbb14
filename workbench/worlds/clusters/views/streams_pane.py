"""Streams: the kernels of one rank, a lane for each group, and who waits for whom; by a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from workbench.analysis.collectives.links import ERRORS, LEAST_CHECKED, MOST_CHECKED_NODES
from workbench.analysis.collectives.streams import COMPUTE, MISSING, Span, Streams, find_streams
from workbench.number_text import format_bytes, format_percent, format_us, number_text, plural
from workbench.report import Report
from workbench.report.collectives.collective_rows import HOOK, PASSES, Collective, is_unplaced
from workbench.report.rows import split_line
from workbench.views.kit.blocks import Own, Rows, Sentence
from workbench.views.kit.card import Card
from workbench.views.panes.pane import Content, Pane, ViewContext, missing
from workbench.views.tables.column import Column
from workbench.views.wire.codec import convert_row
from workbench.views.words.record_words import list_kernel_ops
from workbench.worlds.clusters.views.messages import CollectiveRow, StreamSpan

_NONE = (
    "This program has no collectives. To compile one rank of a cluster, parallelize a model inside "
    "`with wb.virtual_cluster({'dp': 64, 'tp': 8}) as mesh:`."
)


def document(report: Report, context: ViewContext) -> Content:
    """The sentence, what runs at a time, and every collective in the order of the programs."""
    rows = list(report.collectives)
    fused = _tell_fused(report)
    if not rows and not fused:
        empty = missing(report, "collectives", "No collectives.", _NONE)
        return Content({"streams": [], "collectives": []}, empty=empty)
    files = {source.id: PurePath(source.file).name for source in report.sources}
    shown = [
        convert_row(
            CollectiveRow,
            row,
            id=f"n{row.id[1:]}",
            group=_name_group(row),
            line=row.lines[0] if row.lines else None,
            place=_name_place(row, files),
            said=_tell_row(row),
        )
        for row in rows
    ]
    streams = find_streams(report)
    spans = [] if streams is None else _list_spans(report, streams)
    own = [row for row in rows if not is_unplaced(row)]
    by_hooks = sum(row.origin == HOOK for row in own)
    says = summarize_streams(own, streams) if own else ""
    says = " ".join(filter(None, (says, fused, _tell_passes(report, own))))
    if by_hooks:
        says = f"{says} fully_shard hooks start {by_hooks} of them."
    if own != rows:
        hooks = plural(len(rows) - len(own), "collective")
        says = f"{says} Hooks around the program start {hooks} with unknown overlap."
    model = _tell_error(own, streams) if own and streams is not None else ""
    blocks = [
        Sentence(says.strip()),
        *([Sentence(model, "muted")] if model else []),
        *([Own("streams")] if spans else []),
        Rows("collectives", "Collectives", shown, frame="collectives"),
    ]
    data = {"streams": spans, "collectives": shown}
    return Content(data, len(rows) or None, blocks=blocks)


def summarize_streams(rows: Sequence[Collective], streams: Streams | None) -> str:
    """What the kernels wait for, of what; which collectives most."""
    if streams is None:
        return f"{plural(len(rows), 'collective')}; {_explain_no_streams(rows)}."
    whole, waits = format_us(streams.whole_us), format_us(streams.exposed_us)
    takes = "takes" if len(rows) == 1 else "take"
    text = f"{plural(len(rows), 'collective')} {takes} {format_us(streams.collectives_us)}"
    if not streams.exposed_us:
        text += f", fully overlapped; the call takes {whole}"
    else:
        share = format_percent(streams.exposed_us / streams.whole_us)
        text += f"; {waits} of {whole} are exposed communication ({share})"
    return f"{text}.{_name_most_exposed(rows)}"


def _explain_no_streams(rows: Sequence[Collective]) -> str:
    """Why it is not known what runs at a time."""
    if why := next((row.why for row in rows if row.why), None):
        return f"times unknown: {why}"
    if any(row.est_us is None for row in rows):
        return "times are modelled for GPUs: compile for one, such as target='h100'"
    if any(row.kernel is None for row in rows):
        return "the kernels that start collectives were not found, so overlap is unknown"
    return "kernel times are unknown, and so is exposed communication"


def _tell_error(rows: Sequence[Collective], streams: Streams) -> str:
    """How far the model was off where it was held against measurements, and where it was not."""
    nodes = max(row.group_nodes or 1 for row in rows)
    own = f"collectives of at least {LEAST_CHECKED} ± {format_percent(ERRORS[min(nodes, 2) - 1])}"
    if nodes > MOST_CHECKED_NODES:
        own = f"collectives (error not measured beyond {MOST_CHECKED_NODES} nodes)"
    error = streams.kernels_error
    kernels = "without a measured error" if error is None else f"± {format_percent(error)}"
    return f"Modelled: {own}, kernels {kernels}. Not included: {MISSING}."


_LIMITS: Mapping[str, tuple[str, str]] = {
    "data dependency": (
        "the preceding kernel computes the collective's input",
        "the next kernel needs the collective's output",
    ),
    "collective ordering": ("torch keeps the order of collectives",) * 2,
    "candidate contains_async_collective": ("torch keeps the order of collectives",) * 2,
    "peak memory": ("peak memory would rise",) * 2,
    "unexposed by runtime estimations": ("torch estimates that it is already overlapped",) * 2,
    "candidate is wait": ("torch estimates that exposed time would rise",) * 2,
    "candidate has compute": ("torch estimates that exposed time would rise",) * 2,
}
"""How torch's words for what stopped a move begin, for one that went ahead and a wait put off."""


_ASYNC, _FUSED = "async TP: ", "symm_mem.fused_"
"""How what async TP left begins among moves; what is in the names of kernels that it made."""


def _tell_passes(report: Report, rows: Sequence[Collective]) -> str:
    """What torch's passes did with the collectives, and what stopped those still waited for."""
    lost = next((row for row in report.capabilities if row.name == PASSES), None)
    if lost is not None and not lost.available:
        return f"The actions of torch's passes were not recorded: {lost.reason}."
    sentences = []
    if merged := [row for row in rows if row.merged_from]:
        parts = sum(len(row.merged_from) for row in merged)
        sentences.append(f"Torch's passes merged {plural(parts, 'collective')} into {len(merged)}.")
    moves = {row.id: [text for text in row.moves if not text.startswith(_ASYNC)] for row in rows}
    if tried := [row for row in rows if moves[row.id]]:
        moved = sum(any(_read_move(text)[1] for text in moves[row.id]) for row in tried)
        left = [row for row in tried if row.exposed_us != 0]
        limits = Counter(
            limit for row in left for limit in dict.fromkeys(map(_explain_limit, moves[row.id]))
        )
        limits.pop("", None)
        words = "; ".join(f"{count} × {limit}" for limit, count in limits.most_common(3))
        which = "" if any(row.exposed_us is None for row in left) else " of the exposed collectives"
        sentences.append(f"Torch's passes moved {moved} of {plural(len(tried), 'collective')}.")
        sentences[-1] += f" Limits{which}: {words}." if words else ""
    unfused = Counter(
        _read_move(text)[2] for row in rows for text in row.moves if text.startswith(_ASYNC)
    )
    sentences += [
        f"Async TP left {plural(count, 'collective')} unfused: {why}."
        for why, count in unfused.most_common()
    ]
    expected = [row.torch_exposed_us for row in rows if row.torch_exposed_us is not None]
    estimates = [row.torch_est_us for row in rows if row.torch_est_us is not None]
    if expected and len(expected) == len(estimates) == len(rows):
        times = format_us(sum(estimates)), format_us(sum(expected))
        sentences.append(
            f"By torch's own estimates, the collectives take {times[0]}, with {times[1]} exposed."
        )
    return " ".join(sentences)


def _tell_fused(report: Report) -> str:
    """That products which async TP fused with collectives hold some that have no rows."""
    count = sum(_FUSED in kernel.name for kernel in report.kernels)
    if not count:
        return ""
    contain = "contains a fused collective" if count == 1 else "contain fused collectives"
    return f"{plural(count, 'async TP kernel')} {contain}, for which this table has no row or time."


def _read_move(text: str) -> tuple[str, int, str]:
    """The pass, how many places it moved a collective, torch's words for what stopped it.

    Of words of a later release only the words are known.
    """
    by, _, rest = text.partition(": ")
    places, _, limit = rest.partition(", ")
    return (by, int(places), limit) if places.isdecimal() else ("", 0, text)


def _explain_limit(text: str) -> str:
    """What stopped a move, in plain words; torch's where there are none for it, "" for nothing."""
    by, _, limit = _read_move(text)
    explanations = next(
        (words for start, words in _LIMITS.items() if limit.startswith(start)), None
    )
    return limit if explanations is None else explanations[by == "sink"]


def _tell_row(row: Collective) -> str:
    """By what its time is told, or why it has none; how many it was merged from."""
    merged = f"merged from {len(row.merged_from)}" if row.merged_from else ""
    return "; ".join(filter(None, (row.why or row.algorithm, merged)))


def _name_most_exposed(rows: Sequence[Collective]) -> str:
    """The collectives of one kind and size that the kernels wait for longest."""
    alike: dict[tuple[str, int | None, str], list[Collective]] = {}
    for row in rows:
        if row.exposed_us:
            alike.setdefault((row.op, row.bytes, _name_group(row)), []).append(row)
    if not alike:
        return ""
    (op, sent, group), own = max(
        alike.items(), key=lambda item: sum(row.exposed_us or 0.0 for row in item[1])
    )
    waits = format_us(sum(row.exposed_us or 0.0 for row in own))
    many = f"{len(own)} × " if len(own) > 1 else ""
    size = "" if sent is None else f" of {format_bytes(sent)}"
    return f" Most exposed: {waits} for {many}{op}{size} over {group}."


def _name_group(row: Collective) -> str:
    """What the mesh calls it, its ranks and on how many nodes."""
    ranks = "" if row.group_size is None else plural(row.group_size, "GPU")
    nodes = "" if row.group_nodes is None else f" on {plural(row.group_nodes, 'node')}"
    return f"{row.mesh_dims or 'group ' + row.group}, {ranks}{nodes}" if ranks else row.group


def _name_place(row: Collective, files: Mapping[str, str]) -> str:
    """The line that causes it, and the nearest that called its function; or whose hook it is."""
    if row.origin == HOOK:
        at = "around the program" if row.block is None else f"of {row.block or 'the model'}"
        return f"hook {at}"
    named = []
    for line in (*row.lines[:1], *row.called_from[:1]):
        source, number = split_line(line)
        named.append(f"{files.get(source, source)}:{number}" if number else source)
    return " ← ".join(named)


def _list_spans(report: Report, streams: Streams) -> list[StreamSpan]:
    rows = {row.id: row for row in report.collectives}
    names = {
        kernel.id: kernel.name if kernel.is_generated else list_kernel_ops(kernel)
        for kernel in report.kernels
    }
    ordered = sorted(streams.spans, key=lambda span: span.lane != COMPUTE)
    return [
        StreamSpan(
            id=span.kernel or "",
            lane=COMPUTE if span.lane == COMPUTE else _name_group(rows[span.collective or ""]),
            kind=span.kind,
            words=_name_span(span, rows, names),
            start_us=round(span.start_us, 3),
            us=round(span.us, 3),
        )
        for span in ordered  # the kernels are the first lane
    ]


def _name_span(span: Span, rows: Mapping[str, Collective], names: Mapping[str, str]) -> str:
    if span.collective is None:
        return names.get(span.kernel or "", "")
    row = rows[span.collective]
    size = "" if row.bytes is None else f" of {number_text(row.bytes, 'bytes')}"
    waits = "waits for " if span.kind == "wait" else ""
    return f"{waits}{row.op}{size}"


PANE = Pane("streams", "Streams", document, question="time", is_rare=True, after="accesses")
CARDS = {
    "collective": [
        Card(
            "collectives",
            "Collective",
            "{op}",
            "{op}",
            (
                Column("Message", "bytes", "B", absent="–"),
                Column("Group", "group"),
                Column("Modelled, µs", "est_us", "us", absent="–"),
                Column("Exposed, µs", "exposed_us", "us", absent="–"),
                Column("By", "said"),
                Column("Place", "place"),
            ),
            ties=("kernel", "wait_kernel", "line"),
        )
    ],
}
