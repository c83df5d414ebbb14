"""A difference as the one document that a view shows, as a page, and as a notebook keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from workbench.analysis.diff.difference import (
    MEASURED,
    PARTS,
    Change,
    Diff,
    KernelMatch,
    compare_sources,
    get_label,
)
from workbench.analysis.fusion.traffic import sum_known
from workbench.number_text import ABSENT, plural
from workbench.report import Report
from workbench.report.side_by_side import SideBySide, sign_lines, split_hunks
from workbench.views.diff.program_lines import compare_programs
from workbench.views.diff.sentences import (
    CHANGES,
    TITLES,
    describe_side,
    format_delta,
    name_item,
    name_note,
    sentences,
    value_text,
)
from workbench.views.kit.blocks import (
    Changes,
    Document,
    Items,
    Section,
    Sentence,
    Table,
    write_frame_call,
)
from workbench.views.tables.column import Column
from workbench.views.wire.codec import SMALL, convert_row, pack
from workbench.views.wire.diff_messages import (
    DiffDocument,
    DiffKernels,
    DiffLine,
    DiffPart,
    DiffRow,
)
from workbench.views.words.progress_words import find_compiler, name_own_work
from workbench.views.words.record_words import name_stage

VERSION = 1
MOST_ROWS = 400
"""Rows of a part in a view; `.frame()` has all."""
MOST_LINES = 20_000
"""Lines of source in a view, of all kernels together; `.source()` has all."""
_LABELS = 3  # names of kernels in a title
_COLUMNS = (
    Column("", "change"),
    Column("Item", "item", "code"),
    Column("a", "a"),
    Column("b", "b"),
    Column("", "delta", "right"),
    Column("", "notes", "prose"),
)
_CONTEXT = 3


def document(diff: Diff) -> DiffDocument:
    """Everything that a view shows."""
    places = _places(diff)
    same, missing = dict(diff.same), dict(diff.missing)
    parts = [_part(diff, part, same.get(part, 0), missing.get(part), places) for part in PARTS]
    return {
        "version": VERSION,
        "a": {"name": diff.names[0], "words": describe_side(diff.a)},
        "b": {"name": diff.names[1], "words": describe_side(diff.b)},
        "is_same": diff.is_same,
        "sentences": [{"text": s.text, "part": s.part} for s in sentences(diff)],
        "parts": [part for part in parts if part["differ"] or part["same"] or part["missing"]],
        "program": compare_programs(diff),
        "kernels": list(_kernels(diff)),
    }


def _places(diff: Diff) -> Mapping[tuple[str, str], int]:
    """The match that a kernel of a or of b belongs to, by index."""
    return {
        (side, id): n
        for n, match in enumerate(diff.kernels)
        for side, ids in (("a", match.a), ("b", match.b))
        for id in ids
    }


def _part(
    diff: Diff, part: str, same: int, missing: str | None, places: Mapping[tuple[str, str], int]
) -> DiffPart:
    changes = [change for change in diff.changes if change.part == part]
    if part == "phases":
        changes = _add_up(diff, changes)
    stages = _stages(diff) if part == "nodes" else {}
    return {
        "id": part,
        "title": TITLES[part],
        "differ": len(changes),
        "same": same,
        "is_measured": part in MEASURED,
        "missing": missing,
        "rows": [_row(change, stages, places) for change in changes[:MOST_ROWS]],
        "more": max(len(changes) - MOST_ROWS, 0),
    }


def _add_up(diff: Diff, phases: Sequence[Change]) -> list[Change]:
    """One row for what is called by the same words, behind that of the whole compilation."""
    compilers = {find_compiler(diff.a), find_compiler(diff.b)}
    compiler = compilers.pop() if len(compilers) == 1 else None
    by_words: dict[str, list[Change]] = {}
    for change in phases[1:]:
        by_words.setdefault(name_own_work(change.item, compiler), []).append(change)
    rows = []
    for words, own in by_words.items():
        a, b = (
            sum_known(value if isinstance(value, float) else None for value in side)
            for side in ([c.a for c in own], [c.b for c in own])
        )
        name = own[0].change if a is None or b is None else "more" if b > a else "less"
        rows.append(replace(own[0], item=words, change=name, a=a, b=b))
    rows.sort(key=lambda row: -abs(float(row.b or 0) - float(row.a or 0)))
    return [*phases[:1], *rows]


def _stages(diff: Diff) -> Mapping[str, str]:
    """What each graph is, for either side, by side and id."""
    return {
        f"{side}{graph.id}": name_stage(graph.stage, is_backward=graph.is_backward)
        for side, report in (("a", diff.a), ("b", diff.b))
        for graph in report.graphs
    }


def _row(
    change: Change, stages: Mapping[str, str], places: Mapping[tuple[str, str], int]
) -> DiffRow:
    side, id = ("a", change.id_a) if change.id_a else ("b", change.id_b or "")
    kernel_places = [
        places.get((which, one))
        for which, ids in (("a", change.id_a), ("b", change.id_b))
        if ids
        for one in ids.split(",")
    ]
    return convert_row(
        DiffRow,
        change,
        change=CHANGES[change.change],
        item=name_item(change),
        a=value_text(change, change.a),
        b=value_text(change, change.b),
        note=name_note(change),
        delta=format_delta(change),
        where=stages.get(f"{side}{id.partition(':')[0]}", ""),
        kernels=sorted({place for place in kernel_places if place is not None}),
    )


def _kernels(diff: Diff) -> Iterator[DiffKernels]:
    rows_a, rows_b = diff.kernel_rows
    facts = _facts(diff)
    left = MOST_LINES
    for match in diff.kernels:
        own = [rows_a[id] for id in match.a] + [rows_b[id] for id in match.b]
        source = list(_lines(diff, match)) if match.relation != "same" else []
        if len(source) > left:
            source = []
        left -= len(source)
        labels = list(dict.fromkeys(get_label(kernel) for kernel in own))
        more = [f"{len(labels) - _LABELS} more"] if len(labels) > _LABELS else []
        generated = [k.language for k in reversed(own) if k.text is not None]
        yield {
            "title": ", ".join(labels[:_LABELS] + more),
            "relation": CHANGES[match.relation],
            "a": [f"{id} {rows_a[id].name}" for id in match.a],
            "b": [f"{id} {rows_b[id].name}" for id in match.b],
            "facts": [*match.why, *facts.get(match.a or match.b, ())],
            "language": generated[0] if generated else "extern",
            "source": source,
        }


def _facts(diff: Diff) -> Mapping[tuple[str, ...], list[str]]:
    """What the other parts say of the kernels of a match, by their ids in a, else in b."""
    by_ids: dict[tuple[str, ...], list[str]] = {}
    for change in diff.changes:
        ids = tuple(filter(None, (change.id_a or change.id_b or "").split(",")))
        if change.part not in ("traffic", "resources", "times") or not ids:
            continue
        a, b = value_text(change, change.a), value_text(change, change.b)
        if a == b:
            continue
        name = change.item.rpartition(": ")[2] if change.part == "resources" else change.part
        delta = format_delta(change)
        by_ids.setdefault(ids, []).append(f"{name} {a} → {b}{f' ({delta})' if delta else ''}")
    return by_ids


def _lines(diff: Diff, match: KernelMatch) -> Iterator[DiffLine]:
    code = compare_sources(diff, match)
    if code is None:
        return
    rows: Iterable[SideBySide] = code.rows
    if not code.after:  # a whole source, on one side only
        lines = enumerate(code.before.split("\n"), 1)
        rows = (SideBySide("removed", n, line, None, None) for n, line in lines)
    elif not code.before:
        lines = enumerate(code.after.split("\n"), 1)
        rows = (SideBySide("added", None, None, n, line) for n, line in lines)
    for row in rows:
        yield convert_row(DiffLine, row, left=row.before_line, right=row.after_line)


def title(a: Report, b: Report) -> str:
    """What a page is called."""
    names = dict.fromkeys((a.request.name or "compilation", b.request.name or "compilation"))
    return f"{' and '.join(names)}, compared"


def build_blocks(diff: Diff) -> Document:
    """The sentences, what differs part by part, what is the same or was not compared."""
    shown = document(diff)
    alike = [p["title"] for p in shown["parts"] if p["same"] and not p["differ"]]
    missing = [f"{p['title']} ({p['missing']})" for p in shown["parts"] if p["missing"]]
    words = f"The same in both: {', '.join(alike)}." if alike else ""
    words += f" Not compared: {'; '.join(missing)}." if missing else ""
    a, b = shown["a"], shown["b"]
    return Document(
        f"{a['name']} → {b['name']}",
        [
            Items([sentence["text"] for sentence in shown["sentences"]]),
            *_build_program(shown),
            *(_build_part(part, shown) for part in shown["parts"] if part["differ"]),
            Sentence(words, "muted"),
        ],
        facts=f"a: {a['words']} · b: {b['words']}",
        tab=title(diff.a, diff.b),
        frame="diff.frame('kernels')",
        pack=lambda _: pack({"diff": shown}, SMALL),
        is_light=False,
    )


def _build_program(shown: DiffDocument) -> Iterator[Section]:
    """The lines of the program that differ, where any does."""
    program = shown["program"]
    if any(line["kind"] != "same" for line in program["lines"]):
        changed = Changes("", "", list(unified(program["lines"])))
        yield Section("program", program["title"], "", [changed])


def _build_part(part: DiffPart, shown: DiffDocument) -> Section:
    call = write_frame_call("diff", part["id"])
    counted = f"{part['differ']} differ, {part['same']} the same"
    if part["is_measured"]:
        counted = f"{plural(part['differ'], 'number')}, different in every run"
    if part["id"] == "kernels":
        changed = (kernel for kernel in shown["kernels"] if kernel["relation"] != "same")
        kernels = [_build_kernel(kernel) for kernel in changed]
        return Section(part["id"], part["title"], counted, kernels, call=call)
    rows = [
        {**row, "notes": " · ".join(filter(None, (row["where"], row["note"])))}
        for row in part["rows"]
    ]
    table = Table("", _COLUMNS, rows, call, omitted=part["differ"] - len(rows))
    return Section(part["id"], part["title"], counted, [table])


def _build_kernel(kernel: DiffKernels) -> Changes:
    ids = " → ".join(
        ", ".join(name.partition(" ")[0] for name in names) or ABSENT
        for names in (kernel["a"], kernel["b"])
    )
    facts = " · ".join((kernel["relation"], *kernel["facts"]))
    return Changes(f"{ids} {kernel['title']}", facts, list(unified(kernel["source"])))


def unified(source: Sequence[DiffLine]) -> Iterator[str]:
    """The lines that differ with three equal ones around them; `@@` where equal ones are left out.

    Where only one side has a source, all of it.
    """
    for near in split_hunks([line["kind"] for line in source], _CONTEXT):
        run = source[near.start : near.stop]
        if near.start:
            yield f"@@ {run[0]['left'] or ABSENT}, {run[0]['right'] or ABSENT}"
        yield from sign_lines((line["kind"], line["before"], line["after"]) for line in run)
