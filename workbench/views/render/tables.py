"""Tables, figures and source heat as HTML tables."""

from __future__ import annotations

from html import escape

from workbench.views.blocks import Column, Figures, Grid, Heat, HeatLine, Span, Tag
from workbench.views.highlight import line_pieces
from workbench.views.render.skin import WORDS, Skin
from workbench.views.units import bytes_text

_SHOWN_KERNELS = 2
_TOLD_KERNELS = 40  # on hovering


def caption(skin: Skin, title: str, *, frame: str | None = None, more: str | None = None) -> str:
    """A table's heading, with the call that gives the same rows as a DataFrame."""
    parts = [escape(title)]
    if frame is not None:
        call = f"report.frame({frame!r})"
        parts.append(f"<code{skin.at('frame')}>{escape(call)}</code>")
    if more is not None:
        parts.append(f"<span{skin.at('muted')}>{escape(more)}</span>")
    return f"<div{skin.at('caption')}>{' &#8195;'.join(parts)}</div>"


def grid(block: Grid, skin: Skin) -> str:
    """A table with its caption."""
    head = "".join(
        f"<th{skin.at('th-number' if c.kind == 'number' else 'th')}>{escape(c.title)}</th>"
        for c in block.columns
    )
    has_head = any(c.title for c in block.columns)
    rows = "".join(
        "<tr>"
        + "".join(_cell(c, v, skin) for c, v in zip(block.columns, row, strict=True))
        + "</tr>"
        for row in block.rows
    )
    return (
        caption(skin, block.title, frame=block.frame, more=block.more)
        + f"<div{skin.at('scroll')}><table{skin.at('grid')}>"
        + (f"<thead><tr>{head}</tr></thead>" if has_head else "")
        + f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(column: Column, value: object, skin: Skin) -> str:
    attribute = skin.at("status" if column.kind == "tag" else column.kind)
    if column.kind == "kernel":
        return f"<td{attribute}>{skin.kernel(str(value)) if value else '–'}</td>"
    if column.kind == "meter" and isinstance(value, tuple):
        return f"<td{attribute}>{meter(value, skin)}</td>"
    if isinstance(value, Span):
        return f"<td{attribute}>{_span(value, skin)}</td>"
    if isinstance(value, Tag):
        return f"<td{attribute}>{skin.tag(value.words, value.tone)}</td>"
    text = escape(str(value))
    title = f' title="{text}"' if column.kind == "code" and len(text) > 40 else ""
    return f"<td{attribute}{title}>{text}</td>"


def meter(shares: tuple[float, ...], skin: Skin) -> str:
    """A bar; with two shares the second one is the paler bar behind the first."""
    front = min(max(shares[0], 0.0), 1.0)
    if not skin.is_page:
        return (
            f'<span{skin.at("track")}><span style="display: block; height: 8px; '
            f'width: {100 * front:.1f}%; background-color: #4a86c5"></span></span>'
        )
    behind = ""
    if len(shares) > 1:
        behind = f'<u style="width: {100 * min(max(shares[1], 0.0), 1.0):.1f}%"></u>'
    return f'<span class="track">{behind}<b style="width: {100 * front:.1f}%"></b></span>'


def _span(value: Span, skin: Skin) -> str:
    """A bar that begins where its stretch does."""
    start = min(max(value.start, 0.0), 0.99)
    width = min(max(value.width, 0.01), 1 - start)
    if skin.is_page:
        return (
            f'<span class="track"><b style="left: {100 * start:.1f}%; width: {100 * width:.1f}%">'
            "</b></span>"
        )
    return (
        f'<span{skin.at("track")}><span style="display: block; height: 8px; '
        f"margin-left: {100 * start:.1f}%; width: {100 * width:.1f}%; "
        'background-color: #4a86c5"></span></span>'
    )


def figures(block: Figures, skin: Skin) -> str:
    """The overview's numbers in one row."""
    if skin.is_page:
        cells = "".join(
            f"<div><span>{escape(f.label)}</span><b>{escape(f.value)}</b>"
            f"<span>{escape(f.note)}</span></div>"
            for f in block.items
        )
        return f'<div class="figures">{cells}</div>'
    rows = "".join(
        f"<tr><td{skin.at('figure-label')}>{escape(f.label)}</td>"
        f"<td{skin.at('figure-value')}>{escape(f.value)}</td>"
        f"<td{skin.at('figure-note')}>{escape(f.note)}</td></tr>"
        for f in block.items
    )
    return f"<table{skin.at('grid')}><tbody>{rows}</tbody></table>"


def legend(skin: Skin) -> str:
    """What the signs beside source lines mean."""
    items = "".join(
        f"<span>{skin.icon(tone)} {word}</span> &#8194;" for tone, word in WORDS.items()
    )
    return f"<div{skin.at('legend')}>{items}</div>"


def heat(block: Heat, skin: Skin) -> str:
    """A function's lines: state, number, source, kernels, bytes."""
    most = max((line.bytes or 0 for line in block.lines), default=0) or 1
    texts = line_pieces("\n".join(line.text for line in block.lines), "python")
    rows = "".join(
        _heat_row(line, pieces, most, skin) for line, pieces in zip(block.lines, texts, strict=True)
    )
    head = (
        f"<div{skin.at('caption')}>{escape(block.file)} "
        f"<span{skin.at('muted')}>{escape(block.name)}</span></div>"
    )
    titles = (
        f"<th{skin.at('th')}></th><th{skin.at('th-number')}>Line</th>"
        f"<th{skin.at('th')}>Source</th><th{skin.at('th')}>Ends in</th>"
        f"<th{skin.at('th-number')}>Moved (estimate)</th>"
    )
    table = f"<table{skin.at('heat')}><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"
    return f"{head}<div{skin.at('scroll')}>{table}</div>"


def _heat_row(line: HeatLine, pieces: list[tuple[str | None, str]], most: float, skin: Skin) -> str:
    source = "".join(skin.token(name, text) for name, text in pieces)
    kernels = " ".join(skin.kernel(k) for k in line.kernels[:_SHOWN_KERNELS])
    rest = line.kernels[_SHOWN_KERNELS:]
    if rest:
        told = escape(", ".join(rest[:_TOLD_KERNELS]))
        kernels += f' <span{skin.at("muted")} title="{told}">+{len(rest)}</span>'
    moved = ""
    if line.bytes is not None:
        share = 100 * line.bytes / most
        bar = f'<b style="width: {share:.1f}%"></b>' if skin.is_page else ""
        moved = f"<span{skin.at('heat-bar')}>{bar}</span>{bytes_text(line.bytes)}"
    row = (
        f"<tr{skin.at('line') if line.state else skin.at('line dead')}>"
        f"<td{skin.at('heat-state')}>{skin.icon(line.state) if line.state else ''}</td>"
        f"<td{skin.at('heat-number')}>{line.number or ''}</td>"
        f"<td{skin.at('heat-source')}>{source or ' '}</td>"
        f"<td{skin.at('heat-kernels')}>{kernels}</td>"
        f"<td{skin.at('heat-bytes')}>{moved}</td></tr>"
    )
    for note in line.notes:
        words = f"{skin.icon(note.tone)} <b>{escape(note.title)}</b> {escape(note.text)}"
        tone = f"heat-note {note.tone}" if skin.is_page else "heat-note"
        row += f'<tr><td colspan="5"{skin.at(tone)}>{words}</td></tr>'
    return row
