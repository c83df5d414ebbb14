"""Sizes that torch takes for impossible, run on a library that is right or wrong there."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from workbench.compiler.calls.paths import Path
from workbench.compiler.contract.contract import Contract, Leaf
from workbench.compiler.packaging import size_trials
from workbench.compiler.packaging.contracts import ExportedContract, build_contract
from workbench.compiler.packaging.exporting import Exported, check_exportable, export
from workbench.compiler.packaging.inductor_library import Built, Library
from workbench.compiler.packaging.package_request import ModelRequest
from workbench.compiler.packaging.size_trials import build_untried_contract
from workbench.compiler.sizes.dims import Dynamic

Run = Callable[[list[Tensor]], list[Tensor]]


class Doubling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        self.calls.add_(1)
        return x * 2, x.shape[0]


class Library_:
    """Stands in for a built library."""

    def __init__(self, is_right: Callable[[int], bool]):
        self.is_right = is_right
        self.seen: list[int] = []

    def run(self, inputs: list[Tensor]) -> list[Tensor]:
        (x,) = inputs
        self.seen.append(len(x))
        factor = 2 if self.is_right(len(x)) else 3
        return [x * factor, torch.tensor(len(x))]


def tried(
    monkeypatch: pytest.MonkeyPatch, library: Library_, *assumed: str, low: int = 1
) -> tuple[ExportedContract, tuple[str, ...]]:
    spec = {"x": {0: Dim("batch", min=low, max=64)}}
    found = check_exportable(
        ModelRequest(Doubling().eval(), (torch.ones(4, 3),), dynamic_shapes=spec)
    )
    exported = Exported(export(found).program, any_size=False)
    contract = build_contract(exported.program, found.inputs, found.declared)
    monkeypatch.setattr(size_trials, "_runner", lambda *_: library)
    result = size_trials.tried(found, exported, Built({}, Library(), assumed=assumed), contract)
    assert float(found.module.calls) == 0  # a trial leaves the module as it was
    return result


def test_a_size_that_is_right_stays_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library_(lambda _: True)
    contract, notes = tried(monkeypatch, library)
    assert (contract.ranges, notes) == ({"batch": (1, 64)}, ())
    assert library.seen == [1]


def test_a_size_that_is_wrong_is_taken_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    contract, (note,) = tried(monkeypatch, Library_(lambda size: size > 1))
    assert contract.ranges == {"batch": (2, 64)}
    assert contract.to_json()["leaves"][0]["shape"][0]["min"] == 2
    assert note.startswith("batch starts at 2, higher than declared")


def test_what_was_assumed_is_tried_with_the_first_size_that_breaks_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = Library_(lambda _: True)
    contract, notes = tried(monkeypatch, library, "batch < 16", "batch < 99", "s7 < 3", low=2)
    assert (contract.guards, notes) == ((), ())
    assert library.seen == [16]


def test_an_assumption_that_matters_becomes_a_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library_(lambda size: size < 16)
    contract, (note,) = tried(monkeypatch, library, "batch < 16", low=2)
    assert contract.guards == ("batch < 16",)
    assert note.startswith("calls are refused unless batch < 16, which torch assumed")


class Rows(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(6, -1) * 2


def test_what_eager_demands_is_not_blamed_on_the_choice_of_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = {"x": {0: Dim.AUTO}}
    found = check_exportable(ModelRequest(Rows().eval(), (torch.ones(12),), dynamic_shapes=spec))
    exported = Exported(export(found).program, any_size=True)
    contract = build_contract(exported.program, found.inputs, found.declared)
    monkeypatch.setattr(size_trials, "_runner", lambda *_: Library_(lambda _: True))
    built = Built({}, Library(), assumed=("Eq(x_0, 6*((x_0//6)))",))
    _, (note,) = size_trials.tried(found, exported, built, contract)
    assert note == (
        "calls are refused unless x_0 is a multiple of 6: the model itself supports no other size; "
        "declare 6 * Dim('k') instead of x_0 to state this"
    )


def test_what_cannot_be_tried_is_refused_and_not_called_wrong() -> None:
    """A library for a virtual GPU runs nowhere here."""
    shape = (Dynamic("n", 2, 64), 8)
    leaf = Leaf(Path("x"), "tensor", "Tensor", shape=shape, sizes=(4, 8), dtype="float32")
    contract = ExportedContract(Contract((leaf,)), ranges={"n": (2, 64)})
    built: Any = SimpleNamespace(assumed=["n < 32"])
    exported: Any = SimpleNamespace(any_size=True)
    honest, (note,) = build_untried_contract(exported, built, contract)
    assert honest.guards == ("n < 32",)
    assert note.startswith("calls are refused unless n < 32, which torch assumed")
    assert "package on a machine with the GPU" in note
    assert "wrong" not in note
