"""Cures of graph breaks are tried on copies: what works, what is refused, what stays as it was."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.analysis.rehearsal.rehearsal import Rehearsal

X = torch.linspace(0.1, 1.0, 8)
log = logging.getLogger(__name__)


def rehearsed(fn: Any, *args: Any) -> Rehearsal:
    return wb.rehearse(fn, args or (X,))


def verdicts(found: Rehearsal) -> list[tuple[str, str, int | None]]:
    return [(cure.kind, cure.verdict, cure.graphs_after) for cure in found.cures]


def logs(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    log.warning("shape %s", y.shape)
    return y + 1


def takes_a_number(x: torch.Tensor) -> torch.Tensor:
    n = x.sum().item()
    return x * n


def has_a_size_from_data(x: torch.Tensor) -> torch.Tensor:
    n = int(x.sum())
    return torch.ones(n + 3) * 2 + x.sum()


def asks_the_clock(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    t = time.time()
    return y.cos() + 0 * (t > 0)


def breaks_on_purpose(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()


def reads_what_was_changed(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    text = str(x.tolist())
    return x * len(text)


@pytest.mark.parametrize(
    ("fn", "tried"),
    [
        (logs, [("rewrite", "works", 1)]),
        (takes_a_number, [("rewrite", "works", 1), ("config", "works", 1)]),
        (has_a_size_from_data, [("config", "works", 1)]),
        (asks_the_clock, [("move", "works", 1), ("explicit", "meant", 2)]),
        (breaks_on_purpose, [("rewrite", "works", 1)]),
    ],
)
def test_a_break_has_the_cures_that_exist(fn: Any, tried: list[Any]) -> None:
    found = rehearsed(fn)
    assert (found.graphs, found.breaks) == (2, 1)
    assert verdicts(found) == tried
    assert found.together.graphs == 1
    assert found.together.agrees


def test_a_cure_that_gives_something_else_is_refused() -> None:
    moved = next(cure for cure in rehearsed(reads_what_was_changed).cures if cure.kind == "move")
    assert (moved.verdict, moved.agrees) == ("refused", False)
    assert "differ in" in moved.checked


def helper(y: torch.Tensor) -> torch.Tensor:
    print("size", y.shape)
    return y.cos()


def breaks_twice(x: torch.Tensor) -> torch.Tensor:
    z = x.sin()
    if z.sum() > 100:
        z = z + 1
    return helper(z)


def test_the_cures_of_a_function_and_of_what_it_calls_are_put_together() -> None:
    found = rehearsed(breaks_twice)
    assert (found.breaks, found.together.graphs, found.together.breaks) == (2, 1, 0)
    patch = found.patch()
    assert patch.count("@@ -") == 2
    assert "+    z = torch.where(z.sum() > 100, z + 1, z)\n" in patch
    assert '-    print("size", y.shape)\n+    if not torch.compiler.is_compiling():\n' in patch


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x.expand(3, 8))
        print(h.sum())
        return h * 2


def test_nothing_of_the_users_is_changed(capsys: pytest.CaptureFixture[str]) -> None:
    model, x, forward = Net(), X.clone(), Net.forward
    state = {name: value.clone() for name, value in model.state_dict().items()}
    random = torch.random.get_rng_state()
    assert rehearsed(model, x).together.graphs == 1
    assert rehearsed(reads_what_was_changed, x).breaks == 1
    assert torch.equal(x, X)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.random.get_rng_state(), random)
    assert (Net.forward, type(model)) == (forward, Net)
    assert capsys.readouterr().out == ""


def test_random_numbers_are_no_other_result() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.dropout(x, 0.5)
        print(y)
        return y * 2

    assert verdicts(rehearsed(noisy)) == [("rewrite", "works", 1)]


def test_without_a_break_there_is_nothing_to_cure() -> None:
    found = rehearsed(torch.nn.Linear(8, 8))
    assert found.sentence == "Linear has no graph break: there is nothing to cure."
    assert (found.patch(), found.options, len(found.frame())) == ("", {}, 0)


def test_what_the_function_raises_is_raised() -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        print("before")
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        rehearsed(fails)
    with pytest.raises(wb.UsageError, match="args is a Tensor: expected a tuple"):
        wb.rehearse(logs, X)  # type: ignore[arg-type]


def test_an_option_that_torch_does_not_have_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.analysis.rehearsal import candidates

    monkeypatch.setattr(candidates, "CONFIG", {"Unsupported Tensor.item() call": "no_such"})
    cure = next(cure for cure in rehearsed(has_a_size_from_data).cures if cure.kind == "config")
    assert cure.verdict == "not checked"
    assert cure.checked.endswith("has no option no_such.")
