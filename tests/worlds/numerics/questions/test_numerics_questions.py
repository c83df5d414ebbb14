"""The numbers of what was loaded: outputs beside a reference, kernels where code is the same."""

from __future__ import annotations

from pathlib import Path

import numerics_cases as cases
import pytest
import torch

import workbench as wb

X, Y = cases.draw(64, 256), cases.draw(64, 256, seed=1)


class Pointwise(torch.nn.Module):
    def forward(self, x, y):
        return cases.pointwise(x, y)


def other(x, y):
    return torch.relu(x * y + 1.25) - y


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> wb.Compiled:
    path = tmp_path_factory.mktemp("numbers") / "f.aot"
    digest = wb.aot_compile(cases.pointwise, (X, Y), grad=False).save(path)
    return wb.load(path, trust=digest)


def test_a_file_needs_what_was_compiled(loaded: wb.Compiled) -> None:
    with pytest.raises(wb.UsageError, match=r"pass the function: .*reference=fn"):
        wb.numerics(loaded, (X, Y))


def test_the_same_code_is_looked_at_kernel_by_kernel(loaded: wb.Compiled) -> None:
    found = wb.numerics(loaded, (X, Y), reference=cases.pointwise)
    assert "compiling pointwise here gave the same code" in found.sentence
    assert found.not_compared == ()
    assert found.compared > 1


def test_of_other_code_the_outputs_are_compared(loaded: wb.Compiled) -> None:
    found = wb.numerics(loaded, (X, Y), reference=other)
    (why,) = found.not_compared
    assert why.startswith("kernels: the file has no graphs, and compiling other")
    assert found.outputs[0].own_off > 1e4  # float64 judges by the reference
    assert found.sentence.startswith("Farther from float64 than eager")
    assert "Not checked: 1 of " in found.sentence


def test_a_package_is_compared_with_its_model(tmp_path: Path) -> None:
    made = wb.package(Pointwise().eval(), (X, Y), path=tmp_path / "p.pt2")
    with wb.load(tmp_path / "p.pt2", trust=made.digest) as package:
        found = wb.numerics(package, (X, Y), reference=Pointwise().eval())
    assert found.deviations == ()
    assert found.outputs[0].own_off <= 2
    assert list(found.frame("stages").stage) == ["eager", "kernels"]
    assert "has no graphs" in found.not_compared[0]
