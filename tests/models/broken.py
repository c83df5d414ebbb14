"""Zoo models with a print in their midst: `NAME=PATH ...` loads variants in a fresh process."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.utils import counters

import workbench as wb
from tests.agreement import assert_agrees
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
        return lambda compiled: loads.result(compiled, copy.deepcopy(case)._replace(model=case.model))

    wb.variants(case.model, list(map(called, batches(case)))).save(path)


def wrong(name: str, path: str) -> str | None:
    """What the loaded model gives otherwise than eager, or was compiled; None when all is well."""
    case = build(name)
    loaded = wb.load(path, case.model, on_miss="error")
    try:
        for each in batches(case):
            assert_agrees(loads.result(loaded, each), loads.result(each.model, each))
        assert not counters["frames"], counters["frames"]
    except (AssertionError, wb.ArtifactError) as error:
        return str(error)
    return None


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        model, _, file = argument.partition("=")
        print(json.dumps([model, wrong(model, file)]))
