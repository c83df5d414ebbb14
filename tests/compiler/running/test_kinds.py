"""Packages of torch, packages with operators of others, several models, a fresh process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from fresh_process import run_fresh

import workbench as wb
from workbench.compiler.cold_start.compile_cache import start_fast


class Twice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.workbench_tests.doubled(x * self.weight) + 1


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


@pytest.fixture(scope="module")
def doubled() -> Iterator[None]:
    """An operator that exists in Python alone."""
    library = torch.library.Library("workbench_tests", "DEF")
    library.define("doubled(Tensor x) -> Tensor")
    library.impl("doubled", lambda x: x * 2, "CompositeExplicitAutograd")
    torch.library.register_fake("workbench_tests::doubled", torch.empty_like, lib=library)
    yield
    library._destroy()


@pytest.fixture(scope="module")
def of_torch(package_folder: Path) -> Path:
    batch = torch.export.Dim("batch", min=2)
    example = (torch.randn(4, 3), torch.randn(4, 3))
    with start_fast():
        program = torch.export.export(Add(), example, dynamic_shapes=({0: batch}, {0: batch}))
        path = package_folder / "torch.pt2"
        torch._inductor.aoti_compile_and_package(program, package_path=str(path))
    return path


@pytest.mark.slow
def test_operators_of_others_run_through_the_binding(
    doubled: None, package_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    module, x = Twice().eval(), torch.randn(5, 6)
    wb.package(module, (x,), path=package_folder / "twice.pt2", capture="light")
    package = wb.load(package_folder / "twice.pt2", num_runners=2)
    torch.testing.assert_close(package(x), module(x).detach())
    assert "holds the GIL" in package.notes[0]
    assert "note: model: it calls operators" in repr(package)
    package.update_weights({"weight": torch.ones(6)}, partial=True)
    torch.testing.assert_close(package(x), x * 2 + 1)
    with pytest.raises(wb.ContractError):
        package(x[:2])
    package.close()
    with pytest.raises(wb.UsageError, match="closed"):
        package(x)


def test_a_package_of_torch_runs_with_a_warning(of_torch: Path) -> None:
    with pytest.raises(wb.TrustError, match="is not signed"):
        wb.load(of_torch)
    digest = wb.inspect(of_torch).digest
    with pytest.warns(UserWarning, match="only the number and nesting of inputs are checked"):
        package = wb.load(of_torch, trust=digest)
    x, y = torch.randn(7, 3), torch.randn(7, 3)
    torch.testing.assert_close(package(x, y), x + y)
    with pytest.raises(wb.ContractError, match="argument 1 is missing"):
        package(x)
    with pytest.raises(wb.ArtifactError, match="has no report"):
        _ = package.report


@pytest.mark.slow
def test_of_several_models_each_is_called_by_its_name(package_folder: Path) -> None:
    x = torch.randn(3)
    path = package_folder / "two.pt2"
    wb.package(
        {"add": Add().eval(), "line": torch.nn.Linear(3, 2).eval()},
        {"add": (x, x), "line": (x,)},
        path=path,
        capture="light",
    )
    package = wb.load(path)
    assert package.names == ("add", "line")
    torch.testing.assert_close(package["add"](x, x), x + x)
    assert package["line"](x).shape == (2,)
    with pytest.raises(wb.UsageError, match=r"several models \(add, line\): call package\[name\]"):
        package(x, x)
    with pytest.raises(wb.ArtifactError, match="no model 'other'"):
        package["other"]
    with pytest.raises(wb.ContractError, match=r"The signature is add\(x, y\)"):
        package["add"](x)
    package.close()
    with pytest.raises(wb.UsageError, match="closed"):
        package["add"](x, x)


def test_loading_imports_no_compiler_and_starts_nothing(
    small: Any, tied: Any, tmp_path: Path
) -> None:
    found = run_fresh(tmp_path, "tests.compiler.running.loads", str(small.path), str(tied.path))
    assert found.splitlines()[-1] == "both ran"
