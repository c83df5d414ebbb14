"""Loads artifacts of zoo models in a fresh process, compares with eager: `NAME=PATH ...`."""

from __future__ import annotations

import json
import sys

import torch
from torch.utils._pytree import tree_leaves

import workbench as wb
from tests.models import zoo


def difference(name: str, path: str) -> float:
    """The largest difference between the loaded and the eager outputs."""
    case = zoo.build(name)
    compiled = wb.load(path, module=case.model)
    with torch.no_grad():
        found, expected = compiled(**case.inputs), case.model(**case.inputs)
    return largest_difference(found, expected)


def largest_difference(found: object, expected: object) -> float:
    """The largest difference between two outputs of the same kind."""
    assert type(found) is type(expected)
    pairs = zip(_tensors(found), _tensors(expected), strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs)


def _tensors(outputs: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        model, _, file = argument.partition("=")
        print(json.dumps([model, difference(model, file)]))
