"""Loads artifacts of zoo models in a fresh process, compares with eager: `NAME=PATH ...`."""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

import torch

import workbench as wb
from tests.agreement import assert_agrees, largest_difference
from tests.models import zoo


def wrong(name: str, path: str) -> str | None:
    """What the loaded model gives otherwise than the eager one; None when they agree."""
    case = zoo.build(name)
    compiled = wb.load(path, module=case.model)
    try:
        assert_agrees(result(compiled, case), result(case.model, case))
    except AssertionError as error:
        return str(error)
    return None


def result(call: Any, case: zoo.Case) -> dict[str, Any]:
    """What a call gives, how it leaves its inputs, and the gradients where they are wanted."""
    inputs = copy.deepcopy(dict(case.inputs))
    with torch.set_grad_enabled(case.learns):
        output = call(**inputs)
    if not case.learns:
        return {"output": output, "inputs": inputs}
    learned = {name: p for name, p in case.model.named_parameters() if p.requires_grad}
    output[0].square().mean().backward()
    assert any(p.grad is not None for p in learned.values())
    # compiled code gives zeros, as torch.compile does, where an output took no part in the loss
    gradients = {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in learned.items()}
    # the steps of a float32 grow with the number: CLIP's reach 218, where eager is 7e-5 off float64
    gradients = {n: g / g.abs().max().clamp(min=1) for n, g in gradients.items()}
    case.model.zero_grad()
    return {"output": output, "inputs": inputs, "gradients": gradients}


def difference(name: str, path: str) -> float:
    """The largest difference between the loaded and the eager outputs."""
    case = zoo.build(name)
    compiled = wb.load(path, module=case.model)
    with torch.no_grad():
        return largest_difference(compiled(**case.inputs), case.model(**case.inputs))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        model, _, file = argument.partition("=")
        print(json.dumps([model, wrong(model, file)]))
