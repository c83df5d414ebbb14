"""A call that does not fit is refused, naming each leaf and the cure."""

from __future__ import annotations

import enum
import functools
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import workbench as wb

compile_eager = functools.partial(wb.aot_compile, backend="eager")
X, Y = torch.randn(4, 8), torch.randn(4, 8)

SCALE = 2.0
FLAGS = {"relu": True}
STEPS = [1, 2]
WEIGHT = torch.randn(8)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def uses_globals(x: torch.Tensor) -> torch.Tensor:
    y = x * SCALE
    if FLAGS["relu"]:
        y = y.relu()
    for step in STEPS:
        y = y + step
    return y


def uses_a_global_tensor(x: torch.Tensor) -> torch.Tensor:
    return x * WEIGHT


def choose(
    a: torch.Tensor, b: torch.Tensor, flag: bool = True, act: Any = F.relu, c: Any = Colour.RED
) -> torch.Tensor:
    return act(a + b) if flag and c is Colour.RED else a - b


def refusal(call: Any) -> str:
    with pytest.raises(wb.ContractError) as caught:
        call()
    return str(caught.value)


def test_every_mismatching_leaf_is_listed() -> None:
    compiled = compile_eager(lambda d, y: d["x"] + y, ({"x": X}, Y))
    words = refusal(lambda: compiled({"x": X.double()}, Y[:2]))
    assert "d['x']: expected dtype float32, got float64" in words
    assert "y: expected size 4 at dimension 0, got 2" in words
    words = refusal(lambda: compiled({"x": X.tolist()}, Y))
    assert re.search(r"d\['x'\]: expected float32 .*, got a list$", words, re.MULTILINE)
    assert "unexpected" not in words


def test_what_a_closure_holds_is_no_input() -> None:
    weight = torch.ones(8)
    compiled = compile_eager(lambda x: F.relu(x) * weight, (X,))
    assert refusal(lambda: compiled(X[:2])).count("  - ") == 1


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"flag": False}, "flag: compiled for True, got False"),
        ({"act": F.gelu}, "act: compiled with torch.nn.functional:relu, now torch._C._nn:gelu"),
        ({"c": Colour.BLUE}, "c: compiled with <Colour.RED: 1>, now <Colour.BLUE: 2>"),
        ({"z": 1}, "unexpected keyword argument 'z'"),
    ],
)
def test_constants_of_a_call(kwargs: dict[str, Any], words: str) -> None:
    compiled = compile_eager(choose, (X, Y))
    torch.testing.assert_close(compiled(X, Y), choose(X, Y))
    assert words in refusal(lambda: compiled(X, Y, **kwargs))


def test_a_changed_global_gives_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_eager(uses_globals, (X,))
    assert set(compiled.check_globals().values()) == {"ok"}
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "SCALE", 3.0)
        assert "SCALE (global of" in refusal(lambda: compiled(X))
        assert "changed: compiled with 2.0, now 3.0" in compiled.check_globals().values()
    with monkeypatch.context() as patch:
        patch.setitem(FLAGS, "relu", False)
        assert "FLAGS['relu']" in refusal(lambda: compiled(X))
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "STEPS", [1, 2, 3])
        assert "compiled with length 2, now 3" in refusal(lambda: compiled(X))
    torch.testing.assert_close(compiled(X), uses_globals(X))


def test_a_tensor_in_a_global_is_an_input(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_eager(uses_a_global_tensor, (X,))
    monkeypatch.setitem(globals(), "WEIGHT", torch.ones(8))
    torch.testing.assert_close(compiled(X), X)
    monkeypatch.setitem(globals(), "WEIGHT", torch.ones(4, 1))
    assert "WEIGHT" in refusal(lambda: compiled(X))


def test_another_grad_mode_autocast_or_train_state() -> None:
    compiled = compile_eager(lambda x: x + 1, (X,))
    with torch.no_grad():
        assert "grad mode: compiled for on, now off" in refusal(lambda: compiled(X))
    with torch.autocast("cpu"):
        assert "autocast on cpu: compiled for off, now on" in refusal(lambda: compiled(X))
    module = torch.nn.Sequential(torch.nn.Linear(8, 2), torch.nn.Dropout()).eval()
    compiled = compile_eager(module, (X,))
    module.train()
    assert "in train mode, but was compiled in eval mode" in refusal(lambda: compiled(X))


def test_grad_false_switches_gradients_off_by_itself() -> None:
    module = torch.nn.Linear(8, 2)
    compiled = compile_eager(module, (X,), grad=False)
    assert not compiled(X).requires_grad
    assert torch.is_grad_enabled()
    with torch.no_grad():
        compiled(X)


def test_another_thread_count_is_no_difference() -> None:
    compiled = compile_eager(lambda x: x + 1, (X,))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        torch.testing.assert_close(compiled(X), X + 1)
    finally:
        torch.set_num_threads(threads)


def test_checks_can_be_given_up() -> None:
    compiled = compile_eager(lambda x: x + 1, (X,))
    compiled.disable_guard_check()
    torch.testing.assert_close(compiled(X[:2]), X[:2] + 1)


def test_positional_keyword_and_default_arguments() -> None:
    def fn(a: torch.Tensor, /, b: torch.Tensor, *rest: torch.Tensor, k: int = 2) -> torch.Tensor:
        return a * k + b + sum(rest)

    compiled = compile_eager(fn, (X, Y, X), {"k": 3})
    torch.testing.assert_close(compiled(X, Y, X, k=3), fn(X, Y, X, k=3))


def plus_self(a: torch.Tensor, *, self: torch.Tensor) -> torch.Tensor:
    return a + self


def test_an_argument_may_be_called_self(tmp_path: Path) -> None:
    x = torch.ones(4)
    compiled = wb.aot_compile(plus_self, (x,), {"self": x}, backend="eager", grad=False)
    compiled.save(tmp_path / "a.aot")
    for handle in (compiled, wb.load(tmp_path / "a.aot")):
        assert torch.equal(handle(x, self=x), 2 * x)
        assert handle.verify(x, self=x).ok
        with pytest.raises(wb.ContractError, match="self: expected"):
            handle(x, self=torch.ones(5))
