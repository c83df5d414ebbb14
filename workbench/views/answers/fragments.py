"""Answers as documents of blocks: a check, a file, rivals, cures, round trips."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any

from markupsafe import Markup

from workbench.analysis.opportunities.rehearsed_cures import Rehearsal
from workbench.artifacts.inspect.artifact_report import TITLES, WRONG, ArtifactReport
from workbench.artifacts.preflight.check import SIGNS, Check
from workbench.number_text import ABSENT, join_words, number_text
from workbench.report.cache_keys import WhyRecompiled
from workbench.report.requirement_rows import NOT_CHECKED
from workbench.report.rivals import Rivals
from workbench.views.answers.alternatives_text import (
    describe_rehearsal,
    left,
    list_codes,
    summarize_rehearsal,
    summarize_rivals,
)
from workbench.views.kit.blocks import (
    Beside,
    Block,
    Code,
    Document,
    Limits,
    Section,
    Sentence,
    Table,
    write_frame_call,
    write_text,
)
from workbench.views.kit.shown import Shown
from workbench.views.static_html.render import summarize
from workbench.views.tables.column import Column

_CHECK = (
    Column("", "sign"),
    Column("requirement", "name"),
    Column("needed", "needed", "code"),
    Column("found", "found", "code"),
    Column("", "advice", "prose"),
)
_CURES = (
    Column("", "id", "code"),
    Column("place", "place", "code"),
    Column("cure", "kind"),
    Column("", "verdict"),
    Column("left", "left"),
    Column("", "text", "prose"),
    Column("compared", "checked", "prose"),
)
_BYTES = 300_000  # a notebook keeps it: there is no other view; the accessors have all
_LEVELS = tuple(
    Limits(rows=rows, others=rows, lines=rows, context=0, letters=200, texts=texts)
    for rows, texts in ((1000, 150_000), (400, 100_000), (120, 50_000), (20, 10_000))
)
_TITLES = {
    "models": "Models",
    "variants": "Variants",
    "inputs": "Inputs",
    "outputs": "Outputs",
    "needs": "Machine requirements",
    "outside": "External objects",
    "guards": "Guards, kept and dropped",
    "constants": "Constants",
    "names": "Names imported by pickles",
    "pickled": "Pickles",
    "kernels": "GPU kernels",
    "members": "Members",
    "libraries": "Libraries",
    "sections": "Library sections",
    "symbols": "Library symbols",
}
_OPEN = ("models", "variants", "inputs", "outputs", "needs", "outside")
_SIZES = ("size", "bytes", "B")
_RELEASES = ("python", "torch", "gpu")
_NAMED = 3
_WIDE = 40
_NUMBERS = ("constants", "exports", "imports", "registers")


def _build_check(check: Check) -> Document:
    """The requirements as a table, with what to do about those that are not met."""
    rows = [
        {**asdict(row), "sign": SIGNS.get(row.verdict, SIGNS[NOT_CHECKED])}
        for row in check.requirements
    ]
    table = Table("", _CHECK, rows, most=len(rows))
    return Document(f"{os.path.basename(check.path)}: {check.verdict}", [table])


def _build_why_recompiled(why: WhyRecompiled) -> Document:
    """The sentence and a table of what differs."""
    differing = [row for row in why.rows if row.same is not True]
    columns = (Column("", "graph"), Column("part", "part"), Column(why.a, "a"), Column(why.b, "b"))
    rows = [
        {"graph": row.graph, "part": row.part}
        | {
            side: ABSENT if value is None else value.partition("\n")[0]
            for side, value in (("a", row.a), ("b", row.b))
        }
        for row in differing
        if row.part != "graph" or None in (row.a, row.b)  # the sentence says where they part
    ]
    return Document("", [Code(why.text), Table("", columns, rows, most=len(rows))])


def _build_rehearsal(trial: Rehearsal) -> Document:
    """The sentence, the cures as a table, and the patch of those that were tried together."""
    rows = [
        {**asdict(cure), "place": f"{cure.file}:{cure.line}", "left": left(cure)}
        for cure in trial.cures
    ]
    patch = trial.patch()
    blocks: list[Block] = [Sentence(summarize_rehearsal(trial))]
    blocks += [Code(patch)] if patch else []
    return Document("", [*blocks, Table("", _CURES, rows, most=len(rows))])


def _build_rivals(rivals: Rivals) -> Document:
    """The sentence and both codes, each whole, beside each other."""
    return Document("", [Sentence(summarize_rivals(rivals)), Beside(list_codes(rivals))])


def show_progress(title: str, lines: Iterable[tuple[str, float, bool]]) -> str:
    """How far something is: its title, then each phase with its seconds and whether it runs."""
    columns = (Column("", "sign"), Column("", "name"), Column("", "seconds", "s"))
    rows = [
        {"sign": "▸" if running else "✓", "name": name, "seconds": seconds}
        for name, seconds, running in lines
    ]
    table = Table("", columns, rows, most=len(rows))
    return summarize(Document("", [Sentence(title), table]))


def _build_inspected(report: ArtifactReport) -> Document:
    """What is in a file; a notebook keeps the first of ever shorter versions that is not too long.

    Its tables are folded but for what matters to a caller.
    """
    digest = report.digest or "digest not computed: wb.inspect(path, verify=True)"
    facts = (TITLES[report.kind], number_text(report.size, "bytes"), report.signature)
    told = _tell_file(report)
    blocks: list[Block] = [Sentence(told)] if told else []
    blocks += [Sentence(words, "warning") for words in _warnings(report)]
    blocks += [Sentence(words, "muted") for words in report.notes]
    blocks += [_table(report, name) for name in _TITLES if getattr(report, name)]
    if report.texts:
        codes = [
            Code(
                text.text,
                text.name,
                f"{text.language}, {number_text(text.size, 'bytes')}",
                call=Markup(".source('{}')").format(text.name),
            )
            for text in report.texts
        ]
        blocks.append(Section("sources", "Sources", str(len(codes)), codes))
    blocks.append(Sentence(digest, "code"))
    name = os.path.basename(report.path)
    return Document(name, blocks, "\N{EM SPACE}".join(facts), summary_bytes=_BYTES, levels=_LEVELS)


def _tell_file(report: ArtifactReport) -> str:
    """What it holds, what it needs, and whether it loads here."""
    names = [row.name for row in report.models]
    held = f"Holds {_list(names)}. " if names else ""
    first = [f"{row.name} {row.needed}" for row in report.needs if row.name in _RELEASES]
    needs = f"Needs {join_words(first)}. " if first else ""
    return f"{held}{needs}{f'Loads: {report.loads}.' if report.loads else ''}".strip()


def _list(names: Sequence[str]) -> str:
    shown, more = list(names[:_NAMED]), len(names) - _NAMED
    return join_words([*shown, f"{more} more"] if more > 0 else shown)


def _warnings(report: ArtifactReport) -> Iterator[str]:
    yield from (f"damaged: {name}" for name in report.damaged)
    running = sorted({row.name for row in report.names if row.level in WRONG})
    if running and not report.is_own:  # who signed a file knows what is in it
        yield f"pickles in the file import names that run commands: {', '.join(running)}"


def _table(report: ArtifactReport, name: str) -> Table:
    records: Sequence[Any] = getattr(report, name)
    hidden = {"direction"} if name in ("inputs", "outputs") else set()
    if len(report.models) == 1:
        hidden.add("model")
    rows = [_worded(asdict(row)) for row in records]
    columns = [
        _column(field.name, max(len(str(row[field.name])) for row in rows))
        for field in fields(records[0])
        if field.name not in hidden
    ]
    call = write_frame_call("", name)
    return Table(_TITLES[name], columns, rows, call, is_open=name in _OPEN)


def _column(name: str, longest: int) -> Column:
    title = name.replace("_", " ")
    if name in _SIZES:
        return Column(title, name, "B")
    if name == "why" or (name == "library" and longest > _WIDE):
        return Column(title, name, "prose")  # a line of its own: other columns stay in sight
    return Column(title, name, "number" if name in _NUMBERS else "code")


def _worded(row: dict[str, Any]) -> dict[str, Any]:
    """A row with yes and no, with addresses as such, and a sign before what is wrong."""
    words = {True: "yes", False: "no"}
    cells = {k: words[v] if isinstance(v, bool) else v for k, v in row.items()}
    if isinstance(cells.get("address"), int):
        cells["address"] = f"{cells['address']:#x}"
    return {k: f"⚠ {v}" if v in WRONG else v for k, v in cells.items()}


SHOWN = {
    "ArtifactReport": Shown(document=_build_inspected),
    "Check": Shown(document=_build_check),
    "KernelCheck": Shown(pane="checks"),
    "Rehearsal": Shown(document=_build_rehearsal, text=describe_rehearsal),
    "Rivals": Shown(document=_build_rivals, text=lambda rivals: write_text(_build_rivals(rivals))),
    "WhyRecompiled": Shown(document=_build_why_recompiled),
}
