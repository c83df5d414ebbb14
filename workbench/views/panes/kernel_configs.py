"""The configurations of each kernel for a GPU, with what they take, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from workbench.report import Report
from workbench.report.machine_rows import (
    CODE_STAGES,
    HOST_STAGE,
    Launch,
    MatrixCell,
    Resources,
)
from workbench.views.wire.gpu_messages import Config
from workbench.views.words.units import format_bytes, format_percent, number_text, plural


def configs(report: Report) -> Mapping[str, list[Config]]:
    """By kernel, its configurations in the order of the compiler, then those for other GPUs."""
    stages: dict[tuple[str, str], dict[str, str | None]] = defaultdict(dict)
    for row in report.assembly:
        is_kept = row.text is not None and row.text in report.texts
        why = None if is_kept else row.note or "It was not kept in the report."
        stages[row.kernel, row.config][row.stage] = why
    rows = {row.config: row for row in report.resources}
    cells = {row.config: row for row in report.matrix}
    launched = _map_launches(report)
    by_kernel: dict[str, list[Config]] = defaultdict(list)
    for (kernel, config), texts in stages.items():
        own, cell = rows.get(config), cells.get(config)
        by_kernel[kernel].append(
            {
                "id": config,
                "target": cell.target if cell else report.request.target,
                "choice": "as built" if HOST_STAGE in texts else _choice(own or cell),
                "facts": [*_facts(own or cell), *launched.get(config, ())],
                "note": (own or cell or _NOTHING).note,
                "stages": {stage: texts[stage] for stage in CODE_STAGES if stage in texts},
            }
        )
    return by_kernel


def _map_launches(report: Report) -> Mapping[str, list[tuple[str, str]]]:
    """By configuration, how often it was launched or timed, and on which grids."""
    facts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    by_config: dict[tuple[str, bool], list[Launch]] = defaultdict(list)
    for row in report.launches:
        by_config[row.config, row.is_timing].append(row)
    for (config, is_timing), rows in by_config.items():
        count = plural(sum(row.count for row in rows), "time")
        grids = list(dict.fromkeys(" × ".join(map(str, row.grid)) for row in rows if row.grid))
        more = f" and {len(grids) - _GRIDS} more" if len(grids) > _GRIDS else ""
        on = f", grid {', '.join(grids[:_GRIDS])}{more}" if grids else ""
        facts[config].append(("Timed" if is_timing else "Launched", f"{count}{on}"))
    return facts


def explain_no_assembly(report: Report) -> str | None:
    """Why there is no machine code of a GPU, in a sentence with what to do; None when there is."""
    if len(report.assembly):
        return None
    why = report.why_missing("assembly")
    if why is not None:
        return f"{why[0].upper()}{why[1:]}."
    languages = {kernel.language for kernel in report.kernels}
    if "triton" in languages:
        return "The record holds no machine code of these kernels: compile again to keep it."
    if "cpp" in languages or report.request.target in ("cpu", "host", ""):
        return (
            "This was compiled for the CPU, which has no code of a GPU: compile it with "
            'target="h100" (%aot_compile -t h100) to see what Triton makes of it for one.'
        )
    return "No kernel of this compilation is generated for a GPU: its work is calls of libraries."


_NOTHING = Resources("", "", "", 0, 0)
_GRIDS = 3  # that are named


def _choice(row: Resources | MatrixCell | None) -> str:
    if row is None:
        return ""
    words = [row.choice] if row.choice else []
    if row.warps:
        words.append(plural(row.warps, "warp"))
    if row.stages and row.stages > 1:
        words.append(f"{row.stages} stages")
    return ", ".join(words)


def _facts(row: Resources | MatrixCell | None) -> Iterator[tuple[str, str]]:
    if row is None:
        return
    if row.registers is not None:
        yield "Registers", str(row.registers)
    yield from _counted(row) if isinstance(row, Resources) else _compared(row)
    if row.occupancy is not None:
        limit = f", limited by {row.limiter}" if row.limiter else ""
        model = " (estimate)" if row.estimate else ""
        yield "Occupancy", f"{format_percent(row.occupancy)}{limit}{model}"
    if row.instructions is not None:
        yield "Instructions", number_text(row.instructions, "whole")


def _counted(row: Resources) -> Iterator[tuple[str, str]]:
    if row.scalar_registers is not None:
        yield "Scalar registers", str(row.scalar_registers)
    if row.spill_stores is not None:
        stores, loads = row.spill_stores, row.spill_loads
        words = f"{plural(stores, 'store')}, {plural(loads or 0, 'load')}"
        known = str(stores) if loads is None else words
        yield "Spills", known if stores or loads else "none"
    if row.stack:
        yield "Stack", format_bytes(row.stack)
    if row.smem_bytes is not None:
        yield "Shared memory", format_bytes(row.smem_bytes)


def _compared(row: MatrixCell) -> Iterator[tuple[str, str]]:
    if row.spills is not None:
        yield "Spills", str(row.spills) if row.spills else "none"
    if row.smem_bytes is not None:
        yield "Shared memory", format_bytes(row.smem_bytes)
