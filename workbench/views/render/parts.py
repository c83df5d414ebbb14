"""Every other block as HTML: codes, messages, breaks, guards, the flame chart."""

from __future__ import annotations

from html import escape

from workbench.views import blocks as b
from workbench.views.highlight import pieces
from workbench.views.render import tables
from workbench.views.render.skin import Skin

_ROW = 22  # pixels of one level of the flame chart


def block(item: b.Block, skin: Skin) -> str:
    """One block."""
    match item:
        case b.Figures():
            return tables.figures(item, skin)
        case b.Grid():
            return tables.grid(item, skin)
        case b.Heat():
            return tables.heat(item, skin)
        case b.Code():
            return code(item, skin)
        case b.Note():
            return note(item, skin)
        case b.Break():
            return graph_break(item, skin)
        case b.Guards():
            return guards(item, skin)
        case b.Flame():
            return flame(item) if skin.is_page else ""


def code(item: b.Code, skin: Skin) -> str:
    """A text behind a summary line; the line alone when there is no text."""
    if not item.text:
        facts = escape(" · ".join(item.facts))
        return (
            f"<div{skin.at('row')}><b>{escape(item.title)}</b> "
            f"<span{skin.at('muted')}>{facts}</span></div>"
        )
    text = "".join(skin.token(name, piece) for name, piece in pieces(item.text, item.language))
    facts = " · ".join(item.facts)
    mark = f"{skin.kernel(item.kernel)} " if item.kernel else ""
    anchor = f' id="{escape(item.kernel)}"' if item.kernel and skin.is_page else ""
    return (
        f"<details{skin.at('details')}{' open' if item.is_open else ''}>"
        f"<summary{skin.at('summary')}>{mark}<b>{escape(item.title)}</b> "
        f"<span{skin.at('muted')}>{escape(facts)}</span></summary>"
        f"<pre{skin.at('pre')}{anchor}>{text}</pre></details>"
    )


def note(item: b.Note, skin: Skin) -> str:
    """A message."""
    sign = skin.icon(item.tone) + " " if item.tone != "plain" else ""
    title = f"<b>{escape(item.title)}</b> " if item.title else ""
    name = f"note {item.tone}" if skin.is_page else f"note{'-break' * (item.tone == 'break')}"
    first, _, rest = item.text.partition("\n")
    more = f"<pre{skin.at('pre')}>{escape(rest.strip())}</pre>" if rest.strip() else ""
    return f"<div{skin.at(name)}>{sign}{title}{escape(first)}{more}</div>"


def graph_break(item: b.Break, skin: Skin) -> str:
    """A break: kind, place, line, reason, hints."""
    line = "".join(skin.token(name, piece) for name, piece in pieces(item.line, "python"))
    gb = f" {escape(item.gb_id)}" if item.gb_id else ""
    hints = "".join(f"<li>{escape(hint)}</li>" for hint in item.hints)
    what = f"<div{skin.at('caption')}>What to do</div><ul{skin.at('list')}>{hints}</ul>"
    return (
        f"<div{skin.at('card' if skin.is_page else 'note-break')}>"
        f"<div{skin.at('card-head')}>{skin.icon('break')} <b>{escape(item.title)}</b> "
        f"<span{skin.at('muted')}>{escape(item.place)}{gb}</span></div>"
        f"<pre{skin.at('pre')}>{line}</pre><div>{escape(item.text)}</div>"
        f"<div{skin.at('muted')}>{escape(item.context)}</div>"
        f"{what if hints else ''}</div>"
    )


def guards(item: b.Guards, skin: Skin) -> str:
    """Guards as rows: sign, source with its condition, kind or the reason why it was dropped."""
    rows = "".join(
        f"<tr{skin.at('guard' if line.kept else 'guard dropped')}>"
        f"<td{skin.at('heat-state')}>{skin.icon('captured') if line.kept else _cross(skin)}</td>"
        f'<td{skin.at("code")} title="{escape(line.code)}">{escape(line.source or "–")}</td>'
        f"<td{skin.at('text')}>{escape(line.kind)}</td>"
        f"<td{skin.at('wide')}>{escape(line.why or _short(line.code))}</td></tr>"
        for line in item.lines
    )
    return (
        tables.caption(skin, item.title, frame="guards", more=item.more)
        + f"<div{skin.at('scroll')}><table{skin.at('grid')}><tbody>{rows}</tbody></table></div>"
    )


def flame(item: b.Flame) -> str:
    """The phases of one thread as bars; the table of self times says the same in words."""
    height = (max((bar.depth for bar in item.bars), default=0) + 1) * _ROW
    bars = "".join(
        f'<div class="g{bar.depth % 8}" title="{escape(bar.name)} {bar.duration}" '
        f'style="left: {100 * bar.start:.3f}%; width: {100 * bar.width:.3f}%; '
        f'top: {bar.depth * _ROW}px">'
        f"{_bar_text(bar)}</div>"
        for bar in item.bars
    )
    return (
        f'<div class="caption">Thread {escape(item.thread)} <span class="muted">{item.total} in all'
        f'</span></div><div class="flame" role="img" aria-label="Timeline of {escape(item.thread)}"'
        f' style="height: {height}px">{bars}</div>'
    )


def _bar_text(bar: b.Bar) -> str:
    if bar.width < 0.02:
        return ""
    return f"{escape(bar.name)} <span>{bar.duration}</span>"


def _cross(skin: Skin) -> str:
    if not skin.is_page:
        return "✕"
    return (
        '<svg class="ic" viewBox="0 0 12 12" role="img" aria-label="Dropped">'
        '<path d="M2.5 2.5l7 7M9.5 2.5l-7 7"/></svg>'
    )


def _short(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
