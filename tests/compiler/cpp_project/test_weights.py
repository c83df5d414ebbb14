"""Weights beside the library, and weights that come later, from C++."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from tests.compiler.cpp_project.conftest import Project, built

pytestmark = pytest.mark.slow  # each builds a project of its own


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(16, 8)
        self.head = torch.nn.Linear(8, 16)
        self.head.weight = self.embedding.weight
        self.scale = torch.linspace(0, 1, 16)  # a constant: in no state_dict

    def forward(self, ids):
        return self.head(self.embedding(ids)) * self.scale


def project(tmp_path, weights: str):
    torch.manual_seed(0)
    model, ids = Tied().eval(), torch.arange(6)
    package = wb.package(
        model, (ids,), path=tmp_path / "tied.pt2", weights=weights, capture="light"
    )
    if weights == "later":
        package.update_weights(model.state_dict())
    folder = package.cpp_project(tmp_path / "project", (ids,))
    torch.save(dict(model.state_dict()), folder / "weights.pt")
    return Project(folder, package.path, built(folder))


def test_weights_beside_are_mapped(tmp_path):
    made = project(tmp_path, "beside")
    answer = made.run("example", made.package)
    assert answer.stdout.endswith("largest difference from Python: 0\n"), answer.stderr
    answer = made.run("benchmark", made.package, "--runners", 2, "--threads", 4)
    assert answer.returncode == 0, answer.stderr


def test_weights_that_come_later_are_asked_for(tmp_path):
    made = project(tmp_path, "later")
    answer = made.run("example", made.package)
    assert answer.stderr == (
        "error: The package holds no weights: call update_weights before the first run.\n"
    )
    files = ("example_inputs.pt", "example_outputs.pt", "weights.pt")
    answer = made.run("example", made.package, *files)
    assert answer.stdout.endswith("largest difference from Python: 0\n"), answer.stderr
    answer = made.run("benchmark", made.package, "--weights", "weights.pt", "--requests", 100)
    assert answer.returncode == 0, answer.stderr
    torch.save({"head.bias": torch.zeros(16)}, made.folder / "some.pt")
    answer = made.run("example", made.package, *files[:2], "some.pt")
    assert "weight: it is missing, and the package has none" in answer.stderr
