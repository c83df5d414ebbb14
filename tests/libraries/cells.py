"""What becomes of models in the process that compiles them: `python -m tests.libraries.cells`.

Arguments are the column, the folder for artifacts and the names; a line of JSON is printed for
each. A cell that says "saved" gets its verdict from a fresh process (`tests.libraries.loads`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

import workbench as wb
from tests.libraries import models
from tests.wild.comparing import distance, first_line

Cell = dict[str, Any]
COLUMNS: Mapping[str, str] = {"captured": "eager", "compiled": "inductor"}
"""Each column with its backend: capture, checks and file alone, or with generated code as well."""
VISIBLE = 1e-3
"""The least of the largest number of each output, in which a difference of 1e-4 is one."""


def path_of(name: str, folder: Path) -> Path:
    """Where the artifact of a model is."""
    return folder / f"{name.replace('/', '.')}.aot"


def cell(column: str, name: str, folder: Path) -> Cell:
    """The verdict on one model with its reason; "saved" where only loading is left."""
    torch.compiler.reset()
    backend = COLUMNS[column]
    expected = eager(name)
    assert all(tensor.abs().max() > VISIBLE for tensor in floats(expected["output"])), name
    case = models.build(name)
    try:
        compiled = wb.aot_compile(
            case.model,
            (),
            dict(case.inputs),
            grad=case.learns,
            capture="light",
            backend=backend,
        )
        here = distance(models.result(compiled, case), expected)
    except Exception as error:
        return whose(backend, name, expected, first_line(error))
    if not here.agrees:
        return whose(backend, name, expected, here.words)
    try:
        compiled.save(path_of(name, folder))
    except wb.WorkbenchError as error:
        return {"verdict": "refused at save", "why": str(error)}
    return {"verdict": "saved"}


def eager(name: str) -> dict[str, Any]:
    """What the first call of a model gives without a compiler."""
    case = models.build(name)
    return models.result(case.model, case)


def floats(output: Any) -> list[torch.Tensor]:
    """The tensors of floating point in an output."""
    return [
        leaf
        for leaf in torch.utils._pytree.tree_leaves(output)
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    ]


def whose(backend: str, name: str, expected: dict[str, Any], why: str) -> Cell:
    """Torch's where plain torch.compile refuses or differs as well, else ours."""
    torch.compiler.reset()
    case = models.build(name)
    call = torch.compile(case.model, fullgraph=True, backend=backend)
    try:
        plain = distance(models.result(call, case), expected)
    except Exception as error:
        return {"verdict": "torch refuses", "why": first_line(error), "with us": why}
    if plain.agrees:
        return {"verdict": "ours", "why": why}
    return {"verdict": "torch differs", "why": plain.words, "with us": why}


def main(column: str, folder: str, *names: str) -> None:
    torch.set_num_threads(1)
    for name in names:
        row = cell(column, name, Path(folder))
        print(json.dumps({"name": name, "cell": row}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
