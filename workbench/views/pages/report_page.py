"""A report as HTML: a page that opens from disk, and the summary that a notebook keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike

from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.charts.calls_chart import encode_picture
from workbench.views.document import ViewContext, document
from workbench.views.pages.embedded_parts import embedded
from workbench.views.pages.interactive import interactive
from workbench.views.pages.redaction import redact as without_sources
from workbench.views.panes.pane import choose_pane
from workbench.views.parts import build_fused
from workbench.views.parts.budgets_part import build_budgets_part
from workbench.views.parts.memory_part import build_memory_part
from workbench.views.static_html import render
from workbench.views.static_html.grids import PAGE
from workbench.views.static_html.static_report import Code, body, summary
from workbench.views.wire.codec import SMALL, bundle, pack
from workbench.views.wire.memory_messages import MemoryPart
from workbench.views.wire.report_messages import Embedded, SavedPage
from workbench.views.words.record_words import text_of
from workbench.views.words.units import plural

PAGE_BYTES = 1_950_000
"""A whole page."""
_ASSEMBLY = ("ptx", "amdgcn")


def page(report: Report, path: str | PathLike[str] | None = None, *, redact: bool = False) -> str:
    """A self-contained page, at most 2 MB; written to `path` when given.

    It opens from disk without a network. Where no script runs, what matters of each pane stands
    below one another as plain HTML.
    """
    dropped: tuple[str, ...] = ()
    if redact:
        report, dropped = without_sources(report)
    loaded = f'wb.Report.load("{_file_name(report)}.wbr")'  # nothing is alive beside a page
    shown = document(report, ViewContext(loaded, dropped=dropped))
    memory = _memory(report)
    budgets = build_budgets_part(report) if shown["has_budgets"] else None
    codes = tuple(_codes(report))
    static = body(shown, encode_picture(report), codes, memory, budgets, build_fused(report))
    limit = PAGE_BYTES - len(static.encode()) - len(bundle()[0])
    kept = embedded(report, shown, "full", limit, has_scripts=True)
    if (pane := choose_pane(report)) != "overview":
        kept["pane"] = pane
    record = pack(kept, SMALL)
    view = interactive(static, record, kind="page", carries_bundle=True)
    return render.page(f"{shown['name']}, compiled", view, path, has_view=True)


def embed_record(report: Report, limit: int) -> Embedded:
    """What the page of something else carries of a report that is opened from it, in bytes."""
    return embedded(report, document(report), "full", limit, has_scripts=True)


def _memory(report: Report) -> MemoryPart | None:
    try:
        return build_memory_part(report)
    except UsageError:
        return None  # its pane says why


def make_saved_page(report: Report) -> SavedPage:
    """The page as what a live view gives its reader to keep."""
    return {"name": f"{_file_name(report)}.html", "html": page(report)}


def _file_name(report: Report) -> str:
    return re.sub(r"\W+", "_", report.request.name or "report").strip("_") or "report"


def fragment(report: Report) -> str:
    """A small version for a notebook's output: no script, no style sheet, readable untrusted."""
    return summary(document(report), encode_picture(report), build_fused(report))


def _codes(report: Report) -> Iterator[Code]:
    """The sources of kernels and wrappers and each kernel's assembly, each text once."""
    room, seen = PAGE.texts, set()
    for id, title, key, language in _texts(report):
        text = text_of(report, key)
        if text is None or key in seen or text.count("\n") >= room:
            continue
        seen.add(key)
        lines = text.count("\n") + 1
        room -= lines
        yield Code(id, f"{title}, {plural(lines, 'line')}", text, language)


def _texts(report: Report) -> Iterator[tuple[str, str, str | None, str]]:
    for kernel in report.kernels:
        language = "cpp" if kernel.language == "cpp" else "python"
        yield kernel.id, f"{kernel.id} {kernel.name}", kernel.text, language
    for wrapper in report.wrappers:
        side = ", backward" if wrapper.is_backward else ""
        yield wrapper.id, f"The program that calls them{side}", wrapper.text, "python"
    first: set[str] = set()
    for row in report.assembly:
        if row.stage in _ASSEMBLY and row.kernel not in first:
            first.add(row.kernel)
            yield f"{row.config}-{row.stage}", f"{row.stage.upper()} of {row.kernel}", row.text, (
                "ptx" if row.stage == "ptx" else "text"
            )  # fmt: skip
