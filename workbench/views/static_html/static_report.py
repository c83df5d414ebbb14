"""A report's document where no script runs: a summary for a notebook, the body of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from workbench.report.machine_rows import MatrixCell
from workbench.report.measures import measures
from workbench.views.static_html import render
from workbench.views.static_html.grids import PAGE, SUMMARIES, Grid, Limits, grid, write_frame_call
from workbench.views.static_html.listing import choose_listings
from workbench.views.tables.column import Column, exact
from workbench.views.tables.columns import spell_out_columns
from workbench.views.wire.fusion_messages import FusionPart, PairsPart
from workbench.views.wire.memory_messages import BudgetsPart, MemoryPart, MemoryShare
from workbench.views.wire.report_messages import Document, Note, Source
from workbench.views.words.record_words import cost_text, share_words
from workbench.views.words.units import plural

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
        "table": tabled,
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


_OWN: Mapping[str, tuple[Column, ...]] = {
    "kernels": (
        Column("Kernel", "id", "code"),
        Column("Cost", "cost_text", "right"),
        Column("Share", "share", "share"),
        Column("Kind", "kind"),
        Column("Ops in it", "label", "code"),
        Column("Lines", "facts.Lines"),
        Column("Reads", "numbers.bytes_read", "B"),
        Column("Writes", "numbers.bytes_written", "B"),
        Column("FLOP", "numbers.flops", "count"),
        Column("Bound by", "bound"),
    ),
    "configs": (
        Column("Configuration", "id", "code"),
        Column("", "choice"),
        Column("", "facts", "prose"),
    ),
    "groups": (
        Column("Kernel", "kernel", "code"),
        Column("What it does", "words"),
        Column("Before", "before", "B"),
        Column("Fused", "after", "B"),
    ),
    "rejected": (
        Column("Pair", "pair", "code"),
        Column("Shared", "shared_bytes", "B"),
        Column("Why", "why", "prose"),
        Column("What would help", "help", "prose"),
    ),
    "phases": (
        Column("Phase", "name"),
        Column("Times", "times", "number"),
        Column("Total", "duration_s", "s"),
        Column("Self", "self_s", "s"),
    ),
    "graphs": (Column("Graph", "title"), Column("Nodes", "node_count", "number")),
}
"""Lists that are shown otherwise than in the tables of the interactive view."""
_TITLES: Mapping[str, tuple[str, str]] = {  # by list: title, name of the DataFrame
    "kernels": ("Kernels by cost", "costs"),
    "configs": ("Configurations, counted in compiled code", "resources"),
    "rejected": ("Not fused, pair by pair", "not_fused"),
    "groups": ("What runs as one kernel", "traffic"),
    "recompiles": ("Recompiles", "recompiles"),
    "guards": ("Guards", "guards"),
    "choices": ("Choices", "autotune"),
    "ranked": ("Ranked by a model, not timed", "ranked_configs"),
    "points": ("Least time of each kernel by the roofline model (estimate)", "roofline"),
    "phases": ("Time by phase, threads added", "phases"),
    "cuda_graphs": ("CUDA graphs", "cuda_graphs"),
    "collectives": ("Collectives, their times by a model", "collectives"),
    "accesses": ("What the memory sees of each line", "accesses"),
    "deviations": ("Values that depart from eager, in roundings (eps)", "numerics"),
    "ways": ("Round trip", "roundtrip"),
    "requirements": ("Does it load on this machine?", "requirements"),
    "members": ("What the file holds", "members"),
    "contract": ("What it takes and gives", "contract"),
    "graphs": ("Graphs of every stage", "graphs"),
}
_STORED = {"costs": "kernels"}
"""By derived table the recorded one whose rows it has."""
FIGURES = (
    Column("", "label"),
    Column("", "value", "code"),
    Column("", "note"),
)
_MAIN_FIGURES = ("bound_us", "registers", "occupancy")
"""The figures of a matrix that stand before the others."""


def table(shown: Document, name: str, limits: Limits, most: int | None = None) -> Grid | None:
    """One list of a report's document as a table, None where it is empty."""
    title, frame = _TITLES[name]
    if name == "kernels" and shown["costs"]:
        title = f"{title}: {shown['costs'][0]['source']}"
    rows = _ROWS[name](shown) if name in _ROWS else cast(Any, shown)[name]
    columns = _OWN[name] if name in _OWN else spell_out_columns(name, rows)
    call, omitted = (
        write_frame_call("report", frame),
        shown["omitted"].get(_STORED.get(frame, frame), 0),
    )
    return grid(title, columns, rows, limits, call=call, most=most, omitted=omitted)


def matrix(shown: Document, limits: Limits) -> Iterator[Grid]:
    """A table of kernels × GPUs for each figure, then the remarks."""
    targets = shown["matrix_targets"]
    grids, kernel = [], Column("Kernel", "kernel", "code")
    cells = [
        (row["kernel"], dict(zip(targets, row["cells"], strict=True))) for row in shown["matrix"]
    ]
    said = measures(MatrixCell)
    for figure in dict.fromkeys((*_MAIN_FIGURES, *said)):
        measure = said[figure]
        title, unit = measure.heading or measure.hint, exact(measure.unit)
        columns = [kernel, *(Column(target, target, unit) for target in targets)]
        values = [{t: cast(Any, c)[figure] for t, c in own.items() if c} for _, own in cells]
        if any(value is not None for row in values for value in row.values()):
            rows = [{"kernel": id, **row} for (id, _), row in zip(cells, values, strict=True)]
            grids.append(
                grid(title, columns, rows, limits, call=write_frame_call("report", "matrix"))
            )
    remarks = [
        {"kernel": id, "target": target, "note": cell["note"]}
        for id, own in cells
        for target, cell in own.items()
        if cell and cell["note"]
    ]
    columns = [kernel, Column("GPU", "target"), Column("", "note", "prose")]
    grids = [*grids[: limits.tables], grid("Remarks", columns, remarks, limits)]
    yield from (each for each in grids if each is not None)


def _groups(shown: Document) -> list[dict[str, Any]]:
    """Without the marks of code, which nothing draws here."""
    steps = cast(Any, shown)["groups"]
    return [{**step, "words": step["words"].replace("`", "")} for step in steps]


def _rejected(shown: Document) -> list[dict[str, Any]]:
    return [
        {**row, "pair": f"{row['a_kernel'] or row['a']} · {row['b_kernel'] or row['b']}"}
        for row in cast(Any, shown)["rejected"]
    ]


def _points(shown: Document) -> list[dict[str, Any]]:
    labels = {kernel["id"]: kernel["label"] for kernel in shown["kernels"]}
    return [{**row, "kernel": f"{row['kernel']} {labels.get(row['kernel'], '')}"}
            for row in shown["points"]]  # fmt: skip


def _guards(shown: Document) -> list[dict[str, Any]]:
    """The dropped ones first: each has a reason to be read."""
    return sorted(cast(Any, shown["guards"]), key=lambda row: row["kept"])


def count_guards(shown: Document) -> str:
    """How many guards are kept and dropped, and why those were."""
    kept = sum(guard["kept"] for guard in shown["guards"])
    why = Counter(guard["why_dropped"] for guard in shown["guards"] if not guard["kept"])
    reasons = "".join(f"; {count}: {reason}" for reason, count in why.most_common() if reason)
    return f"{plural(kept, 'guard')} kept, {len(shown['guards']) - kept} dropped{reasons}"


def _phases(shown: Document) -> list[dict[str, Any]]:
    totals: dict[str, dict[str, Any]] = {}
    for phase in shown["phases"]:
        row = totals.setdefault(
            phase["name"], {"name": phase["name"], "times": 0, "duration_s": 0.0, "self_s": 0.0}
        )
        row["times"] += 1
        row["duration_s"] += phase["duration_s"]
        row["self_s"] += phase["self_s"]
    return sorted(totals.values(), key=lambda row: -row["self_s"])


def _kernels(shown: Document) -> list[dict[str, Any]]:
    """The most expensive first, by the best cost that is known."""
    kind = next((cost["kind"] for cost in shown["costs"]), None)
    values = [kernel["cost"].get(kind or "") for kernel in shown["kernels"]]
    total = sum(value or 0.0 for value in values)
    rows = [
        {
            **kernel,
            "cost_text": cost_text(kernel["cost"], kind),
            "share": value / total if value is not None and total else None,
        }
        for kernel, value in zip(shown["kernels"], values, strict=True)
    ]
    return sorted(rows, key=lambda row: -cast(Any, row["cost"]).get(kind, -1.0))


def _configs(shown: Document) -> list[dict[str, Any]]:
    return [
        {**config, "facts": ", ".join(f"{name.lower()} {value}" for name, value in config["facts"])}
        for kernel in shown["kernels"]
        for config in kernel["configs"]
        if config["facts"]
    ]


_ROWS: Mapping[str, Any] = {
    "kernels": _kernels,
    "guards": _guards,
    "phases": _phases,
    "configs": _configs,
    "groups": _groups,
    "rejected": _rejected,
    "points": _points,
    "cuda_graphs": lambda shown: (shown["cuda_graphs"] or {"parts": []})["parts"],
    **{
        name: lambda shown, name=name: shown["file"][name]
        for name in ("ways", "requirements", "members", "contract")
    },
}
"""What is counted, worded or found deeper in the document."""
