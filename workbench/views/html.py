"""A report as HTML: a page that opens from disk, and the fragment that a notebook keeps."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path

from workbench.analysis.fusion.kinds import kernel_marks
from workbench.analysis.source.redact import redact as without_sources
from workbench.report import Report
from workbench.views.blocks import Heat, Note, Pane
from workbench.views.document import Setting
from workbench.views.document.overview import verdict
from workbench.views.embedding import embedded
from workbench.views.interactive import interactive
from workbench.views.limits import Limits
from workbench.views.outputs import output
from workbench.views.panes import panes
from workbench.views.picture import picture_address
from workbench.views.place_words import title_of
from workbench.views.render import parts
from workbench.views.render.skin import Skin
from workbench.views.render.tables import legend
from workbench.views.wire_codec import SMALL, bundle, pack

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)
PAGE_BYTES = 1_950_000
"""A whole page."""
OPENING = "<script>document.documentElement.classList.add('wb-opening')</script>"
_STYLE = "body { margin: 0 } .wb-opening .wb-summary { display: none }"


def page(report: Report, path: str | PathLike[str] | None = None, *, redact: bool = False) -> str:
    """A self-contained page, at most 2 MB; written to `path` when given.

    It opens from disk without a network. Where no script runs, the same panes stand below one
    another as plain HTML.
    """
    dropped: tuple[str, ...] = ()
    if redact:
        report, dropped = without_sources(report)
    summary = _summary(report, dropped)
    limit = PAGE_BYTES - len(summary.encode()) - len(bundle()[0])
    record = pack(embedded(report, Setting(dropped=dropped), "full", limit), SMALL)
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title_of(report))}, compiled</title>"
        f'<style class="wb-of-summary">{_page_style()}</style><style>{_STYLE}</style>{OPENING}'
        f"</head><body>{interactive(summary, record, kind='page', carries_bundle=True)}"
        "</body></html>\n"
    )
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _page_style() -> str:
    return files("workbench.views").joinpath("page.css").read_text(encoding="utf-8")


def _summary(report: Report, dropped: tuple[str, ...]) -> str:
    """The panes as plain HTML."""
    skin = Skin(is_page=True, marks=kernel_marks(report))
    sections = panes(report, Limits.for_page())
    notice = ""
    if dropped:
        words = "; ".join(dropped)
        notice = parts.note(Note("Dropped before sharing:", f"{words}.", "fallback"), skin)
    content = "".join(_section(pane, skin) for pane in sections)
    return (
        f"{_header(report, skin)}{_tabs(sections, skin)}<main>{notice}{content}</main>{_footer()}"
    )


def fragment(report: Report) -> str:
    """A small version for a notebook's output: no script, no style sheet, readable untrusted."""
    skin = Skin(is_page=False, marks=kernel_marks(report))
    body = []
    for pane in panes(report, Limits.for_notebook()):
        content = "".join(parts.block(item, skin) for item in pane.blocks)
        if any(isinstance(item, Heat) for item in pane.blocks):
            content += legend(skin)
        is_open = " open" if pane.id == "overview" or pane.is_problem else ""
        count = f" <span{skin.at('muted')}>{pane.count}</span>" if pane.count else ""
        sign = f" {skin.icon('break')}" if pane.is_problem else ""
        if pane.id == "graphs":
            content = _picture(report) + content
        body.append(
            f"<details{skin.at('pane')}{is_open}><summary{skin.at('pane-title')}>"
            f"{escape(pane.title)}{sign}{count}</summary>{content}</details>"
        )
    return output(f"{_headline(report, skin)}{''.join(body)}")


def _picture(report: Report) -> str:
    """The kernels and what flows between them, as an image: no sanitiser takes that away."""
    address = picture_address(report)
    if address is None:
        return ""
    words = f"{len(report.kernels)} kernels of {title_of(report)} and what flows between them"
    return f'<div><img src="{address}" alt="{escape(words)}" style="max-width:100%"></div>'


def _header(report: Report, skin: Skin) -> str:
    words, tone = verdict(report)
    inputs = "; ".join(report.request.inputs)
    torch = f"torch {report.environment.torch}" if report.environment.torch else ""
    return (
        f"<header><h1>{escape(title_of(report))}</h1>{skin.tag(words, tone)}"
        f"{skin.tag(report.request.target, 'plain')}"
        f'<span class="facts" title="{escape(inputs)}">{escape(inputs)}</span>'
        f'<span class="facts end">{escape(torch)}</span></header>'
    )


def _headline(report: Report, skin: Skin) -> str:
    words, tone = verdict(report)
    inputs = escape("; ".join(report.request.inputs))
    return (
        f'<div style="margin: 0 0 4px 0"><b style="font-family: monospace">'
        f"{escape(title_of(report))}</b> &#8195;{skin.tag(words, tone)} &#8195;"
        f"{escape(report.request.target)} &#8195;<span{skin.at('muted')}>{inputs}</span></div>"
    )


def _tabs(sections: tuple[Pane, ...], skin: Skin) -> str:
    links = []
    for pane in sections:
        sign = skin.icon("break") if pane.is_problem else ""
        count = f" <small>{sign}{pane.count}</small>" if pane.count is not None else ""
        links.append(f'<a href="#{pane.id}">{escape(pane.title)}{count}</a>')
    return f'<nav aria-label="Panes">{"".join(links)}</nav>'


def _section(pane: Pane, skin: Skin) -> str:
    has_heat = any(isinstance(item, Heat) for item in pane.blocks)
    title = f"<h2>{escape(pane.title)}</h2>{legend(skin) if has_heat else ''}"
    content = "".join(parts.block(item, skin) for item in pane.blocks)
    return f'<section id="{pane.id}"><div class="bar">{title}</div>{content}</section>'


def _footer() -> str:
    return (
        "<footer>Every table here is also a DataFrame: <code>report.frame('kernels')</code>. "
        "This page needs no network and no server.</footer>"
    )
