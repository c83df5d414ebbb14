"""Zoo models with a print in their midst, saved with their variants for two batches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

import workbench as wb
from tests.models import loads, zoo


def printing(module: torch.nn.Module, *_: Any) -> None:
    """A hook that Dynamo cannot capture."""
    print("in the midst of", type(module).__name__, file=sys.stderr)


def build(name: str) -> zoo.Case:
    """A model of the zoo, of which the middle module prints before it is called."""
    case = zoo.build(name)
    leaves = [m for m in case.model.modules() if not list(m.children()) and list(m.parameters())]
    leaves[len(leaves) // 2].register_forward_pre_hook(printing)
    return case


def batches(case: zoo.Case) -> tuple[zoo.Case, ...]:
    """The case as it is, and with one more in the batch."""

    def larger(value: Any) -> Any:
        is_batch = isinstance(value, torch.Tensor) and value.shape[:1] == (zoo.BATCH,)
        return torch.cat([value, value[:1]]) if is_batch else value

    return case, case._replace(inputs={key: larger(x) for key, x in case.inputs.items()})


def save(name: str, path: str) -> None:
    """Record a model for its two batches, with gradients where it learns, and save it."""
    case = build(name)

    def called(case: zoo.Case) -> Callable[[Any], object]:
        return lambda compiled: loads.result(compiled, case)

    wb.variants(case.model, list(map(called, batches(case)))).save(path)
