"""A difference as HTML: a page that opens from disk, and the fragment that a notebook keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path

from workbench.analysis.diff.difference import Diff
from workbench.settings import Embed
from workbench.views.diff.document import document, title
from workbench.views.html import OPENING, POLICY
from workbench.views.interactive import interactive
from workbench.views.outputs import output
from workbench.views.render.skin import Skin
from workbench.views.units import ABSENT, plural
from workbench.views.wire_codec import SMALL, pack
from workbench.views.wire_diff import DiffDocument, DiffKernels, DiffLine, DiffPart

_STYLE = (
    "body { margin: 0 } .wb-opening .wb-summary { display: none } "
    "main ul { margin: 8px 12px; padding-left: 18px; line-height: 20px; max-width: 110ch }"
)
_CONTEXT = 3
_NOTEBOOK_ROWS, _NOTEBOOK_LINES = 40, 400
_TINTS = {"-": "rgba(208, 71, 58, 0.16)", "+": "rgba(47, 154, 105, 0.18)", "@": "transparent"}


def page(diff: Diff, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page; written to `path` when given.

    Where no script runs, the same parts stand below one another as plain HTML.
    """
    shown = document(diff)
    style = files("workbench.views").joinpath("page.css").read_text(encoding="utf-8")
    body = _interactive(shown, _summary(shown), kind="page", carries_bundle=True)
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title(diff.a, diff.b))}</title>"
        f'<style class="wb-of-summary">{style}</style><style>{_STYLE}</style>{OPENING}'
        f"</head><body>{body}</body></html>\n"
    )
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def saved(diff: Diff, *, embed: Embed, carries_bundle: bool) -> str:
    """The static output of a notebook, which a script makes interactive.

    Without `carries_bundle` another output of the notebook has to carry the front end.
    """
    shown = document(diff)
    summary = _fragment(shown)
    if embed != "full":
        return summary
    return _interactive(shown, summary, kind="saved", carries_bundle=carries_bundle)


def fragment(diff: Diff) -> str:
    """A version without script or style sheet, readable in a notebook that is not trusted."""
    return _fragment(document(diff))


def _interactive(shown: DiffDocument, summary: str, *, kind: str, carries_bundle: bool) -> str:
    record = pack({"diff": shown}, SMALL)
    return interactive(summary, record, kind=kind, carries_bundle=carries_bundle)


def _summary(shown: DiffDocument) -> str:
    skin = Skin(is_page=True)
    links = "".join(
        f'<a href="#{part["id"]}">{part["title"]} <small>{part["differ"]}</small></a>'
        for part in shown["parts"]
        if part["differ"]
    )
    sections = "".join(_section(part, shown, skin) for part in shown["parts"] if part["differ"])
    return (
        f"<header><h1>{escape(shown['a']['name'])} → {escape(shown['b']['name'])}</h1>"
        f'<span class="facts">{_sides(shown)}</span></header>'
        f'<nav aria-label="Parts">{links}</nav><main>{_sentences(shown)}{sections}</main>'
        f"<footer>{_alike(shown)} Every row here is also in a DataFrame: "
        "<code>diff.frame('kernels')</code>. This page needs no network and no server.</footer>"
    )


def _section(part: DiffPart, shown: DiffDocument, skin: Skin) -> str:
    head = f"<h2>{part['title']}</h2><span>{_counted(part)}</span>"
    body = _kernels(shown, skin) if part["id"] == "kernels" else _table(part, skin, None)
    return f'<section id="{part["id"]}"><div class="bar">{head}</div>{body}</section>'


def _fragment(shown: DiffDocument) -> str:
    skin = Skin(is_page=False)
    parts = []
    for part in shown["parts"]:
        if part["differ"]:
            kernels = part["id"] == "kernels"
            body = (
                _kernels(shown, skin, _NOTEBOOK_LINES)
                if kernels
                else _table(part, skin, _NOTEBOOK_ROWS)
            )
            parts.append(
                f"<details{skin.at('pane')}><summary{skin.at('pane-title')}>{part['title']} "
                f"<span{skin.at('muted')}>{_counted(part)}</span></summary>{body}</details>"
            )
    return output(
        f"<div><b>{escape(shown['a']['name'])} → {escape(shown['b']['name'])}</b> "
        f"<span{skin.at('muted')}>{_sides(shown)}</span></div>{_sentences(shown)}"
        f"{''.join(parts)}<div{skin.at('muted')}>{_alike(shown)}</div>"
    )


def _sides(shown: DiffDocument) -> str:
    return escape(f"a: {shown['a']['words']} · b: {shown['b']['words']}")


def _sentences(shown: DiffDocument) -> str:
    items = "".join(f"<li>{escape(sentence['text'])}</li>" for sentence in shown["sentences"])
    return f"<ul>{items}</ul>"


def _counted(part: DiffPart) -> str:
    if part["is_measured"]:
        return f"{plural(part['differ'], 'number')}, different in every run"
    return f"{part['differ']} differ, {part['same']} the same"


def _alike(shown: DiffDocument) -> str:
    alike = [p["title"] for p in shown["parts"] if p["same"] and not p["differ"]]
    missing = [f"{p['title']} ({p['missing']})" for p in shown["parts"] if p["missing"]]
    words = f"The same in both: {', '.join(alike)}." if alike else ""
    return escape(words + (f" Not compared: {'; '.join(missing)}." if missing else ""))


def _table(part: DiffPart, skin: Skin, limit: int | None) -> str:
    rows = part["rows"][:limit]
    columns = ("", "Item", "a", "b", "")
    head = "".join(f"<th{skin.at('th')}>{name}</th>" for name in columns)
    body = "".join(
        f"<tr><td{skin.at('text')}>{escape(row['change'])}</td>"
        f"<td{skin.at('code')}>{escape(row['item'])}</td>"
        f"<td{skin.at('wide')}>{escape(row['a'])}</td>"
        f"<td{skin.at('wide')}>{escape(row['b'])}</td>"
        f"<td{skin.at('wide')}>{escape(_notes(row['delta'], row['where'], row['note']))}</td></tr>"
        for row in rows
    )
    more = part["differ"] - len(rows)
    rest = f"<p{skin.at('muted')}>{more} more in diff.frame('{part['id']}')</p>" if more else ""
    return (
        f"<div{skin.at('scroll')}><table{skin.at('grid')}><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>{rest}"
    )


def _notes(*notes: str) -> str:
    return " · ".join(note for note in notes if note)


def _kernels(shown: DiffDocument, skin: Skin, limit: int | None = None) -> str:
    left = limit
    found = []
    for kernel in shown["kernels"]:
        if kernel["relation"] == "same":
            continue
        lines = list(unified(kernel["source"]))
        if left is not None:
            lines, left = lines[:left], max(left - len(lines), 0)
        found.append(_kernel(kernel, lines, skin))
    return "".join(found)


def _kernel(kernel: DiffKernels, lines: Sequence[str], skin: Skin) -> str:
    ids = " → ".join(
        ", ".join(name.partition(" ")[0] for name in names) or ABSENT
        for names in (kernel["a"], kernel["b"])
    )
    facts = escape(" · ".join((kernel["relation"], *kernel["facts"])))
    head = f"<b>{escape(ids)} {escape(kernel['title'])}</b> <span{skin.at('muted')}>{facts}</span>"
    if not lines:
        return f"<div{skin.at('row')}>{head}</div>"
    code = "".join(_code(line) for line in lines)
    return (
        f"<details{skin.at('details')}><summary{skin.at('summary')}>{head}</summary>"
        f"<pre{skin.at('pre')}>{code}</pre></details>"
    )


def _code(line: str) -> str:
    tint = _TINTS.get(line[:1])
    text = escape(line, quote=False) or " "
    if tint is None:
        return f"{text}\n"
    return f'<span style="display: block; background-color: {tint}">{text}</span>'


def unified(source: Sequence[DiffLine]) -> Iterator[str]:
    """The lines that differ with three equal ones around them; `@@` where equal ones are left out.

    Where only one side has a source, all of it.
    """
    near: set[int] = set()
    for n, line in enumerate(source):
        if line["kind"] != "same":
            near.update(range(n - _CONTEXT, n + _CONTEXT + 1))
    added: list[str] = []
    last = -1
    for n, line in enumerate(source):
        if n not in near:
            continue
        if line["kind"] == "same" and added:
            yield from added
            added = []
        if n > last + 1:
            yield f"@@ {line['left'] or ABSENT}, {line['right'] or ABSENT}"
        last = n
        if line["kind"] == "same":
            yield f" {line['before']}"
            continue
        if line["before"] is not None:
            yield f"-{line['before']}"
        if line["after"] is not None:
            added.append(f"+{line['after']}")
    yield from added
