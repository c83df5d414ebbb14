"""A project whose model calls an operator that a library of the user's registers in C++."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch
from torch.utils.cpp_extension import include_paths, library_paths

import workbench as wb
from tests.compiler.cpp_project.conftest import Project, built

SOURCE = """
#include <torch/library.h>
#include <ATen/ATen.h>
TORCH_LIBRARY(workbench_cpp_tests, library) {
  library.def("thrice(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(workbench_cpp_tests, CompositeExplicitAutograd, library) {
  library.impl("thrice", [](const at::Tensor& x) { return at::mul(x, 3); });
}
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    source, made = tmp_path / "mine.cpp", tmp_path / "libmine.so"
    source.write_text(SOURCE)
    command = ["g++", "-std=c++20", "-O0", "-shared", "-fPIC", str(source), "-o", str(made)]
    command += [f"-I{folder}" for folder in include_paths()]
    command += [f"-L{folder}" for folder in library_paths()]
    subprocess.run([*command, "-ltorch_cpu", "-lc10"], check=True)
    return made


@pytest.mark.slow
def test_it_is_linked_and_called(library: Path, tmp_path: Path) -> None:
    torch.ops.load_library(str(library))

    @torch.library.register_fake("workbench_cpp_tests::thrice")
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    x = torch.randn(4, 4)
    package = wb.package(
        lambda x: torch.ops.workbench_cpp_tests.thrice(x + 1).relu(),
        (x,),
        path=tmp_path / "custom.pt2",
    )
    torch.testing.assert_close(package(x), (3 * (x + 1)).relu())
    folder = package.cpp_project(tmp_path / "project", (x,), libraries=[library])
    answer = Project(folder, package.path, built(folder)).run("example", package.path)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.endswith("largest difference from Python: 0\n")
