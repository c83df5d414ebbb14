"""What Dynamo keeps of a frame, and what its cache is asked, in the forms of every release."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.older_releases import (
    check_can_cache,
    could_scale_rblock,
    hint_symbols,
    variants,
)
from workbench.errors import TorchNameMissing


def test_variants_of_a_list_and_of_a_chain_are_the_same() -> None:
    last = SimpleNamespace(compile_id="0/0", next=None)
    first = SimpleNamespace(compile_id="0/1", next=last)
    assert list(variants(first)) == list(variants([first, last])) == [first, last]


def test_a_frame_without_variants_has_none() -> None:
    assert list(variants(None)) == list(variants([])) == []


@pytest.mark.parametrize("newer", [False, True])
def test_the_cache_is_asked_with_what_the_release_takes(
    monkeypatch: pytest.MonkeyPatch, newer: bool
) -> None:
    asked: list[tuple[Any, ...]] = []

    def of_2_12(module: Any) -> None:
        asked.append((module,))

    def of_2_13(module: Any, inputs: Any = (), options: Any = None, shapes: bool = True) -> None:
        asked.append((module, inputs, options))

    check = of_2_13 if newer else of_2_12
    monkeypatch.setattr(tp.FX_GRAPH_CACHE.get(), "_check_can_cache", staticmethod(check))
    check_can_cache("graph", ["x"], {"a": 1})
    assert asked == [("graph", ["x"], {"a": 1}) if newer else ("graph",)]


def test_reductions_are_scaled_where_the_release_asks_no_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tp, "COULD_SCALE_RBLOCK", tp.Name("torch:Tensor", "showing what is there"))
    assert not could_scale_rblock(SimpleNamespace(_could_rblock_scale=False))
    monkeypatch.setattr(tp, "COULD_SCALE_RBLOCK", tp.Name("torch:not_there", "showing a gap"))
    assert could_scale_rblock(SimpleNamespace())


def test_sizes_have_numbers_by_the_old_name_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(hint_symbols((2, 3))) == [2, 3]
    known = next(row for row in tp.HINT_SYMBOLS if row.find() is not None)
    unknown = tp.Name("torch:not_there", "padding products")
    monkeypatch.setattr(tp, "HINT_SYMBOLS", (unknown, known))
    assert list(hint_symbols((2, 3))) == [2, 3]
    monkeypatch.setattr(tp, "HINT_SYMBOLS", (unknown,))
    with pytest.raises(TorchNameMissing, match="padding products"):
        hint_symbols((2, 3))
