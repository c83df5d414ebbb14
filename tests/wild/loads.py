"""Loads artifacts of tiny models in a fresh process and compares: `COLUMN NAME=PATH ...`."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

import workbench as wb
from tests.wild import recipe
from tests.wild.comparing import distance, result


def loaded(name: str, path: str, with_gradients: bool) -> dict[str, Any]:
    """The verdict on the loaded model with the difference from eager and its limit."""
    case = recipe.build(name)
    try:
        compiled = wb.load(path, module=case.model, trust=True)
        found = result(compiled, case, gradients=with_gradients)
        far = distance(found, result(case.model, case, gradients=with_gradients))
    except Exception as error:
        return {"verdict": "ours", "why": f"loaded: {type(error).__name__}: {error}"}
    figures = {"difference": far.difference, "limit": far.limit}
    if far.agrees:
        return {"verdict": "right", **figures}
    return {"verdict": "ours", "why": f"loaded, {far.where} differs", **figures}


def main(column: str, *arguments: str) -> None:
    torch.set_num_threads(1)
    for argument in arguments:
        name, _, path = argument.partition("=")
        row = loaded(name, path, column == "gradients")
        print(json.dumps({"name": name, "cell": row}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
