"""Sizes of a mesh: what every call that takes one refuses, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb


def build(mesh: Any) -> Any:
    raise LookupError("built")


def enter(mesh: Any, **given: Any) -> None:
    with wb.virtual_cluster(mesh, **given):
        raise LookupError("built")


MESHES: dict[str, Callable[[Any], Any]] = {
    "ranks": lambda value: wb.ranks(build, {"dp": value}),
    "scaling": lambda value: wb.scaling(build, meshes=[{"dp": 2}, {"dp": value}]),
    "virtual_cluster": lambda value: enter({"dp": value}),
}


@pytest.mark.parametrize("verb", MESHES)
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "give each dimension a name and a number of GPUs"),
        (2**31, "mesh has 2,147,483,648 GPUs"),
        (2**63, "expected at most 9223372036854775807"),
        (float("inf"), "is not a whole number"),
        (True, "is not a whole number"),
    ],
)
def test_a_mesh_is_judged_alike(verb: str, value: Any, words: str) -> None:
    with pytest.raises(wb.UsageError, match=words) as raised:
        MESHES[verb](value)
    assert str(raised.value).startswith("mesh")


@pytest.mark.parametrize("verb", MESHES)
def test_a_mesh_takes_numbers_of_numpy(verb: str) -> None:
    """They reached torch, whose ValueError named strides."""
    with pytest.raises((LookupError, wb.WorkbenchError), match="built"):
        MESHES[verb](np.int64(4))
