from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch.export import Dim

import workbench as wb
from workbench.handles.package import Package


class Many(torch.nn.Module):
    """Shared, derived and fixed dimensions, whole numbers, another layout, two outputs."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(16, 8)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x, scale, ids, picture):
        batch = x.shape[0]
        features = self.linear(x + self.words(ids).view(batch, 2, 8).sum(1))
        return features * scale.unsqueeze(1), picture.relu().sum((2, 3))


def many_inputs(batch: int = 4) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(batch)
    return (
        torch.randn(batch, 8, generator=generator),
        torch.randn(batch, generator=generator),
        torch.randint(0, 16, (2 * batch,), generator=generator),
        torch.randn(2, 3, 4, 4, generator=generator).to(memory_format=torch.channels_last),
    )


@pytest.fixture(scope="session")
def package(tmp_path_factory) -> Package:
    path = tmp_path_factory.mktemp("cpp") / "many.pt2"
    batch = Dim("batch", min=2, max=64)
    shapes = {"x": {0: batch}, "scale": {0: batch}, "ids": {0: 2 * batch}, "picture": None}
    torch.manual_seed(0)
    return wb.package(
        Many().eval(), many_inputs(), path=path, dynamic_shapes=shapes, capture="light"
    )


@dataclass(frozen=True)
class Project:
    """A built project; `log` is what the compiler said."""

    folder: Path
    package: str
    log: str

    def run(self, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run one of its programs in the project's folder."""
        command = [str(self.folder / "build" / program), *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.folder, timeout=120
        )


@pytest.fixture(scope="session")
def project(package, tmp_path_factory) -> Project:
    folder = package.cpp_project(tmp_path_factory.mktemp("project") / "many", many_inputs())
    return Project(folder, package.path, built(folder))


def built(folder: Path, *options: str, target: str = "all") -> str:
    """Build a project as its README says; gives the output."""
    scripts = Path(sys.executable).parent
    path = os.pathsep.join([str(scripts), os.environ.get("PATH", os.defpath)])
    cmake = shutil.which("cmake", path=path)
    if cmake is None or shutil.which("g++", path=path) is None:
        pytest.skip("no CMake or no g++")
    prefix = f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}"
    quick = "-DCMAKE_CXX_FLAGS_RELEASE=-O0"
    ninja = ["-G", "Ninja"] if shutil.which("ninja", path=path) else []
    configure = [cmake, "-S", ".", "-B", "build", *ninja, prefix, quick, *options]
    text = ""
    for command in (configure, [cmake, "--build", "build", "--target", target, "-j2"]):
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={**os.environ, "PATH": path},
        )
        text += done.stdout + done.stderr
        assert done.returncode == 0, text
    return text
