"""What becomes of one tiny model in the process that compiles it: `python -m tests.wild.cells`.

Arguments are the column, the folder for artifacts and the names; a line of JSON is printed for
each. A cell that says "saved" gets its verdict from a fresh process (`tests.wild.loads`).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import workbench as wb
from tests.wild import recipe
from tests.wild.comparing import distance, first_line, result

Cell = dict[str, Any]


def cell(name: str, column: str, folder: Path) -> Cell:
    """The verdict on one model in one column, with figures or with the reason."""
    torch.compiler.reset()
    try:
        case = recipe.build(name)
    except Exception as error:
        return {"verdict": "not made", "why": first_line(error)}
    known = {
        "class": type(case.model).__name__,
        "parameters": sum(p.numel() for p in case.model.parameters()),
    }
    return {**known, **COLUMNS[column](case, name, folder)}


def inference(case: recipe.Case, name: str, folder: Path) -> Cell:
    return saved(case, False, folder / f"{name}.aot")


def gradients(case: recipe.Case, name: str, folder: Path) -> Cell:
    return saved(case, True, folder / f"{name}.aot")


def h100(case: recipe.Case, name: str, folder: Path) -> Cell:
    return verified(case)


COLUMNS: dict[str, Callable[[recipe.Case, str, Path], Cell]] = {
    "inference": inference,
    "gradients": gradients,
    "h100": h100,
}


def captured(case: recipe.Case, with_gradients: bool) -> Cell | None:
    """None where torch captures the model as one graph, else the breaks with what we say.

    Asked after a failure only: what compiled was captured.
    """
    torch.compiler.reset()
    call = torch.compile(case.model, fullgraph=True, backend="eager")
    try:
        result(call, case, gradients=with_gradients)
    except Exception as error:
        return {"verdict": "breaks", "why": first_line(error), **explained(case, with_gradients)}
    return None


def explained(case: recipe.Case, with_gradients: bool) -> Cell:
    """Every graph break with its place, its kind and our explanation."""
    torch.compiler.reset()
    try:
        with torch.set_grad_enabled(with_gradients):
            found = wb.explain(case.model, (), dict(case.inputs))
    except Exception as error:
        return {"breaks": [], "not explained": first_line(error)}
    rows = [
        {
            "where": f"{b.file}:{b.line}",
            "line": b.text,
            "kind": b.kind,
            "reason": b.reason,
            "explanation": b.explanation,
            "hints": list(b.hints),
        }
        for b in found.breaks
    ]
    return {"graphs": found.graph_count, "breaks": rows}


def saved(case: recipe.Case, with_gradients: bool, path: Path) -> Cell:
    """Compiles with Inductor and saves; compared here as well, to know whose fault a wrong is."""
    torch.compiler.reset()
    expected = result(case.model, case, gradients=with_gradients)
    if not distance(result(case.model, case, gradients=with_gradients), expected).agrees:
        return {"verdict": "not compared", "why": "eager gives another result at each call"}
    try:
        compiled = wb.aot_compile(
            case.model, (), dict(case.inputs), grad=with_gradients, capture="light"
        )
        here = distance(result(compiled, case, gradients=with_gradients), expected)
        if here.agrees:
            compiled.save(path)
    except Exception as error:
        unlike = captured(case, with_gradients)
        return unlike or whose(case, with_gradients, expected, first_line(error))
    if here.agrees:
        return {"verdict": "saved", "bytes": path.stat().st_size}
    return whose(case, with_gradients, expected, here.words)


def whose(case: recipe.Case, with_gradients: bool, expected: Any, why: str) -> Cell:
    """Torch's where plain torch.compile fails or differs as well, else ours."""
    torch.compiler.reset()
    call = torch.compile(case.model, fullgraph=True)
    try:
        plain = distance(result(call, case, gradients=with_gradients), expected)
    except Exception as error:
        return {"verdict": "torch", "why": first_line(error), "with us": why}
    if plain.agrees:
        return {"verdict": "ours", "why": why}
    return {"verdict": "torch", "why": plain.words, "with us": why}


def verified(case: recipe.Case) -> Cell:
    """Compiled for a virtual H100, its generated program run on the CPU and compared."""
    torch.compiler.reset()
    try:
        compiled = wb.aot_compile(
            case.model, (), dict(case.inputs), grad=False, target="h100", capture="light"
        )
        found = compiled.verify(**case.inputs)
    except Exception as error:
        return captured(case, False) or {"verdict": "failed", "why": first_line(error)}
    worst = max((row.max_abs_error for row in found.rows), default=0.0)
    kernels = len(compiled.report.kernels)
    if not found.ok:
        return {"verdict": "differs", "why": repr(found), "difference": worst, "kernels": kernels}
    return {"verdict": "right", "difference": worst, "kernels": kernels}


def main(column: str, folder: str, *names: str) -> None:
    torch.set_num_threads(1)
    for name in names:
        start = time.perf_counter()
        row = cell(name, column, Path(folder))
        row["seconds"] = round(time.perf_counter() - start, 1)
        print(json.dumps({"name": name, "cell": row}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
