"""Notebooks as pages: their text in Markdown, their saved outputs as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from docs.generate.pages import ROOT

FOLDER = ROOT / "notebooks"
_PLACE = '<div class="nb-outputs" id="outputs-{}"></div>'
_PLACES = re.compile(_PLACE.format(r"(\d+)"))
_FOR_TESTS = re.compile(r"^# NBVAL_\w+\n", re.MULTILINE)
_SCOPED = re.compile(r"<style scoped>.*?</style>\s*", re.DOTALL)
_HEAD = """---
template: notebook.html
hide: [toc]
---

"""
_DOWNLOAD = "[Download this notebook]({0}){{ download={0} }}"


def notebooks() -> list[Path]:
    """The notebooks in the order in which they are read."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> list[Mapping[str, Any]]:
    """The cells of a notebook."""
    cells: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def markdown(path: Path) -> str:
    """The page of a notebook, with a place for the outputs of each cell."""
    parts = []
    for number, cell in enumerate(read(path)):
        source = "".join(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            source = re.sub(r"\]\((\w+)\.ipynb", r"](\1.md", source)
            parts.append(source.replace("](../docs/pages/", "](../"))  # beside them in the site
            continue
        parts.append(f"````ipython3\n{_FOR_TESTS.sub('', source)}\n````")
        if cell["outputs"]:
            parts.append(_PLACE.format(number))
    return "\n\n".join([_HEAD + parts[0], _DOWNLOAD.format(path.name), *parts[1:]]) + "\n"


def with_outputs(html: str, path: Path) -> str:
    """The HTML of a page, in which every place has the outputs of its cell.

    Outputs stand outside of `md-typeset`: its rules are for text, not for a view.
    """
    cells = read(path)

    def outputs(match: re.Match[str]) -> str:
        made = "".join(_outputs(cells[int(match[1])]))
        return f'</div><div class="nb-outputs">{made}</div><div class="md-typeset">'

    return f'<div class="md-typeset">{_PLACES.sub(outputs, html)}</div>'


def _outputs(cell: Mapping[str, Any]) -> Iterator[str]:
    printed = ""
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            printed += "".join(output["text"])
            continue
        yield from _printed(printed)
        printed = ""
        yield from _shown(output["data"])
    yield from _printed(printed)


def _printed(text: str) -> Iterator[str]:
    if text.strip():
        yield f'<div class="md-typeset"><pre>{escape(text.rstrip())}</pre></div>'


def _shown(data: Mapping[str, Any]) -> Iterator[str]:
    """The richest form that needs no kernel; a live widget has its saved view beside it."""
    html = "".join(data.get("text/html", ""))
    if 'class="wb-saved' in html:
        yield f'<div class="nb-view" data-search-exclude>{html}</div>'
    elif html:
        table = _SCOPED.sub("", html).replace('<table border="1" class="dataframe">', "<table>")
        table = table.replace("<th></th>", "<td></td>")
        yield f'<div class="md-typeset nb-html">{table}</div>'
    elif "image/png" in data:
        image = "".join(data["image/png"]).replace("\n", "")
        address = f"data:image/png;base64,{image}"
        yield f'<img class="nb-chart" alt="The chart that this cell draws" src="{address}">'
    else:
        yield from _printed("".join(data.get("text/plain", "")))
