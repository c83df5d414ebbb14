"""A report as a document of blocks: what stands in a page, and in short in a notebook."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

from workbench.analysis.memory.timeline import explain_unknown_memory
from workbench.number_text import plural
from workbench.report import Report
from workbench.report.machine_rows import MatrixCell
from workbench.report.measures import measures
from workbench.report.texts import find_text
from workbench.views.answers.roundtrip_answer import build_fall
from workbench.views.charts.calls_chart import encode_picture
from workbench.views.document import ViewContext, document
from workbench.views.kit.blocks import (
    PAGE,
    Block,
    Card,
    Chart,
    Code,
    Document,
    Few,
    Fold,
    Items,
    Listings,
    Look,
    OnPage,
    Section,
    Sentence,
    Table,
    write_frame_call,
)
from workbench.views.memory.memory_answer import list_memory_blocks
from workbench.views.pages.packed_report import pack_report
from workbench.views.pages.redaction import redact as without_sources
from workbench.views.panes.pane import PageSection, Pane, choose_pane
from workbench.views.panes.registry import list_panes
from workbench.views.parts.fusion_part import build_fusion_part, build_pairs_part
from workbench.views.parts.memory_part import build_budgets_part, build_memory_part
from workbench.views.source_marks import SIGNS
from workbench.views.static_html.render import write_page
from workbench.views.tables.column import Column, exact
from workbench.views.tables.columns import spell_out_columns
from workbench.views.wire import report_messages as wire
from workbench.views.wire.advice_messages import Opportunity
from workbench.views.words.record_words import cost_text, share_words

_ASSEMBLY = ("ptx", "amdgcn")
_EXPECTED = ("overview", "graphs", "fusion", "kernels", "timeline")
"""Panes that every compilation fills: a notebook says why one of them is empty."""


def build_document(
    report: Report, context: ViewContext | None = None, *, redact: bool = False
) -> Document:
    """What matters of each pane, one below another; with `redact` without sources and constants.

    A page or an output of a notebook has the interactive view beside it.
    """
    dropped: tuple[str, ...] = ()
    if redact:
        report, dropped = without_sources(report)
    pane = choose_pane(report) if context is None else context.pane
    # beside a page nothing is alive
    loaded = f'wb.Report.load("{_name_file(report)}.wbr")'
    shown = document(report, context or ViewContext(loaded, dropped=dropped))
    facts = (shown["target"], "; ".join(shown["inputs"]))
    return Document(
        shown["name"],
        list(_list_blocks(report, shown)),
        facts=" \N{EM SPACE}".join(filter(None, facts)),
        verdict=f"{SIGNS[shown['tone']]} {shown['verdict']}",
        tab=f"{shown['name']}, compiled",
        frame=write_frame_call("report", "kernels"),
        pack=partial(pack_report, report, shown, pane),
        is_listed=True,
    )


def make_saved_page(report: Report) -> wire.SavedPage:
    """The page as what a live view gives its reader to keep."""
    return {"name": f"{_name_file(report)}.html", "html": write_page(build_document(report))}


def _name_file(report: Report) -> str:
    return re.sub(r"\W+", "_", report.request.name or "report").strip("_") or "report"


def _list_blocks(report: Report, shown: wire.Document) -> Iterator[Block]:
    """The notes, a section for each pane that has something to show, what is not there."""
    yield from (_build_note(note) for note in shown["notes"])
    titles = {head["id"]: head["title"] for head in shown["panes"]}
    sections = [
        Section(id, titles[id], *part)
        for id, build in _list_builders()
        if (part := build(report, shown)) is not None
    ]
    yield from sections
    if explain_unknown_memory(report) is None:  # else its pane says why
        yield OnPage(lambda: [Section("memory", titles["memory"], "", _list_memory(report, shown))])
    has_file = any(section.id == "artifact" for section in sections)
    facts = [
        Section(f"facts-{place}", group["title"], "", [_build_facts("", group)])
        for place, group in enumerate(shown["artifact"])
        if place or not has_file  # the first is among what the section of the file has
    ]
    expected = [
        *shown["missing"],
        *(head["empty"] for head in shown["panes"] if head["empty"] and head["id"] in _EXPECTED),
    ]
    absent = [*shown["missing"], *(head["empty"] for head in shown["panes"] if head["empty"])]
    if shown["file"]["advice"] is not None:
        absent.append({"title": "Artifact.", "text": shown["file"]["advice"], "tone": "plain"})
    yield OnPage(lambda: (*facts, *_list_absent(absent)), _list_absent(expected))


def _build_note(note: wire.Note) -> Sentence:
    sign = "" if note["tone"] == "plain" else f"{SIGNS[note['tone']]} "
    pieces: list[tuple[Look, str]] = [
        ("plain", sign),
        ("strong", note["title"]),
        ("plain", f" {note['text']}"),
    ]
    look: Look = "warning" if note["tone"] == "break" else "note"
    return Sentence(f"{sign}{note['title']} {note['text']}", look, pieces)


def _list_absent(notes: Sequence[wire.Note]) -> list[Block]:
    if not notes:
        return []
    items = Items([note["text"] for note in notes], heads=[note["title"] for note in notes])
    return [Section("absent", "Not here", str(len(notes)), [items])]


def _build_facts(title: str, group: wire.Artifact) -> Table:
    rows = [{"name": name, "value": value} for name, value in group["facts"]]
    columns = (Column("", "name"), Column("", "value", "code"))
    call = write_frame_call("report", "artifact") if title else ""
    return Table(title, columns, rows, call, most=len(rows))


def _list_builders() -> Iterator[tuple[str, _Build]]:
    """By pane what makes its section of the page."""
    yield from _SECTIONS.items()
    for pane in list_panes():
        if pane.section is not None:
            yield pane.id, pane.section
        elif pane.id not in (*_SECTIONS, *_WITHOUT_SECTION):
            yield pane.id, partial(_show_blocks, pane)


def _show_blocks(pane: Pane, report: Report, shown: wire.Document) -> PageSection | None:
    """The blocks of a pane that says nothing else of a page."""
    content = pane.document(report, ViewContext())
    if content.empty or not content.blocks:
        return None
    return str(content.count or ""), content.blocks, False


def _show_overview(report: Report, shown: wire.Document) -> PageSection:
    answer, advice = shown["answer"], shown["advice"]
    looks: Mapping[str, Look] = {"figure": "strong", "code": "code"}
    sentence = [(looks.get(piece["look"], "plain"), piece["text"]) for piece in answer["sentence"]]
    chips = ["".join(piece["text"] for piece in chip["pieces"]) for chip in answer["chips"]]
    figures = Table("", FIGURES, shown["figures"], most=len(shown["figures"]))
    blocks: list[Block] = [
        Sentence("".join(text for _, text in sentence), pieces=sentence),
        Sentence(" · ".join(filter(None, (*chips, answer["source"]))), "muted"),
        OnPage(lambda: [Fold("Details", [figures])]),
    ]
    if advice["rows"]:
        rows = advice["rows"]
        blocks.append(
            Items(
                [f"{row['text']} ({_say_doubt(row)})" for row in rows],
                "What to change",
                heads=[row["saving"] for row in rows],
                codes=[
                    "\n".join(f"{sign} {line}".lstrip() for sign, line in row["change"]["lines"])
                    for row in rows
                ],
                is_minor=True,
            )
        )
    elif advice["none"]:
        blocks.append(Sentence(advice["none"], "muted"))
    share = share_words(next((cost["kind"] for cost in shown["costs"]), None))
    blocks.append(Listings(shown["sources"], "report.frame('sources')", share))
    return "", blocks, True


def _say_doubt(row: Opportunity) -> str:
    return f"{row['sure']}, {row['place']}" if row["place"] else row["sure"]


def _show_breaks(report: Report, shown: wire.Document) -> PageSection | None:
    breaks = shown["breaks"]
    if not (breaks or shown["recompiles"] or shown["guards"]):
        return None
    call = write_frame_call("report", "guards")
    guards: list[tuple[Look, str]] = [("plain", f"{count_guards(shown)}: "), ("code", call)]
    blocks: list[Block] = [
        Few([_build_break(row) for row in breaks], "rows", "report.frame('breaks')"),
        _table(shown, "recompiles"),
        Sentence("".join(text for _, text in guards), pieces=guards),
        OnPage(lambda: [_table(shown, "guards", is_minor=True)]),
    ]
    return str(len(breaks)), blocks, bool(breaks)


def _build_break(row: wire.Break) -> Card:
    met = f" · met {row['count']} times" if row["count"] > 1 else ""
    place = f"{row['file']}:{row['line']} in {row['function']}{met} {row['gb_id'] or ''}"
    reason = [] if row["reason"] in row["explanation"] else [row["reason"]]
    texts = [row["explanation"], *reason]
    return Card(row["kind"], place.rstrip(), row["text"], texts, row["hints"])


def _show_kernels(report: Report, shown: wire.Document) -> PageSection | None:
    if not shown["kernels"]:
        return None
    blocks = [
        _table(shown, "kernels"),
        _table(shown, "configs"),
        OnPage(lambda: _list_codes(report)),
    ]
    return str(len(shown["kernels"])), blocks, True


def _list_codes(report: Report) -> Iterator[Code]:
    """The sources of kernels and wrappers and each kernel's assembly, each text once."""
    room, written = PAGE.texts, set()
    for title, key, language, anchor in _list_texts(report):
        text = find_text(report.texts, key)
        if text is None or key in written or text.count("\n") >= room:
            continue
        written.add(key)
        lines = text.count("\n") + 1
        room -= lines
        yield Code(text, title, plural(lines, "line"), language, anchor=anchor)


def _list_texts(report: Report) -> Iterator[tuple[str, str | None, str, str]]:
    """Each text with its title, its key, its language, and the id that leads to it."""
    for kernel in report.kernels:
        language = "cpp" if kernel.language == "cpp" else "python"
        yield f"{kernel.id} {kernel.name}", kernel.text, language, kernel.id
    for wrapper in report.wrappers:
        side = ", backward" if wrapper.is_backward else ""
        yield f"The wrapper that calls the kernels{side}", wrapper.text, "python", ""
    first: set[str] = set()
    for row in report.assembly:
        if row.stage in _ASSEMBLY and row.kernel not in first:
            first.add(row.kernel)
            language = "ptx" if row.stage == "ptx" else "text"
            yield f"{row.stage.upper()} of {row.kernel}", row.text, language, ""


def _show_graphs(report: Report, shown: wire.Document) -> PageSection | None:
    if not shown["graphs"]:
        return None
    blocks: list[Block] = [OnPage(lambda: [_table(shown, "graphs")])]
    if picture := encode_picture(report):
        count = plural(len(shown["kernels"]), "kernel")
        blocks.insert(0, Chart(f"{count} of {shown['name']} and their data flow", picture))
    return str(len(shown["graphs"])), blocks, False


def _show_fusion(report: Report, shown: wire.Document) -> PageSection | None:
    kernels, pairs = build_fusion_part(report), build_pairs_part(report)
    graphs = shown["cuda_graphs"]
    if not (kernels["steps"] or pairs["rows"] or graphs):
        return None
    steps = [{**step, "words": step["words"].replace("`", "")} for step in kernels["steps"]]
    rows = [
        {**row, "pair": f"{row['a_kernel'] or row['a']} · {row['b_kernel'] or row['b']}"}
        for row in pairs["rows"]
    ]
    blocks: list[Block] = [Sentence(kernels["sentence"])] if kernels["sentence"] else []
    blocks += [
        _table(shown, "groups", steps, is_minor=True),
        _table(shown, "rejected", rows, is_minor=True),
    ]
    if not rows:
        blocks.append(Sentence("No pair was rejected: everything that could be fused was fused."))
    if graphs:
        blocks += [
            Sentence(f"CUDA graphs: {graphs['summary']}"),
            _table(shown, "cuda_graphs", graphs["parts"], title="", is_minor=True),
        ]
    return str(len(rows)), blocks, False


def _show_tables(report: Report, shown: wire.Document, *names: str) -> PageSection | None:
    """A pane that is tables and nothing else."""
    tables = [_table(shown, name, is_minor=True) for name in names]
    return _count_first(tables)


def _count_first(tables: list[Table]) -> PageSection | None:
    """The tables that have rows, and how many the first of them has."""
    with_rows = [table for table in tables if table.rows]
    if not with_rows:
        return None
    return str(len(with_rows[0].rows) + with_rows[0].omitted), with_rows, False


def _show_file(report: Report, shown: wire.Document) -> PageSection | None:
    """What the file needs and holds, what it is, how long a round trip took."""
    file = shown["file"]
    names = ("ways", "requirements", "members", "contract")
    counted = _count_first(
        [_table(shown, name, cast(Any, file)[name], is_minor=name != "ways") for name in names]
    )
    if counted is None:
        return None
    falls = [build_fall(way) for way in file["ways"] if way["ran"]]
    count, tables, _ = counted
    return count, [*tables, _build_facts("File", shown["artifact"][0]), Few(falls, "tables")], False


def _list_memory(report: Report, shown: wire.Document) -> list[Block]:
    budgets = build_budgets_part(report)["rows"] if shown["has_budgets"] else []
    return list(list_memory_blocks(build_memory_part(report), budgets, "report"))


_OWN: Mapping[str, tuple[Column, ...]] = {
    "kernels": (
        Column("Kernel", "id", "code"),
        Column("Cost", "cost_text", "right"),
        Column("Share", "share", "share"),
        Column("Kind", "kind"),
        Column("Ops in it", "label", "code"),
        Column("Lines", "facts.Lines"),
        Column("Reads", "numbers.bytes_read", "B"),
        Column("Writes", "numbers.bytes_written", "B"),
        Column("FLOP", "numbers.flops", "count"),
        Column("Bound by", "bound"),
    ),
    "configs": (
        Column("Configuration", "id", "code"),
        Column("", "choice"),
        Column("", "facts", "prose"),
    ),
    "groups": (
        Column("Kernel", "kernel", "code"),
        Column("What it does", "words"),
        Column("Before", "before", "B"),
        Column("Fused", "after", "B"),
    ),
    "rejected": (
        Column("Pair", "pair", "code"),
        Column("Shared", "shared_bytes", "B"),
        Column("Why", "why", "prose"),
        Column("Fix", "help", "prose"),
    ),
    "phases": (
        Column("Phase", "name"),
        Column("Times", "times", "number"),
        Column("Total", "duration_s", "s"),
        Column("Self", "self_s", "s"),
    ),
    "graphs": (Column("Graph", "title"), Column("Nodes", "node_count", "number")),
}
"""Lists that are shown otherwise than in the tables of the interactive view."""
_TITLES: Mapping[str, tuple[str, str]] = {  # by list: title, name of the DataFrame
    "kernels": ("Kernels by cost", "costs"),
    "configs": ("Configurations, counted in compiled code", "resources"),
    "rejected": ("Pairs that were not fused", "not_fused"),
    "groups": ("Fusion groups", "traffic"),
    "recompiles": ("Recompiles", "recompiles"),
    "guards": ("Guards", "guards"),
    "choices": ("Choices", "autotune"),
    "ranked": ("Ranked by a model, not timed", "ranked_configs"),
    "points": ("Roofline time of each kernel (estimate)", "roofline"),
    "phases": ("Time by phase, threads added up", "phases"),
    "cuda_graphs": ("CUDA graphs", "cuda_graphs"),
    "collectives": ("Collectives (modelled times)", "collectives"),
    "accesses": ("Memory coalescing by source line", "accesses"),
    "ways": ("Round trip", "roundtrip"),
    "requirements": ("Does it load on this machine?", "requirements"),
    "members": ("File contents", "members"),
    "contract": ("Inputs and outputs", "contract"),
    "graphs": ("Graphs of every stage", "graphs"),
}
_STORED = {"costs": "kernels"}
"""By derived table the recorded one whose rows it has."""
FIGURES = (
    Column("", "label"),
    Column("", "value", "code"),
    Column("", "note"),
)
_MAIN_FIGURES = ("bound_us", "registers", "occupancy")
"""The figures of a matrix that stand before the others."""


def _table(
    shown: wire.Document,
    name: str,
    rows: Sequence[Mapping[str, Any]] | None = None,
    *,
    title: str | None = None,
    is_minor: bool = False,
) -> Table:
    """One list of a report's document, or rows that are found deeper in it, as a table."""
    caption, frame = _TITLES[name]
    if name == "kernels" and shown["costs"]:
        caption = f"{caption}: {shown['costs'][0]['source']}"
    if rows is None:
        rows = _ROWS[name](shown) if name in _ROWS else cast(Any, shown)[name]
    columns = _OWN[name] if name in _OWN else spell_out_columns(name, cast(Any, rows))
    return Table(
        caption if title is None else title,
        columns,
        cast(Any, rows),
        write_frame_call("report", frame),
        omitted=shown["omitted"].get(_STORED.get(frame, frame), 0),
        is_minor=is_minor,
    )


def _show_matrix(report: Report, shown: wire.Document) -> PageSection | None:
    """A table of kernels × GPUs for each figure, then the remarks."""
    if not shown["matrix"]:
        return None
    targets = shown["matrix_targets"]
    tables, kernel = [], Column("Kernel", "kernel", "code")
    cells = [
        (row["kernel"], dict(zip(targets, row["cells"], strict=True))) for row in shown["matrix"]
    ]
    by_name, call = measures(MatrixCell), write_frame_call("report", "matrix")
    for figure in dict.fromkeys((*_MAIN_FIGURES, *by_name)):
        measure = by_name[figure]
        title, unit = measure.heading or measure.hint, exact(measure.unit)
        columns = [kernel, *(Column(target, target, unit) for target in targets)]
        values = [{t: cast(Any, c)[figure] for t, c in own.items() if c} for _, own in cells]
        if any(value is not None for row in values for value in row.values()):
            rows = [{"kernel": id, **row} for (id, _), row in zip(cells, values, strict=True)]
            tables.append(Table(title, columns, rows, call))
    remarks = [
        {"kernel": id, "target": target, "note": cell["note"]}
        for id, own in cells
        for target, cell in own.items()
        if cell and cell["note"]
    ]
    columns = [kernel, Column("GPU", "target"), Column("", "note", "prose")]
    blocks: list[Block] = [Few(tables, "tables"), Table("Notes", columns, remarks)]
    return str(len(targets)), blocks, False


def _show_accesses(report: Report, shown: wire.Document) -> PageSection | None:
    if not shown["accesses"]:
        return None
    blocks: list[Block] = [
        Sentence(shown["accesses_says"]),
        _table(shown, "accesses", is_minor=True),
    ]
    return str(len(shown["accesses"])), blocks, True


def _points(shown: wire.Document) -> list[dict[str, Any]]:
    labels = {kernel["id"]: kernel["label"] for kernel in shown["kernels"]}
    return [
        {**row, "kernel": f"{row['kernel']} {labels.get(row['kernel'], '')}"}
        for row in shown["points"]
    ]


def _guards(shown: wire.Document) -> list[dict[str, Any]]:
    """The dropped ones first: each has a reason to be read."""
    return sorted(cast(Any, shown["guards"]), key=lambda row: row["kept"])


def count_guards(shown: wire.Document) -> str:
    """How many guards are kept and dropped, and why those were."""
    kept = sum(guard["kept"] for guard in shown["guards"])
    why = Counter(guard["why_dropped"] for guard in shown["guards"] if not guard["kept"])
    reasons = "".join(f"; {count}: {reason}" for reason, count in why.most_common() if reason)
    return f"{plural(kept, 'guard')} kept, {len(shown['guards']) - kept} dropped{reasons}"


def _phases(shown: wire.Document) -> list[dict[str, Any]]:
    totals: dict[str, dict[str, Any]] = {}
    for phase in shown["phases"]:
        row = totals.setdefault(
            phase["name"], {"name": phase["name"], "times": 0, "duration_s": 0.0, "self_s": 0.0}
        )
        row["times"] += 1
        row["duration_s"] += phase["duration_s"]
        row["self_s"] += phase["self_s"]
    return sorted(totals.values(), key=lambda row: -row["self_s"])


def _kernels(shown: wire.Document) -> list[dict[str, Any]]:
    """The most expensive first, by the best cost that is known."""
    kind = next((cost["kind"] for cost in shown["costs"]), None)
    values = [kernel["cost"].get(kind or "") for kernel in shown["kernels"]]
    total = sum(value or 0.0 for value in values)
    rows = [
        {
            **kernel,
            "cost_text": cost_text(kernel["cost"], kind),
            "share": value / total if value is not None and total else None,
        }
        for kernel, value in zip(shown["kernels"], values, strict=True)
    ]
    return sorted(rows, key=lambda row: -cast(Any, row["cost"]).get(kind, -1.0))


def _configs(shown: wire.Document) -> list[dict[str, Any]]:
    return [
        {**config, "facts": ", ".join(f"{name.lower()} {value}" for name, value in config["facts"])}
        for kernel in shown["kernels"]
        for config in kernel["configs"]
        if config["facts"]
    ]


_ROWS: Mapping[str, Callable[[wire.Document], Sequence[Mapping[str, Any]]]] = {
    "kernels": _kernels,
    "guards": _guards,
    "phases": _phases,
    "configs": _configs,
    "points": _points,
}
"""What is counted or worded of the document."""
_WITHOUT_SECTION = ("memory", "checks", "tables")  # it has its own; they need a script
_Build = Callable[[Report, wire.Document], PageSection | None]
_SECTIONS: Mapping[wire.PaneId, _Build] = {
    "overview": _show_overview,
    "breaks": _show_breaks,
    "kernels": _show_kernels,
    "graphs": _show_graphs,
    "fusion": _show_fusion,
    "timeline": lambda report, shown: _show_tables(report, shown, "phases"),
    "autotune": lambda report, shown: _show_tables(report, shown, "choices", "ranked"),
    "roofline": lambda report, shown: _show_tables(report, shown, "points"),
    "artifact": _show_file,
    "matrix": _show_matrix,
    "accesses": _show_accesses,
}
