"""Operators reach another process: torch's own by name, those of the user made anew."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from workbench.processes.shipping.shipped_values import pack, unpack

SCRIPT = """
import torch
from workbench.processes.shipping.shipped_values import pack

@torch.library.custom_op("shipped_here::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

ops = torch.ops

def named(x): return torch.ops.aten.relu.default(x) + 1
def held(x): return ops.aten.relu(x) + 1
def own(x): return torch.ops.shipped_here.twice(x) + 1
def overload(x, op=torch.ops.shipped_here.twice.default): return op(x) + 1
def made(x): return twice(x) + 1

print(pack({name: globals()[name] for name in NAMES}, "it"))
"""


@pytest.mark.parametrize("name", ["named", "held", "own", "overload", "made"])
def test_a_function_of_a_script_that_names_operators_travels(tmp_path: Path, name: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("NAMES", repr([name])))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    folder = Path(done.stdout.splitlines()[-1])
    try:
        arrived = unpack(folder)[name]
    finally:
        shutil.rmtree(folder)
    assert arrived(torch.tensor([3.0])).item() == (4 if name in ("named", "held") else 7)


@torch.library.custom_op("shipped_operators::thrice", mutates_args=())
def thrice(x: torch.Tensor) -> torch.Tensor:
    return x * 3


def test_an_operator_stays_the_users_own_in_the_same_process() -> None:
    folder = pack({"operator": thrice}, "it")
    try:
        assert unpack(folder)["operator"] is thrice
    finally:
        shutil.rmtree(folder)
