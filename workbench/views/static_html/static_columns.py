"""Which columns of each list of a document are shown where no script runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from workbench.report.machine_rows import MatrixCell
from workbench.report.measures import measures
from workbench.views.static_html.grids import Grid, Limits, grid, write_frame_call
from workbench.views.tables.column import Column, exact
from workbench.views.tables.columns import spell_out_columns
from workbench.views.wire.report_messages import Document
from workbench.views.words.record_words import cost_text
from workbench.views.words.units import plural

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
