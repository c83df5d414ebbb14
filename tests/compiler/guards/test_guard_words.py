"""What torch says of a guard that does not hold, in words about the call."""

from __future__ import annotations

import functools
import types
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.guards.guard_words import value_text

compile_eager = functools.partial(wb.aot_compile, backend="eager")
X = torch.ones(3)


def refusal(call: Any) -> str:
    with pytest.raises(wb.ContractError) as caught:
        call()
    return str(caught.value)


def test_a_part_of_another_class() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    compiled = compile_eager(module, (X,))
    module[1] = torch.nn.Tanh()
    assert (
        "  - self.1: expected a torch.nn.modules.activation.ReLU, got a "
        "torch.nn.modules.activation.Tanh\n"
    ) in refusal(lambda: compiled(X))


def test_a_condition_without_better_words_stays_without_its_place_in_torch() -> None:
    compiled = compile_eager(lambda x, y: x + y, (X, X))
    assert "  - x and y must be one tensor, as when compiled\n" in refusal(
        lambda: compiled(X, X.clone())
    )


WEIGHT = types.SimpleNamespace(scale=2.0, keys={"a": 1.0})


def weighted(x: torch.Tensor) -> torch.Tensor:
    return x * WEIGHT.scale * WEIGHT.keys.get("b", 1.0)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("scale", 5.0, "WEIGHT.scale (global of {}): compiled with 2.0, now 5.0"),
        (
            "keys",
            {"a": 1.0, "b": 3.0},
            "WEIGHT.keys (global of {}): compiled without 'b', which",
        ),
    ],
)
def test_a_refusal_names_the_place_what_was_compiled_in_and_what_is_there_now(
    name: str, value: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = compile_eager(weighted, (X,))
    monkeypatch.setattr(WEIGHT, name, value)
    assert words.format(__name__) in refusal(lambda: compiled(X))


def test_a_mapping_proxy_is_an_argument_with_keys_and_values() -> None:
    compiled = compile_eager(lambda x, m: x * m["k"], (X, types.MappingProxyType({"k": 2.0})))
    torch.testing.assert_close(compiled(X, types.MappingProxyType({"k": 2.0})), X * 2)
    assert "  - m['k']: compiled for 2.0, got 3.0\n" in refusal(
        lambda: compiled(X, types.MappingProxyType({"k": 3.0}))
    )
    assert "  - m: expected a mappingproxy, got a" in refusal(lambda: compiled(X, {"k": 2.0}))


class Loud:
    def __repr__(self) -> str:
        raise AssertionError("code of a class was run")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2.0"),
        ([1, 2], "[1, 2]"),
        ({"a": None}, "{'a': None}"),
        ([Loud(), Loud()], "a list of 2"),
        (Loud(), f"an object of {__name__}.Loud"),
        (Loud, f"class {__name__}.Loud"),
        (types, "module types"),
        (refusal, f"function {__name__}.refusal"),
        (len, "function builtins.len"),
        (torch.ones(2, 3), "a tensor, float32[2, 3]"),
        (torch.float16, "torch.float16"),
    ],
)
def test_a_value_is_shown_without_code_of_its_class(value: object, text: str) -> None:
    assert value_text(value) == text


def test_a_long_value_is_cut_and_one_of_the_environment_is_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(value_text("x" * 10_000)) <= 80
    assert len(value_text([*range(10_000)])) <= 80
    monkeypatch.setenv("WB_TEST_TOKEN", "token-41")
    for held in ("token-41", ["token-41"], b"token-41", {"key": "token-41"}):
        assert "token-41" not in value_text(held)
