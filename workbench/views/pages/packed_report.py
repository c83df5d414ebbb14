"""What a page or a saved output carries of a report: its document, and parts while they fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise, product
from math import inf
from typing import Any, cast

from workbench.analysis.cost.costs import choose_cost
from workbench.analysis.memory.timeline import explain_unknown_memory
from workbench.errors import UsageError
from workbench.number_text import format_bytes
from workbench.report import Report
from workbench.report.machine_rows import HOST_STAGE
from workbench.settings import Embed
from workbench.views.document import document
from workbench.views.kit.blocks import Place
from workbench.views.parts.report_parts import Parts
from workbench.views.static_html.render import loader
from workbench.views.wire.codec import SMALL, Budget, bundle, pack
from workbench.views.wire.report_messages import Document, Embedded, PaneId

PAGE_BYTES = 1_950_000
"""A whole page."""
CELL_BYTES = 300_000
"""A saved cell's output, besides the front end itself."""
_BASE64 = 4 / 3
SCRIPT_BYTES = 16_000
"""A kernel's script in a page: longer ones are made in Python."""
_SCRIPTS = 5  # of the kernels that cost most; each takes a walk through the whole graph
_FEWEST = 20  # rows; shorter lists are not worth cutting
_LISTED = 50  # parts that are missing and say why; for others the front end has a sentence
_NODE, _ROW, _LETTERS = 8, 2, 1 / 40  # packed bytes of each, at the least
_LISTS: Mapping[str, str] = {
    "guards": "guards",
    "phases": "phases",
    "kernels": "kernels",
    "choices": "autotune",
    "ranked": "ranked_configs",
    "points": "roofline",
    "matrix": "matrix",
    "sources": "sources",
}
"""The lists of a document that may be long, and their tables."""
_TABLES = ("fusion", "kernels", "phases", "guards", "breaks", "buffers", "scheduler_nodes")
_MARKUP = 600  # bytes around the blocks, the record and the script


def pack_report(report: Report, shown: Document, pane: PaneId, place: Place) -> bytes:
    """A report as its view takes it, opened at a pane.

    A page takes at most 2 MB in all, an output of a notebook 300 kB besides the front end.
    """
    if place.is_page:
        limit = PAGE_BYTES - place.taken - len(bundle()[0])
        content = embedded(report, shown, "full", limit, has_scripts=True)
    else:
        limit = CELL_BYTES - place.taken - len(loader()) - _MARKUP
        content = embedded(report, shown, place.embed, limit)
    if pane != "overview":
        content["pane"] = pane
    return pack(content, SMALL)


def embed_record(report: Report, limit: int) -> Embedded:
    """What the page of something else carries of a report that is opened from it, in bytes."""
    return embedded(report, document(report), "full", limit, has_scripts=True)


def embedded(
    report: Report, shown: Document, embed: Embed, limit: int, *, has_scripts: bool = False
) -> Embedded:
    """The document and, with `embed="full"`, parts in order of use while `limit` bytes hold.

    With `has_scripts` those that run the costliest kernels alone are among them, last. The limit is
    that of the record as text in the page. `left_out` says why a part is missing.
    """
    too_big = (
        f"This part exceeds the limit of {format_bytes(limit)}. "
        "Run the cell again, or use the saved report."
    )
    whole = int(limit / _BASE64)
    trimmed = _trimmed(shown, whole)
    room, build = _Room(report, Budget(whole)), Parts(report)
    has_room = room.budget.take(trimmed)
    parts: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for name in list_part_names(report):
        is_wanted = embed != "light" and has_room and _compared(name) <= parts.keys()
        part, why = _made(build, name) if is_wanted and room.may_hold(name) else (None, None)
        if part is not None and room.take(name, part):
            parts[name] = part
        elif why is not None:
            left_out[name] = why
        elif len(left_out) < _LISTED:
            left_out[name] = _LIGHT if embed == "light" else too_big
    for name, part in _scripts(report, build) if has_scripts else ():
        if room.take(name, part):
            parts[name] = part
    return {"document": trimmed, "parts": parts, "left_out": left_out}


def _made(build: Parts, name: str) -> tuple[Any, str | None]:
    """A part, or why there is none."""
    try:
        return build(name), None
    except UsageError as error:
        return None, str(error)


def _scripts(report: Report, build: Parts) -> Iterator[tuple[str, Any]]:
    """The scripts of the generated kernels that cost most, where they can be made and are short."""
    known = choose_cost(report)
    cost = {} if known is None else known.by_kernel
    own = [kernel.id for kernel in report.kernels if kernel.is_generated]
    for id in sorted(own, key=lambda id: -cost.get(id, 0.0))[:_SCRIPTS]:
        try:
            part: Any = build(f"script:{id}")
        except UsageError:
            continue  # the view gives the line of Python, which says why there is none
        if len(part["text"].encode()) <= SCRIPT_BYTES:
            yield f"script:{id}", part


class _Room:
    """What is left for parts; tells before one is built whether it can fit.

    Not built is also what is at least as long as another part of its kind that did not fit.
    """

    def __init__(self, report: Report, budget: Budget):
        self.budget = budget
        self._least = _least_sizes(report)
        self._refused: dict[str, float] = {}

    def may_hold(self, name: str) -> bool:
        size = self._least.get(name, 0)
        return size <= self.budget.left and size < self._refused.get(_kind(name), inf)

    def take(self, name: str, part: Any) -> bool:
        fits = self.budget.take({name: part})
        if not fits and name in self._least:
            self._refused[_kind(name)] = self._least[name]
        return fits


def _kind(part: str) -> str:
    return part.partition(":")[0]


def _trimmed(shown: Document, limit: int) -> Document:
    """The document with its longest lists cut until it packs into `limit` bytes.

    `omitted` counts, by table, what was cut.
    """
    trimmed: dict[str, Any] = dict(shown)
    size = len(pack(trimmed, SMALL))
    sizes = {name: len(pack(trimmed[name])) for name in _LISTS} if size > limit else {}
    while size > limit:
        longest = max(_LISTS, key=sizes.__getitem__)
        count = len(trimmed[longest])
        if count < _FEWEST:
            break
        trimmed[longest] = trimmed[longest][: count // 2]
        table = _LISTS[longest]
        omitted = trimmed["omitted"].get(table, 0)
        trimmed["omitted"] = {**trimmed["omitted"], table: omitted + count - count // 2}
        sizes[longest] //= 2
        if sum(sizes.values()) <= limit or len(trimmed[longest]) < _FEWEST:
            size = len(pack(trimmed, SMALL))
    return cast(Document, trimmed)


_LIGHT = (
    "This output was saved with options.embed = 'light', which keeps only the initial view. "
    "Run the cell again, or save report.to_html(path)."
)


def _least_sizes(report: Report) -> dict[str, float]:
    """By part: bytes that it takes at the least.

    To build one only to see that it is too big takes seconds where graphs are big, minutes where
    there are thousands of kernels.
    """
    nodes = {graph.id: graph.node_count for graph in report.graphs}
    by_part: dict[str, float] = {f"graph:{id}": count * _NODE for id, count in nodes.items()}
    for step in chain.from_iterable(report.graph_steps.values()):
        by_part[f"graph:{step.graph_after}"] = step.nodes_after * _NODE
    lengths: dict[str, int] = {}
    for (a, before), (b, after) in pairwise(nodes.items()):
        by_part[f"changes:{a}:{b}"] = abs(before - after) * _ROW
    for kind, rows in (("code", report.kernels), ("wrapper", report.wrappers)):
        for row in _kept(report, rows):
            if row.text not in lengths:
                lengths[row.text] = len(report.texts[row.text])
            by_part[f"{kind}:{row.id}"] = lengths[row.text] * _LETTERS
    by_part["memory:"] = sum(by_part.get(f"wrapper:{row.id}", 0) for row in report.wrappers)
    for code in _kept(report, report.assembly):
        by_part[f"asm:{code.config}:{code.stage}"] = len(report.texts[code.text]) * _LETTERS
    return by_part | {f"table:{name}": len(getattr(report, name)) * _ROW for name in _TABLES}


def _kept(report: Report, rows: Iterable[Any]) -> list[Any]:
    """The rows whose text is in the report."""
    return [row for row in rows if row.text is not None and row.text in report.texts]


def list_part_names(report: Report) -> Iterator[str]:
    """The parts of a report, those that are looked at first in front."""
    graphs = list(report.graphs)
    ends = [g.id for g in graphs if g.stage == "after_post_grad"]
    starts = [g.id for g in graphs if g.stage == "dynamo"]
    first = list(dict.fromkeys([*ends[:1], *starts[:1]]))
    yield from (f"graph:{id}" for id in first)
    yield from (f"code:{kernel.id}" for kernel in _kept(report, report.kernels))
    frames = (report.bytecode.columns.get(name, ()) for name in ("id", "text"))  # no source yet
    yield from (f"bytecode:{id}" for id, text in zip(*frames, strict=True) if text in report.texts)
    yield from (f"wrapper:{wrapper.id}" for wrapper in _kept(report, report.wrappers))
    if len(report.scheduler_nodes) or len(report.fusion):
        yield from ("fusion:", "pairs:")
    if len(report.kernels) > 1:
        yield "apart:"
    if explain_unknown_memory(report) is None:
        yield "memory:"
        if any(report.memory_budgets.columns.get("is_own", ())):
            yield "budgets:"
    rest = [g.id for g in graphs if g.id not in first]
    yield from (f"graph:{id}" for id in sorted(rest, key=lambda id: id not in ends))
    yield from (f"changes:{a.id}:{b.id}" for a, b in pairwise(graphs))
    for step in chain.from_iterable(report.graph_steps.values()):
        yield f"graph:{step.graph_after}"
        yield f"changes:{step.graph_before}:{step.graph_after}"
    yield from (f"table:{name}" for name in _TABLES if len(getattr(report, name)))
    yield from _machine_code(report)


def _compared(name: str) -> set[str]:
    """The parts without which a part shows nothing: the texts of a comparison."""
    if not name.startswith("compare:"):
        return set()
    _, *ids, stage = name.removesuffix(":loose").split(":")
    return {f"asm:{':'.join(ids[:2])}:{stage}", f"asm:{':'.join(ids[2:])}:{stage}"}


_SEEN_FIRST = ("ptx", "amdgcn", "sass", "ttgir", "ttir", "llir", HOST_STAGE)
_COMPARED = 3  # configurations of a kernel whose comparison with its first is kept


def _machine_code(report: Report) -> Iterator[str]:
    """Each kernel's first configuration before all others, and stages as they are looked at."""
    rows = _kept(report, report.assembly)
    configs = dict.fromkeys((row.kernel, row.config) for row in rows)
    places: dict[str, int] = {}
    count: dict[str, int] = {}
    for kernel, config in configs:
        places[config] = count[kernel] = count.get(kernel, -1) + 1
    firsts = {kernel: config for kernel, config in reversed(configs)}
    kept = {(row.config, row.stage) for row in rows}
    stages = list(dict.fromkeys([*_SEEN_FIRST, *(row.stage for row in rows)]))
    for row in sorted(rows, key=lambda r: (places[r.config], stages.index(r.stage))):
        yield f"asm:{row.config}:{row.stage}"
    for (kernel, config), stage in product(configs, _SEEN_FIRST[:4]):
        first = firsts[kernel]
        if 0 < places[config] <= _COMPARED and {(config, stage), (first, stage)} <= kept:
            yield f"compare:{first}:{config}:{stage}:loose"
            yield f"compare:{first}:{config}:{stage}"
