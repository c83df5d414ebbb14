"""Which guards are kept, which are dropped, and that none is dropped silently."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.distributions import Distribution, Normal

import workbench as wb
from workbench.compiler.contract.contract import build_fast_guard

compile_eager = functools.partial(wb.aot_compile, backend="eager")
X = torch.randn(4, 8)


def activated(x: torch.Tensor, act: object = F.relu) -> torch.Tensor:
    return act(x)  # type: ignore[operator]


def test_a_dropped_guard_carries_its_reason() -> None:
    compiled = compile_eager(activated, (X,))
    dropped = {row["name"]: row["why"] for row in compiled.plan.dropped}
    assert "identity" in dropped["act"]
    rows = {guard.source: guard for guard in compiled.report.guards}
    assert not rows["L['act']"].kept
    assert rows["L['act']"].why_dropped == dropped["act"]
    assert rows["L['x']"].kept


def test_strict_names_each_guard_that_a_file_cannot_hold() -> None:
    with pytest.raises(wb.CaptureError, match=r"act \(CLOSURE_MATCH\)"):
        compile_eager(activated, (X,), guards="strict")
    compile_eager(lambda x: x + 1, (X,), guards="strict")


def test_a_filter_of_torch_is_accepted_and_reported() -> None:
    compiled = compile_eager(lambda x: x + 1, (X,), guards=torch.compiler.skip_all_guards_unsafe)
    torch.testing.assert_close(compiled(X[:2]), X[:2] + 1)
    whys = {row["why"] for row in compiled.plan.dropped}
    assert "dropped by the given guard filter" in whys


compile_eager = functools.partial(wb.aot_compile, backend="eager")
X, Y = torch.randn(4, 8), torch.randn(4, 8)


def add(a: torch.Tensor, b: torch.Tensor, flag: bool = True, k: int = 2) -> torch.Tensor:
    return a * k + b if flag else a - b


def accepts(compiled: Any, **given: Any) -> bool:
    """What the expression alone says."""
    signature, contract = compiled.aot_fn._artifacts.signature, compiled.plan.contract
    found = build_fast_guard(signature, contract)
    assert found is not None
    call = {"a": X, "b": Y, "flag": True, "k": 2, **given}
    return bool(eval(found.expression, {**found.scope, **call}))


@pytest.mark.parametrize(
    "given",
    [
        {"a": torch.randn(3, 8)},
        {"a": torch.randn(4, 8, 1)},
        {"a": X.double()},
        {"a": torch.randn(8, 4).T},
        {"a": X.clone().requires_grad_()},
        {"a": torch.nn.Parameter(X, requires_grad=False)},
        {"a": X.to("meta")},
        {"a": Y},
        {"a": X.to_sparse()},
        {"a": None},
        {"flag": False},
        {"k": 3},
        {"k": 2.0},
    ],
    ids=[
        *("rows", "rank", "dtype", "layout", "gradient", "parameter", "device", "another"),
        *("sparse", "none", "flag", "whole number", "number"),
    ],
)
def test_what_differs_is_not_accepted(given: dict[str, Any]) -> None:
    compiled = compile_eager(add, (X, Y))
    assert compiled.plan.plain
    assert accepts(compiled)
    assert not accepts(compiled, **given)
    with pytest.raises(wb.ContractError):
        compiled(**{"a": X, "b": Y, **given})


def test_modes_and_a_default_device_are_left_to_the_guards() -> None:
    compiled = compile_eager(add, (X, Y))
    with torch.device("meta"):
        assert not accepts(compiled)
    with torch.no_grad(), pytest.raises(wb.ContractError, match="grad mode"):
        compiled(X, Y)
    with torch.inference_mode():
        inside = torch.randn(4, 8)
    assert not accepts(compiled, a=inside)


def test_a_closure_is_not_plain() -> None:
    factor = 2

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * factor

    compiled = compile_eager(scaled, (X,))
    assert not compiled.plan.plain
    factor = 3
    with pytest.raises(wb.ContractError):
        compiled(X)


@pytest.mark.parametrize(
    ("fn", "args", "options"),
    [
        (lambda d: d["x"] + 1, ({"x": X},), {}),
        (torch.nn.Linear(8, 2), (X,), {}),
        (lambda a, b: a + b, (X, X), {}),
        (lambda a: a + 1, (X,), {"dynamic_shapes": ({0: torch.export.Dim("n", max=9)},)}),
    ],
    ids=["nested", "module", "same tensor twice", "dynamic"],
)
def test_what_is_not_plain_has_no_fast_guard(fn: Any, args: Any, options: Any) -> None:
    compiled = compile_eager(fn, args, **options)
    assert compiled._quick() is None
    torch.testing.assert_close(compiled(*args), fn(*args))


LIBRARY = """
by_type, order = {}, []

def note(value):
    by_type.setdefault(type(value), type(value).__name__)
    order.append(type(value).__name__)

def add_by_type(x):
    return x + 1 if by_type[type(x)] == "Tensor" else x

def add_by_loop(x):
    return x + 1 if any(name == "Tensor" for name in by_type.values()) else x

def add_by_order(x):
    return x + 1 if order else x
"""


@pytest.mark.parametrize("name", ["add_by_type", "add_by_loop", "add_by_order"])
def test_what_a_library_notes_down_as_it_runs_is_not_asked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / f"noting_{name}.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(folder))
    library = importlib.import_module(f"noting_{name}")
    library.note(X)

    def called(x: torch.Tensor) -> torch.Tensor:
        return getattr(library, name)(x) * 2

    compiled = compile_eager(called, (X,))
    compiled.save(tmp_path / "called.aot")
    library.note("another type")
    torch.testing.assert_close(compiled(X), called(X))
    torch.testing.assert_close(wb.load(tmp_path / "called.aot")(X), called(X))
    assert "a library adds entries to it" in " ".join(row["why"] for row in compiled.plan.dropped)


PRIOR = Normal(0.0, 1.0)


class Wide(Normal):
    """A distribution of the user's own."""


def score(x: torch.Tensor) -> torch.Tensor:
    return Normal(x, 1.0).log_prob(x + 1)


def score_wide(x: torch.Tensor) -> torch.Tensor:
    return Wide(x, 1.0).log_prob(x + 1)


def score_prior(x: torch.Tensor) -> torch.Tensor:
    return PRIOR.log_prob(x)


@pytest.mark.parametrize("function", [score, score_wide, score_prior])
def test_what_torch_compile_sets_itself_is_not_asked_of_another_process(
    function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_eager(function, (X,)).save(tmp_path / "score.aot")
    monkeypatch.setattr(Distribution, "_validate_args", True)  # as a fresh process has it
    torch.testing.assert_close(wb.load(tmp_path / "score.aot")(X), function(X))
