"""Loads variants of zoo models with a print in a fresh process, compares: `NAME=PATH ...`."""

from __future__ import annotations

import json
import sys

from torch._dynamo.utils import counters

import workbench as wb
from tests.agreement import assert_agrees
from tests.models import broken, loads


def wrong(name: str, path: str) -> str | None:
    """What the loaded model gives otherwise than eager, or was compiled; None when all is well."""
    case, eager = broken.build(name), broken.build(name)  # an eager call may leave hooks in a model
    loaded = wb.load(path, case.model, on_miss="error")
    try:
        for each, other in zip(broken.batches(case), broken.batches(eager), strict=True):
            assert_agrees(loads.result(loaded, each), loads.result(other.model, other))
        assert not counters["frames"], counters["frames"]
    except (AssertionError, wb.ArtifactError) as error:
        return f"{error} {error.__cause__ or ''}"
    return None


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        model, _, file = argument.partition("=")
        print(json.dumps([model, wrong(model, file)]))
