"""A serving image needs torch, numpy and safetensors, and nothing of Jupyter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch

import workbench as wb

TORCH_NEEDS = (
    "workbench",
    "torch",
    "torchgen",
    "functorch",
    "numpy",
    "safetensors",
    "sympy",
    "mpmath",
    "networkx",
    "jinja2",
    "markupsafe",
    "filelock",
    "fsspec",
    "typing_extensions",
)

SCRIPT = """
import sys

from importlib.machinery import PathFinder

class Serving(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top in {allowed!r} or top[0] == "_":
            return PathFinder.find_spec(name, path, target)
        return None

sys.meta_path = [Serving if finder is PathFinder else finder for finder in sys.meta_path]
import torch
import workbench as wb
print(wb.inspect({path!r}).kind)
loaded = wb.load({path!r})
print(loaded(torch.ones(3, 8)).sum().item())
print([name for name in ("IPython", "pandas", "matplotlib") if name in sys.modules])
"""


def test_load_and_inspect_with_the_rest_hidden(tmp_path: Path) -> None:
    path = tmp_path / "model.aot"
    module = torch.nn.Sequential(torch.nn.Linear(8, 8, bias=False), torch.nn.ReLU())
    with torch.no_grad():
        module[0].weight.copy_(torch.eye(8))
    wb.aot_compile(module, (torch.randn(3, 8),), grad=False).save(path, weights="inside")
    script = SCRIPT.format(path=str(path), allowed=TORCH_NEEDS)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["artifact", "24.0", "[]"]
