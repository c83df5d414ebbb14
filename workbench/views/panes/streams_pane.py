"""Streams: the kernels of one rank, a lane for each group, and who waits for whom; by a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from workbench.analysis.cluster.links import ERRORS, LEAST_CHECKED, MOST_CHECKED_NODES
from workbench.analysis.cluster.streams import COMPUTE, MISSING, Span, Streams, find_streams
from workbench.number_text import number_text, plural
from workbench.report import Report
from workbench.report.cluster.cluster_rows import HOOK, Collective
from workbench.views.panes.pane import Content, Pane, ViewContext, missing
from workbench.views.wire.codec import convert_row
from workbench.views.wire.stream_messages import CollectiveRow, StreamSpan
from workbench.views.words.units import format_bytes, format_percent, format_us

_NONE = (
    "This program has no collectives. Inside `with wb.virtual_cluster({'dp': 64, 'tp': 8}) as "
    "mesh:` a model that is made parallel is compiled as one rank of a cluster."
)


def document(report: Report, context: ViewContext) -> Content:
    """The sentence, what runs at a time, and every collective in the order of the programs."""
    rows = list(report.collectives)
    if not rows:
        empty = missing(report, "collectives", "No collectives.", _NONE)
        return Content({"streams_says": "", "streams": [], "collectives": []}, empty=empty)
    files = {source.id: PurePath(source.file).name for source in report.sources}
    shown = [
        convert_row(
            CollectiveRow,
            row,
            id=f"n{row.id[1:]}",
            group=_name_group(row),
            line=row.lines[0] if row.lines else None,
            place=_name_place(row, files),
            said=row.why or row.algorithm or "",
        )
        for row in rows
    ]
    streams = find_streams(report)
    spans = [] if streams is None else _list_spans(report, streams)
    own = [row for row in rows if row.origin != HOOK]
    says = summarize_streams(own, streams) if own else ""
    if own != rows:
        hooks = plural(len(rows) - len(own), "collective")
        says = f"{says} Hooks around the program start {hooks}; what hides them is not known."
    data = {"streams_says": says.strip(), "streams": spans, "collectives": shown}
    return Content(data, len(rows), is_problem=_is_long(streams))


def _is_long(streams: Streams | None) -> bool:
    """Whether the kernels wait for more of the call than the error of the model."""
    return streams is not None and streams.exposed_us > ERRORS[0] * streams.whole_us


def summarize_streams(rows: Sequence[Collective], streams: Streams | None) -> str:
    """What the kernels wait for, of what; which collectives most; how sure that is."""
    if streams is None:
        return f"{plural(len(rows), 'collective')}; {_explain_no_streams(rows)}."
    whole, waits = format_us(streams.whole_us), format_us(streams.exposed_us)
    takes = "takes" if len(rows) == 1 else "take"
    said = f"{plural(len(rows), 'collective')} {takes} {format_us(streams.collectives_us)}"
    if not streams.exposed_us:
        said += f", all of it beside the kernels: {whole} in all"
    else:
        share = format_percent(streams.exposed_us / streams.whole_us)
        said += f"; the kernels wait {waits} of {whole} for them ({share})"
    return f"{said}.{_name_most_exposed(rows)} {_tell_error(rows, streams)} Not in it: {MISSING}."


def _explain_no_streams(rows: Sequence[Collective]) -> str:
    """Why it is not known what runs at a time."""
    if why := next((row.why for row in rows if row.why), None):
        return f"what they take is not known: {why}"
    if any(row.est_us is None for row in rows):
        return "how long they take is modelled of GPUs: compile it for one, as with target='h100'"
    if any(row.kernel is None for row in rows):
        return "where the program starts them was not found, and so not what runs beside them"
    return "the times of the kernels are not known, and so not what waits for them"


def _tell_error(rows: Sequence[Collective], streams: Streams) -> str:
    """How far the model was off where it was held against measurements, and where it was not."""
    nodes = max(row.group_nodes or 1 for row in rows)
    own = f"a collective from {LEAST_CHECKED} on ± {format_percent(ERRORS[min(nodes, 2) - 1])}"
    if nodes > MOST_CHECKED_NODES:
        own = f"collectives of more than {MOST_CHECKED_NODES} nodes held against no measurement"
    error = streams.kernels_error
    kernels = "error not measured" if error is None else f"± {format_percent(error)}"
    return f"Modelled: {own}; kernels {kernels}."


def _name_most_exposed(rows: Sequence[Collective]) -> str:
    """The collectives of one kind and size that the kernels wait for longest."""
    alike: dict[tuple[str, int | None, str], list[Collective]] = {}
    for row in rows:
        if row.exposed_us:
            alike.setdefault((row.op, row.bytes, _name_group(row)), []).append(row)
    if not alike:
        return ""
    (op, sent, group), own = max(
        alike.items(), key=lambda each: sum(row.exposed_us or 0.0 for row in each[1])
    )
    waits = format_us(sum(row.exposed_us or 0.0 for row in own))
    many = f"{len(own)} × " if len(own) > 1 else ""
    size = "" if sent is None else f" of {format_bytes(sent)}"
    return f" Most: {waits} for {many}{op}{size} over {group}."


def _name_group(row: Collective) -> str:
    """What the mesh calls it, its ranks and on how many nodes."""
    ranks = "" if row.group_size is None else plural(row.group_size, "GPU")
    nodes = "" if row.group_nodes is None else f" on {plural(row.group_nodes, 'node')}"
    return f"{row.mesh_dims or 'group ' + row.group}, {ranks}{nodes}" if ranks else row.group


def _name_place(row: Collective, files: Mapping[str, str]) -> str:
    """The line that causes it, and the nearest that called its function."""
    named = []
    for line in (*row.lines[:1], *row.called_from[:1]):
        _, source, number = line.split(":")
        named.append(f"{files.get(source, source)}:{number}")
    return " ← ".join(named)


def _list_spans(report: Report, streams: Streams) -> list[StreamSpan]:
    rows = {row.id: row for row in report.collectives}
    names = {kernel.id: kernel.name for kernel in report.kernels}
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


PANE = Pane("streams", "Streams", document, is_rare=True)
