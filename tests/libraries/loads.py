"""Loads artifacts of the libraries' models in a fresh process and compares: `FOLDER NAME ...`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

import workbench as wb
from tests.libraries import models
from tests.libraries.cells import Cell, eager, path_of
from tests.wild.comparing import distance, first_line


def loaded(name: str, path: Path) -> Cell:
    """The verdict on the loaded model with the difference from eager and its limit."""
    case = models.build(name)
    try:
        compiled = wb.load(path, module=case.model, trust=True)
        far = distance(models.result(compiled, case), eager(name))
    except Exception as error:
        return {
            "verdict": "ours",
            "why": f"loaded: {first_line(error)}".replace(str(path), path.name),
        }
    if not far.agrees:
        return {"verdict": "ours", "why": f"loaded: {far.words}"}
    return {"verdict": "right", "difference": far.difference, "limit": far.limit}


def main(folder: str, *names: str) -> None:
    torch.set_num_threads(1)
    for name in names:
        row = loaded(name, path_of(name, Path(folder)))
        print(json.dumps({"name": name, "cell": row}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
