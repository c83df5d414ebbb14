"""The configurations of one kernel, compiled and ranked by a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.bench.product_kernels import make_inputs
from workbench.analysis.tuning.tuned import RankedConfigs
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.errors import UsageError
from workbench.handles.cross_compiled import CrossCompiled, compile_for_gpu
from workbench.handles.kernels.ranked import get_gpu, rank_configs
from workbench.report.machine_rows import RankedConfig
from workbench.specs import Catalogue

H100 = Catalogue.built_in()["h100"]
TEMPLATES = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"}


def column_sum(x: Tensor) -> Tensor:
    return torch.relu(x).sum(0)


def product(a: Tensor, b: Tensor) -> Tensor:
    return torch.relu(a @ b)


@pytest.fixture(scope="module")
def compiled(worker: CrossCompiler) -> CrossCompiled:
    x = torch.randn(4096, 256)
    return compile_for_gpu(CompileRequest(column_sum, (x,)), H100, worker=worker)


def ranked(compiled: CrossCompiled, worker: CrossCompiler) -> RankedConfigs:
    blocks = {"XBLOCK": (1, 32), "R0_BLOCK": (8, 128)}
    return rank_configs(
        compiled.report, H100, "k0", blocks=blocks, warps=(4,), stages=(1,), worker=worker
    )


def test_each_configuration_is_compiled_and_has_a_place(
    compiled: CrossCompiled, worker: CrossCompiler
) -> None:
    found = ranked(compiled, worker)
    assert {row.choice for row in found.rows} == {
        f"XBLOCK={x}, R0_BLOCK={r}" for x in (1, 32) for r in (8, 128)
    }
    assert [row.rank for row in found.rows] == [1, 2, 3, 4]
    times = [row.model_us or 0.0 for row in found.rows]
    assert times == sorted(times)
    assert all(row.estimate and row.registers and row.occupancy for row in found.rows)
    assert found.rows[0].rejection is None
    assert "× the best modelled time" in str(found.rows[-1].rejection)
    assert {row.kernel for row in found.report.ranked_configs} == {"k0"}


def test_the_space_derives_from_the_kernel(compiled: CrossCompiled, worker: CrossCompiler) -> None:
    own = next(row for row in compiled.report.resources if row.kernel == "k0")
    found = rank_configs(compiled.report, H100, "k0", warps=(own.warps,), worker=worker)
    assert own.choice in {row.choice for row in found.rows}
    assert len(found.rows) > 4


def test_what_does_not_exist_is_refused_with_what_does(compiled: CrossCompiled) -> None:
    with pytest.raises(UsageError, match=r"'k9' is not a Triton kernel of this .*k0 \(triton_"):
        compiled.rank_configs("k9")
    with pytest.raises(UsageError, match=r"no block size 'BLOCK_M'. It has XBLOCK, R0_BLOCK"):
        compiled.rank_configs("k0", blocks={"BLOCK_M": (64,)})
    assert get_gpu(compiled.report) == H100


def test_a_product_of_the_user_is_ranked_by_what_its_loop_issues(worker: CrossCompiler) -> None:
    function, inputs = make_inputs("gemm fp8", torch.float8_e4m3fn)
    there = compile_for_gpu(CompileRequest(function, inputs), H100, worker=worker)
    blocks = {"BLOCK_SIZE_M": (16, 64), "BLOCK_SIZE_N": (64,), "BLOCK_SIZE_K": (128,)}
    found = rank_configs(
        there.report, H100, "k0", blocks=blocks, warps=(4,), stages=(3,), worker=worker
    )
    best, worst = found.rows
    assert best.choice == "BLOCK_SIZE_M=64, BLOCK_SIZE_N=64, BLOCK_SIZE_K=128"
    assert worst.model_us
    assert best.model_us
    assert worst.model_us > best.model_us > 256 * 1024 * 2048 * 2 / 1979e6
    assert str(best.note).startswith("modelled: K loop limited by ")


def test_a_prior_and_a_block_of_scales_change_the_order_of_experts(
    worker: CrossCompiler, tmp_path: Path
) -> None:
    function, inputs = make_inputs("moe fp8 blocks", torch.float8_e4m3fn)
    there = compile_for_gpu(CompileRequest(function, inputs), H100, worker=worker)
    config = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 128, "GROUP_SIZE_M": 1}
    won = {"256": {**config, "num_warps": 4, "num_stages": 3}}
    name = "E=8,N=512,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json"
    (tmp_path / name).write_text(json.dumps(won))
    blocks = {"BLOCK_SIZE_M": (16, 64), "BLOCK_SIZE_N": (64,), "BLOCK_SIZE_K": (128, 256)}
    sizes = {"M": 256, "E": 8, "TOP": 2}

    def rank(**more: Any) -> list[RankedConfig]:
        given = {"blocks": blocks, "warps": (4,), "stages": (3,), **more}
        return list(rank_configs(there.report, H100, "k0", worker=worker, **given).rows)

    unknown = rank()
    assert all(row.model_us is None for row in unknown if row.rank)
    plain, known = rank(sizes=sizes, prior=[]), rank(sizes=sizes, prior=tmp_path)
    other = rank(sizes={**sizes, "M": 1 << 20}, prior=[tmp_path])
    assert str(other[0].note).endswith("similar problem, so it changes nothing")
    for rows in (plain, known):
        assert [row.rank for row in rows] == [1, 2, None, None]
        assert str(rows[-1].rejection).startswith("BLOCK_K 256 spans several scale blocks")
        assert rows[-1].registers is None
    times = {row.choice: row.ranked_us or 0.0 for row in plain}
    placed = {row.choice: row.ranked_us or 0.0 for row in known if row.rank}
    small, large = placed
    if "=16" not in small:
        small, large = large, small
    assert placed[small] / placed[large] < times[small] / times[large]


def test_a_prior_is_for_products_of_the_user(compiled: CrossCompiled) -> None:
    with pytest.raises(UsageError, match="sizes and prior are for matmuls that you wrote"):
        compiled.rank_configs("k0", sizes={"M": 8})
    with pytest.raises(UsageError, match="sizes and prior are for matmuls that you wrote"):
        compiled.rank_configs("k0", prior="nowhere")


@pytest.mark.slow
def test_a_template_that_needs_too_much_shared_memory_cannot_be_launched(
    worker: CrossCompiler,
) -> None:
    a = torch.randn(1024, 1024, dtype=torch.bfloat16)
    there = compile_for_gpu(
        CompileRequest(product, (a, a), options=CompileOptions(options=TEMPLATES)),
        H100,
        worker=worker,
    )
    blocks = {"BLOCK_M": (64, 256), "BLOCK_N": (64, 256), "BLOCK_K": (128,)}
    found = rank_configs(
        there.report, H100, "k0", blocks=blocks, warps=(8,), stages=(4,), worker=worker
    )
    best, worst = found.rows[0], found.rows[-1]
    assert best.rank == 1
    assert best.model_us
    assert worst.choice == "BLOCK_M=256, BLOCK_N=256, BLOCK_K=128"
    assert str(worst.rejection).startswith("cannot be launched: 524288 bytes of shared memory")
    assert worst.rank is None
