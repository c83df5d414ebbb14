"""What Dynamo keeps of a frame, and what its cache is asked, in the forms of every release."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal

import pytest
import torch

from workbench.compiler.internals import older_releases
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.older_releases import (
    check_can_cache,
    find_backward_hook,
    get_hint_symbols,
    list_native_operators,
    list_strict_numerics,
    match_rblock_rule,
    use_processor_level,
    variants,
    wrap_with_builtins,
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
    assert not match_rblock_rule(SimpleNamespace(_could_rblock_scale=False))
    monkeypatch.setattr(tp, "COULD_SCALE_RBLOCK", tp.Name("torch:not_there", "showing a gap"))
    assert match_rblock_rule(SimpleNamespace())


def test_sizes_have_numbers_by_the_old_name_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(get_hint_symbols((2, 3))) == [2, 3]
    known = next(row for row in tp.HINT_SYMBOLS if row.find() is not None)
    unknown = tp.Name("torch:not_there", "padding products")
    monkeypatch.setattr(tp, "HINT_SYMBOLS", (unknown, known))
    assert list(get_hint_symbols((2, 3))) == [2, 3]
    monkeypatch.setattr(tp, "HINT_SYMBOLS", (unknown,))
    with pytest.raises(TorchNameMissing, match="padding products"):
        get_hint_symbols((2, 3))


def test_builtins_that_code_names_are_among_its_globals() -> None:
    environment = SimpleNamespace(
        used_globals={"scale": 2},
        import_sources={"torch": "torch"},
        external_refs={"scale", "torch", "type", "unknown"},
    )
    found = wrap_with_builtins(lambda capture: environment)(None)
    assert found.used_globals == {"scale": 2, "type": type}


def test_a_backward_is_compiled_behind_another_name_in_an_older_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    newer, older = (lambda inner: inner), (lambda inner: inner)
    monkeypatch.setattr(tp.Name, "find", lambda name: name.target)
    assert find_backward_hook(newer, older) == (tp.LAZY_BACKWARD, newer)
    monkeypatch.setattr(tp.Name, "find", lambda name: None)
    assert find_backward_hook(newer, older) == (tp.OLDER_LAZY_BACKWARD, older)


@pytest.mark.parametrize("is_option", [True, False])
def test_a_level_of_processors_is_compiled_for_and_forgotten(
    is_option: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_option:
        monkeypatch.setattr(older_releases, "has_march", lambda: False)
        target = "torch._inductor.cpp_builder._get_optimization_cflags"
        monkeypatch.setattr(target, lambda *_: (["O3", "march=native"], []))
    elif not older_releases.has_march():
        pytest.skip("torch before 2.13: it has no such option")
    with use_processor_level("x86-64-v3"):
        assert "march=x86-64-v3" in tp.OPTIMIZATION_FLAGS.get()("g++")[0]
    assert "march=x86-64-v3" not in tp.OPTIMIZATION_FLAGS.get()("g++")[0]


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


def test_operators_that_eager_has_in_another_language_are_listed() -> None:
    class Native:
        available_dsls = ("triton", "cutedsl", "off")
        off = SimpleNamespace(enabled=False)

        def get_dsl_operations(self, name: str) -> list[str]:
            return {"triton": ["bmm"], "cutedsl": ["topk", "add_.Tensor"]}.get(name, ["mm"])

    assert list_native_operators(Native()) == {
        "bmm": "triton",
        "topk": "cutedsl",
        "add_.Tensor": "cutedsl",
    }
    assert list_native_operators(SimpleNamespace(available_dsls=[])) == {}
    assert "mm" not in list_native_operators()  # of this torch
