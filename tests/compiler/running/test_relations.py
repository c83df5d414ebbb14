"""Conditions on dimensions are arithmetic and nothing else."""

from __future__ import annotations

import pytest

from workbench.compiler.running.relations import read_relations
from workbench.errors import ArtifactError


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
    with pytest.raises(ArtifactError, match="no arithmetic of its dimensions"):
        read_relations([text], ["s"])
