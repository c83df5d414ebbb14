"""An exported program as the model of a package."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim, ExportedProgram, export

import workbench as wb
from tests.compiler.packaging import samples
from tests.compiler.packaging.conftest import nested_call


class Projected(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor, *, shift: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.linear(x) + shift["by"]


X = torch.randn(4, 8)
SHIFT = {"by": torch.randn(4)}


def exported(**options: Any) -> ExportedProgram:
    return export(Projected().eval(), (X,), {"shift": SHIFT}, **options)


def saved(program: ExportedProgram) -> ExportedProgram:
    """The program as another process reads it."""
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return torch.export.load(io.BytesIO(buffer.getvalue()))


@pytest.mark.parametrize(
    "way",
    [
        saved,
        pytest.param(lambda p: p, marks=pytest.mark.slow),
        pytest.param(lambda p: p.run_decompositions(), marks=pytest.mark.slow),
    ],
)
def test_its_example_inputs_and_its_ranges_are_those_of_the_package(
    way: Any, tmp_path: Path
) -> None:
    shapes = {"x": {0: Dim("rows", min=2, max=6)}, "shift": {"by": None}}
    program = way(exported(dynamic_shapes=shapes))
    package = wb.package(program, path=tmp_path / "p.pt2")
    for rows in (2, 4, 6):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(package(x, shift=SHIFT), program.module()(x, shift=SHIFT))
    with pytest.raises(wb.ContractError, match=r"x: dimension 0 is 7, outside .* in 2\.\.6"):
        package(torch.randn(7, 8), shift=SHIFT)
    assert package.report.request.name == "Projected"
    assert "packaged from an exported program, which contains frozen attributes" in package.notes[0]


@pytest.mark.slow
def test_a_program_of_functional_operators_that_writes_into_its_input(tmp_path: Path) -> None:
    class Writing(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x.add_(1) * y

    program = export(Writing(), (torch.zeros(3), torch.ones(3))).run_decompositions()
    package = wb.package(program, path=tmp_path / "p.pt2")
    x = torch.zeros(3)
    assert package(x, torch.full((3,), 2.0)).tolist() == [2.0] * 3
    assert x.tolist() == [1.0] * 3
    with pytest.raises(wb.ContractError, match="share memory"):
        package(x, x)


@pytest.mark.slow
def test_nested_inputs_and_weights_that_come_later(tmp_path: Path) -> None:
    model = samples.Nested().eval()
    args, kwargs = nested_call()
    program = export(model, args, kwargs)
    package = wb.package(program, args, kwargs, path=tmp_path / "p.pt2", weights="later")
    package.update_weights(model)
    found = package(*args, **kwargs)
    torch.testing.assert_close(found["out"], model(*args, **kwargs)["out"])


@pytest.mark.slow
def test_a_round_trip_and_a_project_in_cpp(tmp_path: Path) -> None:
    package = wb.package(exported(), path=tmp_path / "p.pt2")
    trip = wb.roundtrip(package, (X,), {"shift": SHIFT}, ways=("eager", "ours"))
    assert trip.ok
    assert wb.verify(package, (X,), {"shift": SHIFT}).ok
    assert (package.cpp_project(tmp_path / "cpp") / "CMakeLists.txt").exists()


@pytest.mark.slow  # several models in one file are in tests/compiler/running/test_kinds.py
def test_beside_another_model_in_one_file(tmp_path: Path) -> None:
    models = {"program": exported(), "function": torch.relu}
    package = wb.package(models, {"function": (X,)}, path=tmp_path / "p.pt2")
    torch.testing.assert_close(package["function"](X), torch.relu(X))
    expected = models["program"].module()(X, shift=SHIFT)
    torch.testing.assert_close(package["program"](X, shift=SHIFT), expected)


@pytest.mark.parametrize(
    ("args", "options", "words"),
    [
        (None, {"dynamic_shapes": {"x": {0: Dim("b")}}}, "its export declared the dimensions"),
        ((X, SHIFT), {}, "nested differently"),
        ((torch.randn(4, 9),), {"kwargs": {"shift": SHIFT}}, "x: expected size 8 at dimension 1"),
        ((X.double(),), {"kwargs": {"shift": SHIFT}}, "x: expected dtype float32, got float64"),
        (None, {"kwargs": {"shift": SHIFT}}, "only kwargs are given"),
    ],
)
def test_what_does_not_fit_the_program(
    args: Any, options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(wb.UsageError, match=words):
        wb.package(exported(), args, path=tmp_path / "p.pt2", **options)


def test_a_module_needs_example_inputs(tmp_path: Path) -> None:
    with pytest.raises(wb.UsageError, match="args is missing: pass a tuple of example inputs"):
        wb.package(torch.nn.ReLU(), path=tmp_path / "p.pt2")


def test_a_program_in_train_mode_is_refused(tmp_path: Path) -> None:
    program = export(samples.Training(), (torch.randn(4, 4),))
    with pytest.raises(wb.CaptureError, match="in train mode"):
        wb.package(program, path=tmp_path / "p.pt2")
