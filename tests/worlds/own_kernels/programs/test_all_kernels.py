"""Every kernel of `kernels.py`: it is what people write, and right."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.worlds.own_kernels.programs.cases import CASES
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.kernels.kernel_variants import list_variants, make_source
from workbench.compiler.virtual_gpu.client import CrossCompiler, build_all
from workbench.compiler.virtual_gpu.kernel_choice import Build, Built
from workbench.specs import Catalogue
from workbench.specs.device import Device

ROOT = Path(__file__).parents[4]
INTERPRETED = """
import torch
from tests.worlds.own_kernels.programs.cases import CASES
for name, make in CASES.items():
    case = make()
    kernel, meta = case.kernel, dict(case.meta)
    while hasattr(kernel, "fn") and not callable(getattr(kernel, "rewrite", None)):
        if hasattr(kernel, "configs"):
            config = kernel.configs[0]
            meta |= config.kwargs
            if config.pre_hook:
                names = kernel.arg_names
                config.pre_hook({**dict(zip(names, case.args)), **meta})
        else:
            for key, rule in kernel.values.items():
                meta[key] = rule({**dict(zip(kernel.arg_names, case.args)), **meta})
        kernel = kernel.fn
    kernel[case.grid](*case.args, **meta)
    given = dict(zip(kernel.arg_names, case.args))
    for key, expected in case.expected.items():
        made = getattr(given[key], "base", given[key])
        torch.testing.assert_close(made, expected, atol=case.tolerance, rtol=1e-3, msg=name)
    print(name)
"""


@pytest.mark.parametrize("name", CASES)
def test_a_call_is_made_of_every_kernel(name: str) -> None:
    case = CASES[name]()
    call = KernelCall.of(case.kernel, case.args, case.grid, case.meta)
    assert {*case.expected} <= {*call.tensors()}
    assert call.resolve_grid(call.configs[0].kwargs if call.configs else None)[0] >= 1


@pytest.mark.slow
def test_every_kernel_computes_what_pytorch_does_in_tritons_own_interpreter() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [*CASES]


TARGETS = ("h100", "a100", "b200", "mi300x", "rtx4090")
SAMPLE = ("add", "matmul", "histogram")


def compile_all(names: Iterable[str], target: str, worker: CrossCompiler) -> Mapping[str, Built]:
    """Every case in its first configuration that fits, by name."""
    gpu = Catalogue.built_in()[target]
    builds = []
    for name in names:
        case = CASES[name]()
        call = KernelCall.of(case.kernel, case.args, case.grid, case.meta)
        variant = list_variants(call, gpu.kind.build)[-1]
        source = make_source(call, variant)
        builds.append(Build(name, name, Device(gpu), choice=variant.choice, own=source))
    return build_all(builds, worker)


def check_built(built: Mapping[str, Built], target: str) -> None:
    last = "amdgcn" if target.startswith("mi") else "sass"
    for name, each in built.items():
        assert each.resources is not None, (name, each.note)
        assert each.resources.blocks, name
        assert each.assembly[-1].stage == last
        assert all(row.lines for row in each.assembly), name


@pytest.mark.parametrize("target", ["h100", "mi300x"])
def test_kernels_compile_with_every_stage_led_back_to_their_lines(
    target: str, worker: CrossCompiler
) -> None:
    check_built(compile_all(SAMPLE, target, worker), target)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_every_kernel_compiles_for_five_gpus(target: str, worker: CrossCompiler) -> None:
    built = compile_all(CASES, target, worker)
    assert len(built) == len(CASES)
    check_built(built, target)
