"""Operators reach another process: torch's own by name, those of the user made anew."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.internals.shipped_operators import (
    DefinedOperator,
    LibraryOperator,
    find_used_operators,
)
from workbench.errors import UsageError
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


torch.library.define("shipped_defined::scale", "(Tensor x, float k) -> Tensor")
torch.library.define("shipped_defined::bare", "(Tensor x) -> Tensor")
torch.library.define("shipped_defined::learned", "(Tensor x) -> Tensor")


@torch.library.impl("shipped_defined::scale", "cpu")
def scale(x: torch.Tensor, k: float) -> torch.Tensor:
    return x * k


@torch.library.register_fake("shipped_defined::scale")
def make_scaled(x: torch.Tensor, k: float) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.register_fake("shipped_defined::learned")
def make_learned(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


torch.library.register_autograd("shipped_defined::learned", lambda _, grad: grad * 3)


def call_scale(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.shipped_defined.scale(x.sin(), 2.0) + 1


def call_bare(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.shipped_defined.bare(x.sin()) + 1


def call_learned(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.shipped_defined.learned(x.sin()) + 1


def test_an_operator_of_a_library_is_described_by_its_schema_and_fake_function() -> None:
    (found,) = find_used_operators(call_scale)
    described = DefinedOperator.of(found)
    assert described.schema == "scale(Tensor x, float k) -> Tensor"
    assert described.fake is make_scaled
    assert not described.has_backward
    assert described.defined() is None  # it is here
    assert DefinedOperator.of(LibraryOperator("shipped_defined::learned")).has_backward


def test_one_without_a_fake_function_says_what_to_register() -> None:
    with pytest.raises(UsageError, match=r"shipped_defined::bare cannot be sent .*register_fake"):
        wb.aot_compile(call_bare, (torch.ones(4),), target="h100")


def test_a_backward_that_nothing_gives_back_is_refused_only_where_it_is_needed() -> None:
    with pytest.raises(UsageError, match="The backward pass of shipped_defined::learned cannot be"):
        wb.aot_compile(call_learned, (torch.ones(4, requires_grad=True),), target="h100")


@pytest.mark.slow
@pytest.mark.parametrize("function", [call_scale, call_learned])
def test_operators_of_libraries_compile_for_a_virtual_gpu(function: Any) -> None:
    compiled = wb.aot_compile(function, (torch.ones(4),), target="h100")
    names = [kernel.name for kernel in compiled.report.kernels]
    assert any("shipped_defined" in name for name in names), names


def test_a_process_that_has_to_run_it_is_told_that_it_cannot() -> None:
    with pytest.raises(UsageError, match="shipped_defined::bare exists only in this process"):
        pack({"function": call_bare}, "it")
