"""A report's document where no script runs: a summary for a notebook, the body of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from workbench.views.static_html import render
from workbench.views.static_html.grids import PAGE, SUMMARIES, Grid, Limits, grid, write_frame_call
from workbench.views.static_html.listing import choose_listings
from workbench.views.static_html.static_columns import FIGURES, count_guards, matrix, table
from workbench.views.tables.column import Column
from workbench.views.wire.fusion_messages import FusionPart, PairsPart
from workbench.views.wire.memory_messages import BudgetsPart, MemoryPart, MemoryShare
from workbench.views.wire.report_messages import Document, Note, Source
from workbench.views.words.record_words import share_words

_NAME, _BYTES = Column("", "name", "code"), Column("Bytes", "bytes", "B")
_WORDS: Mapping[str, str] = {"line": "line", "module": "module", "kind": "kind of storage"}
_REMARKS = (Column("", "text", "prose"), _BYTES)
_BUDGETS = (
    Column("Budget", "budget", "number"),
    Column("Peak, compiled", "peak", "B"),
    Column("Peak, at most by a model", "preview", "B"),
    Column("Kept for the backward", "saved", "B"),
    Column("Operators twice", "again", "number"),
    Column("Adds", "cost", "right"),
)
_STAGES = (
    Column("Stage", "stage"),
    Column("Off", "own_off", "eps"),
    Column("Eager off", "eager_off", "eps"),
    Column("Noise", "noise", "eps"),
    Column("", "said"),
)
_STORAGES = (
    Column("Storage", "value", "code"),
    Column("Kind", "kind"),
    _BYTES,
    Column("Line", "place", "code"),
    Column("From step", "start", "number"),
    Column("To step", "end", "number"),
    Column("Peak lower without it", "lowers", "B"),
)


def build_memory_grids(
    part: MemoryPart, limits: Limits, budgets: BudgetsPart | None = None
) -> Iterator[Grid]:
    """The peaks, that of the whole by line, module and kind, the largest storages, the budgets."""
    call = "wb.memory(report)"
    peaks = [{"name": name, "bytes": size, "step": step} for name, size, step in part["peaks"]]
    at = Column("At step", "step", "number")
    most, spared = limits.others, 'report.frame("memory_remarks")'
    tried = [] if budgets is None else budgets["rows"]
    all_budgets = 'report.frame("memory_budgets")'
    rows = sorted(part["storages"], key=lambda row: -row["bytes"])
    yield from filter(
        None,
        (
            grid("Peaks, counted", (_NAME, _BYTES, at), peaks, limits, call=f"{call}.peaks"),
            *(
                grid(
                    f"What lives at the peak, by {_WORDS[by]}",
                    (_NAME, _BYTES),
                    [{**share, "name": _named(share)} for share in shares],
                    limits,
                    call=f'{call}.at_peak("{by}")',
                    most=most,
                )
                for by, shares in part["at_peak"].items()
            ),
            grid("Largest storages", _STORAGES, rows, limits, call=f"{call}.frame()", most=most),
            grid("What could be spared", _REMARKS, part["remarks"], limits, call=spared, most=most),
            grid("Memory budgets", _BUDGETS, tried, limits, call=all_budgets, most=len(tried)),
        ),
    )


def _named(share: MemoryShare) -> str:
    peak = ", makes the peak" if share["peak"] else ""
    return f"{share['name']} × {share['times']}" if share["times"] > 1 else f"{share['name']}{peak}"


_TABLED: Mapping[str, tuple[str, ...]] = {
    "timeline": ("phases",),
    "autotune": ("choices", "ranked"),
    "roofline": ("points",),
    "artifact": ("ways", "requirements", "members", "contract"),
}
"""Panes that are tables and nothing else, with the lists of the document that they show."""

_LISTS = (
    *("breaks", "recompiles", "guards", "kernels", "graphs", "groups", "rejected", "cuda_graphs"),
    *("phases", "choices", "ranked", "points", "matrix", "numerics", "accesses", "collectives"),
)
_EXPECTED = ("overview", "graphs", "fusion", "kernels", "timeline")


Fused = tuple[FusionPart, PairsPart]


@dataclass(frozen=True)
class Code:
    """A kernel's or a wrapper's source, with what it is."""

    id: str
    title: str
    text: str
    language: str


def summary(shown: Document, picture: str | None, fused: Fused | None = None) -> str:
    """What a notebook keeps of a report: at most 10 kB."""
    return render.summary("report", partial(_view, _with_fusion(shown, fused), picture, ()))


def body(
    shown: Document,
    picture: str | None,
    codes: tuple[Code, ...] = (),
    memory: MemoryPart | None = None,
    budgets: BudgetsPart | None = None,
    fused: Fused | None = None,
) -> str:
    """A report as the body of a page; where no script runs, that is all there is."""
    whole = _with_fusion(shown, fused)
    view = partial(_view, whole, picture, codes, memory=memory, budgets=budgets)
    return render.body("report", view)


def _with_fusion(shown: Document, fused: Fused | None) -> Document:
    """The document with the lists of two parts, which the tables are drawn of."""
    kernels, pairs = fused or (None, None)
    more = {
        "groups": kernels["steps"] if kernels else [],
        "rejected": pairs["rows"] if pairs else [],
    }
    return cast(Document, {**shown, **more, "fusion": kernels["sentence"] if kernels else ""})


def source_summary(source: Source) -> str:
    """The lines of one source with what became of each."""
    whole = replace(SUMMARIES[0], lines=len(source["lines"]), context=len(source["lines"]))
    return render.summary("source", lambda _: {"listings": choose_listings([source], whole)[0]})


def _view(
    shown: Document,
    picture: str | None,
    codes: tuple[Code, ...],
    limits: Limits,
    memory: MemoryPart | None = None,
    budgets: BudgetsPart | None = None,
) -> dict[str, Any]:
    own, left = choose_listings(shown["sources"], limits)
    tabled = partial(table, shown, limits=limits)

    def tables_of(names: tuple[str, ...]) -> list[Grid]:
        most = {"ways": limits.rows}
        grids = (tabled(name, most=most.get(name, limits.others)) for name in names)
        return [each for each in grids if each is not None]

    return {
        "doc": shown,
        "present": {**_present(shown), "memory": memory is not None},
        "titles": {head["id"]: head["title"] for head in shown["panes"]},
        "limits": limits,
        "figures": grid("", FIGURES, shown["figures"], limits, most=len(shown["figures"])),
        "others": limits.others,
        "listings": own,
        "share": share_words(next((cost["kind"] for cost in shown["costs"]), None)),
        "functions_left": left,
        "guard_counts": count_guards(shown),
        "table": lambda name, most=None: tabled(name, most=most),
        "tabled": _TABLED,
        "tables_of": tables_of,
        "matrix": list(matrix(shown, limits)),
        "memory": memory,
        "memory_grids": [] if memory is None else list(build_memory_grids(memory, limits, budgets)),
        "stages": _stages(shown, limits),
        "file": _file(shown, limits),
        "codes": codes,
        "picture": picture,
        "absent": list(_absent(shown, is_page=limits is PAGE)),
    }


def _present(shown: Document) -> Mapping[str, bool]:
    """The panes that have something to show, in the order of the sections."""
    lists = {name for name in _LISTS if cast(Any, shown)[name]}
    lists |= {name for name in _TABLED["artifact"] if cast(Any, shown)["file"][name]}
    needs = {
        "breaks": ("breaks", "recompiles", "guards"),
        "kernels": ("kernels",),
        "graphs": ("graphs",),
        "fusion": ("groups", "rejected", "cuda_graphs"),
        **_TABLED,
        "matrix": ("matrix",),
        "numerics": ("numerics",),
        "accesses": ("accesses",),
        "streams": ("collectives",),
    }
    return {"overview": True, **{id: bool(lists & set(own)) for id, own in needs.items()}}


def _stages(shown: Document, limits: Limits) -> Grid | None:
    """What each stage departs by itself."""
    found = shown["numerics"]
    call = write_frame_call("report", "numerics_stages")
    return found and grid("What each stage departs by itself, in roundings (eps)", _STAGES,
                          found["stages"], limits, call=call)  # fmt: skip


def _file(shown: Document, limits: Limits) -> Grid | None:
    """What the file is; the first group of facts."""
    facts = [{"name": name, "value": value} for name, value in shown["artifact"][0]["facts"]]
    columns = (Column("", "name"), Column("", "value", "code"))
    call = write_frame_call("report", "artifact")
    return grid("File", columns, facts, limits, call=call, most=len(facts))


def _absent(shown: Document, *, is_page: bool) -> Iterator[Note]:
    """What could not be captured, and why a pane has nothing to show.

    A notebook keeps that of the panes that every compilation fills.
    """
    yield from shown["missing"]
    for head in shown["panes"]:
        if head["empty"] is not None and (is_page or head["id"] in _EXPECTED):
            yield head["empty"]
    if shown["file"]["advice"] is not None and is_page:
        yield {"title": "Artifact.", "text": shown["file"]["advice"], "tone": "plain"}
