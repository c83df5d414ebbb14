"""Nested values by the specification that torch writes."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from workbench.compiler.package_calls.signature import StructureError, flatten, nested, read_tree
from workbench.errors import ArtifactError

Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = None


pytree._register_namedtuple(Pair, serialized_type_name="tests.Pair")
torch.export.register_dataclass(Point, serialized_type_name=f"{__name__}.Point")


def spec_of(value: Any) -> str:
    return pytree.treespec_dumps(pytree.tree_structure(value))


@pytest.mark.parametrize(
    "value",
    [
        1,
        (1, 2),
        [1, (2, [3])],
        {"a": 1, "b": {"c": [2, 3]}},
        OrderedDict(a=1, b=2),
        Pair(1, [2, 3]),
        Point(1, {"z": 2}),
        Point(1),
        (),
        {},
    ],
)
def test_flat_and_back(value: Any) -> None:
    tree = read_tree(spec_of(value))
    leaves = list(flatten(tree, value, "input"))
    assert leaves == pytree.tree_leaves(value)
    assert nested(tree)(leaves) == value


def test_a_type_that_nobody_registered_is_found_by_its_name() -> None:
    text = spec_of(Point(1, 2)).replace(f"{__name__}.Point", "types.SimpleNamespace")
    assert nested(read_tree(text))([1, 2]) == SimpleNamespace(x=1, y=2)
    text = text.replace("types.SimpleNamespace", "not_there.Point")
    assert nested(read_tree(text))([1, 2]) == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": 1}, "input: 'b' is missing"),
        ({"a": 1, "b": [2], "c": 3}, "input: 'c' is unexpected"),
        ({"a": 1, "b": [2, 3]}, r"input\['b'\]: expected 1 item, got 2"),
        ({"a": 1, "b": (2,)}, r"input\['b'\]: expected a list, got tuple"),
        ([1, [2]], "input: expected a dict, got list"),
    ],
)
def test_another_structure_is_refused(value: Any, words: str) -> None:
    tree = read_tree(spec_of({"a": 1, "b": [2]}))
    with pytest.raises(StructureError, match=words):
        list(flatten(tree, value, "input"))


@pytest.mark.parametrize("text", ["", "[]", "[2, {}]", "[1, {}]", "[1, null]", "{" * 9])
def test_a_damaged_specification_is_refused(text: str) -> None:
    with pytest.raises(ArtifactError, match="cannot be read"):
        read_tree(text)
