"""Which columns of each list of a document are shown where no script runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from workbench.views.static_html.grids import Column, Grid, Unit, frame_call, grid
from workbench.views.static_html.limits import Limits
from workbench.views.units import plural
from workbench.views.wire import Document

_LISTS: Mapping[str, tuple[str, str, tuple[Column, ...]]] = {
    "kernels": (
        "Kernels",
        "kernels",
        (
            Column("Kernel", "id", "code"),
            Column("Kind", "kind"),
            Column("Ops in it", "label", "code"),
            Column("Lines", "facts.Lines"),
            Column("Reads", "bytes_read", "bytes"),
            Column("Writes", "bytes_written", "bytes"),
            Column("FLOPs", "flops", "count"),
            Column("Time", "time_us", "us"),
        ),
    ),
    "configs": (
        "Configurations, counted in compiled code",
        "resources",
        (Column("Configuration", "id", "code"), Column("", "choice"), Column("", "facts", "prose")),
    ),
    "rejected": (
        "Not fused, pair by pair",
        "fusion",
        (
            Column("Node", "a", "code"),
            Column("With", "b", "code"),
            Column("Why", "why", "prose"),
            Column("What would help", "help", "prose"),
            Column("In common", "shared_bytes", "bytes"),
        ),
    ),
    "groups": (
        "What fusion saved",
        "scheduler_nodes",
        (
            Column("Kernel", "kernel", "code"),
            Column("Group", "name", "code"),
            Column("Unfused", "before", "bytes"),
            Column("Fused", "after", "bytes"),
        ),
    ),
    "recompiles": (
        "Recompiles",
        "recompiles",
        (
            Column("Compile", "compile_id", "code"),
            Column("Function", "function", "code"),
            Column("Failed guard", "reason", "prose"),
        ),
    ),
    "guards": (
        "Guards",
        "guards",
        (
            Column("", "verdict"),
            Column("Guard", "source", "code"),
            Column("Kind", "kind"),
            Column("Condition", "text", "code"),
            Column("Why it was dropped", "why_dropped"),
        ),
    ),
    "choices": (
        "Choices",
        "autotune",
        (
            Column("Op", "op", "code"),
            Column("Choice", "choice", "code"),
            Column("Kind", "kind"),
            Column("Verdict", "verdict"),
            Column("Time", "time_ms", "ms"),
            Column("Remark", "note"),
        ),
    ),
    "ranked": (
        "Ranked by a model, not timed",
        "ranked_configs",
        (
            Column("Kernel", "kernel", "code"),
            Column("GPU", "target", "code"),
            Column("Rank", "rank", "number"),
            Column("Sizes", "choice", "code"),
            Column("Warps", "warps", "number"),
            Column("Stages", "stages", "number"),
            Column("Spills", "spills", "number"),
            Column("Occupancy (estimate)", "occupancy", "share"),
            Column("Model", "model_us", "us"),
            Column("Why it loses", "losing"),
        ),
    ),
    "points": (
        "Least time of each kernel by the roofline model (estimate)",
        "roofline",
        (
            Column("Kernel", "kernel", "code"),
            Column("GPU", "target", "code"),
            Column("Moved", "moved_bytes", "bytes"),
            Column("FLOPs", "flops", "count"),
            Column("FLOPs per byte", "intensity", "number"),
            Column("Bound by", "bound"),
            Column("Least time (estimate)", "bound_us", "us"),
            Column("Measured", "measured_us", "us"),
            Column("Remark", "note"),
        ),
    ),
    "phases": (
        "Where the time went",
        "phases",
        (
            Column("Phase", "name"),
            Column("Times", "times", "number"),
            Column("Total", "duration_s", "s"),
            Column("Self", "self_s", "s"),
        ),
    ),
    "parts": (
        "CUDA graphs",
        "cuda_graphs",
        (
            Column("Part", "name"),
            Column("Verdict", "verdict"),
            Column("Why", "reason", "prose"),
            Column("What would help", "help", "prose"),
            Column("Kernels", "kernels"),
            Column("Copied at each call", "copied_bytes", "bytes"),
        ),
    ),
    "ways": (
        "Round trip",
        "roundtrip",
        (
            Column("Way", "title"),
            Column("Imports", "imports_s", "s"),
            Column("Load", "load_s", "s"),
            Column("First call", "first_call_s", "s"),
            Column("To first result", "first_result_s", "s"),
            Column("Steady", "steady_s", "s"),
            Column("Against eager", "against"),
            Column("Remark", "note", "prose"),
        ),
    ),
    "requirements": (
        "Does it load on this machine?",
        "requirements",
        (
            Column("Needs", "name"),
            Column("", "verdict"),
            Column("At least", "needed", "code"),
            Column("Here", "found", "code"),
            Column("What to do", "advice", "prose"),
        ),
    ),
    "members": (
        "What the file holds",
        "members",
        (
            Column("Member", "name", "code"),
            Column("What", "what"),
            Column("Size", "size", "bytes"),
        ),
    ),
    "contract": (
        "What it takes and gives",
        "contract",
        (
            Column("Side", "side"),
            Column("Name", "name", "code"),
            Column("Dtype", "dtype", "code"),
            Column("Shape", "shape", "code"),
            Column("Device", "device", "code"),
        ),
    ),
    "graphs": (
        "Graphs of every stage",
        "graphs",
        (Column("Graph", "title"), Column("Nodes", "node_count", "number")),
    ),
}
FIGURES = (
    Column("", "label"),
    Column("", "value", "code"),
    Column("", "note"),
)
_FIGURES: tuple[tuple[str, str, Unit], ...] = (
    ("bound_us", "Least time by the roofline (estimate)", "us"),
    ("registers", "Registers of a thread", "number"),
    ("occupancy", "Occupancy (estimate)", "share"),
    ("spills", "Spills: stores and loads", "number"),
    ("smem_bytes", "Shared memory of a block", "bytes"),
    ("instructions", "Instructions", "number"),
)


def columns_of(name: str) -> tuple[str, tuple[Column, ...]]:
    """The title and the columns of one list."""
    title, _, columns = _LISTS[name]
    return title, columns


def table(shown: Document, name: str, limits: Limits, most: int | None = None) -> Grid | None:
    """One list of a report's document as a table, None where it is empty."""
    title, frame, columns = _LISTS[name]
    rows = _ROWS[name](shown) if name in _ROWS else cast(Any, shown)[name]
    call, omitted = frame_call("report", frame), shown["omitted"].get(frame, 0)
    made = grid(title, columns, rows, limits, call=call, most=most, omitted=omitted)
    return made


def matrix(shown: Document, limits: Limits) -> Iterator[Grid]:
    """A table of kernels × GPUs for each figure, then the remarks."""
    targets = shown["matrix_targets"]
    cells = [(row["kernel"], row["cells"]) for row in shown["matrix"]]
    found = []
    for figure, title, unit in _FIGURES:
        columns = [Column("Kernel", "kernel", "code"), *(Column(t, t, unit) for t in targets)]
        rows = [
            {"kernel": kernel, **{t: cast(Any, c)[figure] if c else None
                                  for t, c in zip(targets, own, strict=True)}}
            for kernel, own in cells
        ]  # fmt: skip
        if any(row[target] is not None for row in rows for target in targets):
            found.append(grid(title, columns, rows, limits, call=frame_call("report", "matrix")))
    remarks = [
        {"kernel": kernel, "target": target, "note": cell["note"]}
        for kernel, own in cells
        for target, cell in zip(targets, own, strict=True)
        if cell and cell["note"]
    ]
    columns = [
        Column("Kernel", "kernel", "code"),
        Column("GPU", "target"),
        Column("", "note", "prose"),
    ]
    found = [*found[: limits.tables], grid("Remarks", columns, remarks, limits)]
    yield from (each for each in found if each is not None)


def _guards(shown: Document) -> list[dict[str, Any]]:
    """The dropped ones first: each has a reason to be read."""
    rows = [{**guard, "verdict": "kept" if guard["kept"] else "dropped"}
            for guard in shown["guards"]]  # fmt: skip
    return sorted(rows, key=lambda row: row["kept"])


def guard_counts(shown: Document) -> str:
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


def _configs(shown: Document) -> list[dict[str, Any]]:
    return [
        {**config, "facts": ", ".join(f"{name.lower()} {value}" for name, value in config["facts"])}
        for kernel in shown["kernels"]
        for config in kernel["configs"]
        if config["facts"]
    ]


def _choices(shown: Document) -> list[dict[str, Any]]:
    words = {True: "chosen", False: ""}
    return [{**row, "verdict": words[row["chosen"]]} for row in shown["choices"]]


_ROWS: Mapping[str, Any] = {
    "guards": _guards,
    "phases": _phases,
    "configs": _configs,
    "choices": _choices,
    "parts": lambda shown: (shown["cuda_graphs"] or {"parts": []})["parts"],
    **{
        name: lambda shown, name=name: shown["file"][name]
        for name in ("ways", "requirements", "members", "contract")
    },
}
"""What is counted, worded or found deeper in the document."""
