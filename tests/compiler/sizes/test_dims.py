"""A declared dimension knows its range and its text; conditions on sizes are told in words."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.compiler.sizes.dims import Dynamic, broken, read_relations, text
from workbench.errors import ArtifactError

TWICE = Dynamic("batch", 2, 32, scale=2, offset=1)


@pytest.mark.parametrize(
    ("size", "fits"), [(5, True), (65, True), (3, False), (67, False), (6, False)]
)
def test_the_range_of_a_derived_dimension(size: int, fits: bool) -> None:
    assert TWICE.allows(size) is fits


def test_text() -> None:
    assert text((TWICE, 8, Dynamic(None))) == "[2*batch+1 in 5..65, 8, any]"
    assert text((Dynamic("n", 2),)) == "[n in 2..]"


X = {"x": torch.empty(4, 7), "pair": [torch.empty(3)]}


def test_a_condition_that_holds_is_not_named():
    conditions = ["2 <= L['x'].size()[0]", "L['x'].size()[1] % 2 == 0"]
    assert broken(conditions, X) == ["L['x'].size()[1] % 2 == 0, which is not so: L['x'] is [4, 7]"]


def test_every_tensor_of_a_condition_is_told():
    condition = "L['pair'][0].size()[0] == L['x'].size()[0]"
    assert broken([condition], X) == [
        f"{condition}, which is not so: L['pair'][0] is [3], L['x'] is [4, 7]"
    ]


def test_a_condition_on_a_number_tells_its_value():
    conditions = ["L['options']['k'] == 2.0"]
    found = broken(conditions, {"options": {"k": 3.0}})
    assert found == ["L['options']['k'] == 2.0, which is not so: L['options']['k'] is 3.0"]


def test_a_layout_is_told_with_the_copy_that_fits():
    text = "L['x'].stride()[0] == L['x'].size()[1]"
    part = {"x": torch.empty(1, 7)[:, :5]}
    assert broken([text], part) == [
        f"{text}, which is not so: L['x'] is [1, 5] with stride [7, 1]: "
        "pass .clone(memory_format=torch.contiguous_format)"
    ]
    whole = {"x": part["x"].clone(memory_format=torch.contiguous_format)}
    assert whole["x"].stride() == (5, 1)


@pytest.mark.parametrize(
    "text", ["len(L['x']) == 2", "L['x'].grad.size()[0] == 1", "G['y'].size()[0] == 1", "not ("]
)
def test_what_is_more_than_arithmetic_on_sizes_is_kept_as_it_is(text):
    assert broken([text], X) == [text]


def test_when_none_is_broken_all_are_told():
    conditions = ["2 <= L['x'].size()[0]", "L['gone'].size()[0] == 1"]
    assert broken(conditions, X) == conditions


def test_a_call_names_only_what_it_breaks():
    def in_pairs(x):
        return x.view(x.shape[0] // 2, 2, -1).sum(1)

    batch = torch.export.Dim("batch", min=4)
    compiled = wb.aot_compile(
        in_pairs, (torch.ones(8, 4),), dynamic_shapes={"x": {0: batch}}, backend="eager"
    )
    with pytest.raises(wb.ContractError, match=r"which is not so: x is \[7, 4\]") as caught:
        compiled(torch.ones(7, 4))
    assert "4 <= x.size()[0]" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ("Eq(Mod(s, 8), 0)", {"s": 16}, {"s": 12}),
        ("s * t < 100", {"s": 9, "t": 11}, {"s": 10, "t": 10}),
        ("Ne(s, t) and s // 2 >= 3", {"s": 6, "t": 5}, {"s": 6, "t": 6}),
        ("Max(s, 4) == 4", {"s": 3}, {"s": 5}),
    ],
)
def test_a_condition_holds_or_not(text: str, good: dict[str, int], bad: dict[str, int]) -> None:
    (relation,) = read_relations([text], ["s", "t"])
    assert relation.holds(good)
    assert not relation.holds(bad)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "s.real",
        "[s]",
        "s if s else 1",
        "x > 1",
        "Eq(s)",
        "s ** s",
        "'a' * s",
        "(",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ArtifactError, match="not an arithmetic expression of its dimensions"):
        read_relations([text], ["s"])
