"""The autotuner: every choice that was timed, and the configurations that a model ranked."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import cast

from workbench.report import AutotuneChoice, Report
from workbench.report.machine_rows import RankedConfig
from workbench.views.panes.missing import missing
from workbench.views.panes.pane import Content, Pane, Setting
from workbench.views.wire import document as wire
from workbench.views.wire.machine import Ranked

_NOTHING = (
    "Inductor had nothing to choose from in this mode. "
    "-m max-autotune lets it time templates against library calls."
)

_NOTHING_ON_A_GPU = (
    "Inductor had nothing to choose from in this mode. "
    '`compiled.rank_configs("k0")` compiles the configurations of a kernel and ranks them by a '
    "model; -m max-autotune lets Inductor choose among templates and library calls."
)
_SIZE = re.compile(r"(\w+)\s*[=:]\s*(\d+)")
_OWN = ("num_warps", "num_stages", "warps", "stages")  # told beside the sizes of blocks


def document(report: Report, setting: Setting) -> Content:
    """Timed choices in the order of the autotuner; ranked ones, the best of each kernel first."""
    data = {"choices": _choices(report), "ranked": _ranked(report)}
    count = len(report.autotune) + len(report.ranked_configs) or None
    return Content(data, count, empty=None if count else _empty(report))


def _empty(report: Report) -> wire.Note | None:
    """Why there is no choice to show, or None."""
    if len(report.autotune) or len(report.ranked_configs):
        return None
    text = _NOTHING_ON_A_GPU if len(report.resources) else _NOTHING
    return missing(report, "autotune", "Nothing was timed.", text)


def _choices(report: Report) -> list[wire.Choice]:
    """Every choice that the autotuner timed."""
    rows = [{**asdict(choice), "state": _state(choice)} for choice in report.autotune]
    for row in rows:
        del row["text"]  # the view has no place for it: `report.rivals()` shows the code
    return [cast(wire.Choice, row) for row in rows]


def _state(choice: AutotuneChoice) -> str:
    if choice.chosen:
        return "chosen"
    return "failed" if choice.time_ms is None and choice.note else "alternative"


def _ranked(report: Report) -> list[Ranked]:
    """The configurations that a model ranked, the best of each kernel first."""
    rows = list(report.ranked_configs)
    order = {pair: at for at, pair in enumerate(dict.fromkeys((r.kernel, r.target) for r in rows))}
    last = len(rows) + 1
    places = sorted(
        range(len(rows)),
        key=lambda at: (order[rows[at].kernel, rows[at].target], rows[at].rank or last, at),
    )
    return [_ranked_row(at, rows[at]) for at in places]


def _ranked_row(index: int, row: RankedConfig) -> Ranked:
    sizes = {name: int(size) for name, size in _SIZE.findall(row.choice) if name not in _OWN}
    return {
        "id": f"r{index}",
        "kernel": row.kernel,
        "target": row.target,
        "choice": row.choice,
        "sizes": sizes,
        "warps": row.warps,
        "stages": row.stages,
        "registers": row.registers,
        "spills": row.spills,
        "smem_bytes": row.smem_bytes,
        "occupancy": row.occupancy,
        "limiter": row.limiter,
        "model_us": row.model_us,
        "rank": row.rank,
        "rejection": row.rejection,
        "note": row.note,
    }


PANE = Pane("autotune", "Autotune", document)
