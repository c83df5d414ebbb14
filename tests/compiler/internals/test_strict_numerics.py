from __future__ import annotations

from typing import Any, Literal

import pytest
import torch

from workbench.compiler.internals.strict_numerics import list_strict_numerics


class Config:
    """Stands in for the options of Inductor in a release that has the option."""

    numerics = "default"

    def __init__(self, kind: Any):
        self._kind = kind

    def get_type(self, name: str) -> Any:
        return {"numerics": self._kind}[name]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Literal["default", "strict"], ("strict",)),
        (
            Literal["default", "strict_pointwise", "strict_reduction", "strict"],
            ("strict_pointwise", "strict_reduction", "strict"),
        ),
        (str, ("strict",)),  # a release that does not list them
    ],
)
def test_the_words_are_those_that_the_running_release_takes(
    kind: Any, words: tuple[str, ...]
) -> None:
    assert list_strict_numerics(Config(kind)) == words


def test_a_release_without_the_option_has_none() -> None:
    assert list_strict_numerics(object()) == ()
    release = tuple(int(part) for part in torch.__version__.split(".")[:2])
    assert bool(list_strict_numerics()) == (release >= (2, 14))
