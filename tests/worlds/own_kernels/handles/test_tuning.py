"""Configurations compiled for a GPU that is not here, discarded with the reason, and ranked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import workbench as wb
from tests.analysis.product_configs.test_tuned_files import CONFIG, PRODUCT, write
from tests.bench import product_kernels
from tests.bench.product_kernels import scaled_product
from tests.worlds.own_kernels.programs.cases import CASES
from tests.worlds.own_kernels.programs.kernels import add, softmax
from workbench.analysis.tuning.candidate import list_rows
from workbench.analysis.tuning.tuned import Tuned
from workbench.analysis.tuning.tuned_formats import BESIDE
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.compiler.virtual_gpu.kernel_choice import BuildJob, Built
from workbench.specs import Catalogue
from workbench.worlds.own_kernels.handles.own_kernel import OwnKernel
from workbench.worlds.own_kernels.handles.tuning import find_kind, tune

N = 4096
X = torch.ones(N)
H100 = Catalogue.built_in()["h100"]
FEW = {"BLOCK_SIZE_M": [64], "BLOCK_SIZE_N": [64], "num_warps": [4], "num_stages": [3]}


def make_add() -> OwnKernel:
    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (N // meta["BLOCK"],)

    return wb.kernel(add, X, X, torch.empty(N), N, grid=grid, target="h100", BLOCK=256)


def make_product(scale: int = 128) -> OwnKernel:
    a, b = (torch.zeros(rows, 2048).to(torch.float8_e4m3fn) for rows in (64, 1024))
    out = torch.empty(64, 1024, dtype=torch.bfloat16)
    scales = torch.ones(64, 16), torch.ones(8, 16)
    strides = (2048, 2048, 1024, 16, 16)
    blocks = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8}

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(64, meta["BLOCK_SIZE_M"]) * triton.cdiv(1024, meta["BLOCK_SIZE_N"]),)

    args = (a, b, out, *scales, 64, 1024, 2048, *strides)
    return wb.kernel(scaled_product, *args, grid=grid, SCALE_N=128, SCALE_K=scale, **blocks)


@pytest.fixture(scope="module")
def added() -> Tuned:
    return make_add().tune(space={"BLOCK": [100, 256, 1024, 8192], "num_warps": [4, 64]})


@pytest.fixture(scope="module")
def multiplied() -> Tuned:
    space = FEW | {"BLOCK_SIZE_N": [64, 256], "BLOCK_SIZE_K": [128], "num_stages": [3, 9]}
    return make_product().tune(sizes=[1, 64, 4096], space=space)


def test_what_cannot_be_used_is_discarded_with_its_reason(added: Tuned) -> None:
    found = {
        (dict(e.values)["BLOCK"], e.warps): (e.verdict, e.reason) for e in added.cases[0].candidates
    }
    assert found[256, 4] == found[1024, 4] == ("ranked", None)
    assert found[8192, 4][0] == "launches nothing"
    assert found[100, 4][0] == "does not compile"
    assert "power of 2" in (found[100, 4][1] or "")
    assert found[256, 64][0] in ("does not fit", "does not compile")
    assert [each.rank for each in added.cases[0].ranked] == [1, 1]


def test_the_sentence_says_modelled(added: Tuned) -> None:
    assert "add on h100: BLOCK=" in added.sentence
    assert "Modelled, not measured: " in added.sentence
    assert added.kind == "pointwise"


def test_a_product_has_a_result_for_each_number_of_rows(multiplied: Tuned) -> None:
    assert multiplied.kind == "product with scales"
    assert [case.sizes["M"] for case in multiplied.cases] == [1, 64, 4096]
    small, _, large = (case.ranked[0] for case in multiplied.cases)
    assert (large.model_us or 0) > 2 * (small.model_us or 0) > 0
    assert (large.grid or 0) >= 64
    assert large.because
    verdicts = {
        (dict(e.values)["BLOCK_SIZE_N"], e.stages): e for e in multiplied.cases[1].candidates
    }
    assert verdicts[256, 9].verdict == "does not fit"
    assert "shared memory" in (verdicts[256, 9].reason or "")
    assert verdicts[256, 3].verdict == "spills"
    assert "each K-loop iteration spills and reloads" in (verdicts[256, 3].reason or "")


def test_why_names_what_parts_two(multiplied: Tuned) -> None:
    told = multiplied.why("BLOCK_SIZE_N=64, 3 stages", "BLOCK_SIZE_N=64, 9 stages", M=64)
    assert "Stages: " in told
    assert "Modelled, not measured: " in told


def test_files_of_servers_are_written_from_it(multiplied: Tuned, tmp_path: Any) -> None:
    (file,) = multiplied.write_vllm(tmp_path, dtype="fp8_w8a8", block_shape=(128, 128))
    assert file.name == (
        "N=1024,K=2048,device_name=NVIDIA_H100_80GB_HBM3,dtype=fp8_w8a8,block_shape=[128,128].json"
    )


def test_a_step_over_a_block_of_scales_is_wrong_without_being_compiled() -> None:
    (case,) = make_product(64).tune(space=FEW | {"BLOCK_SIZE_K": [128]}).cases
    assert case.candidates[0].verdict == "fails the check"
    assert "spans several scale blocks of 64" in (case.candidates[0].reason or "")


def test_a_budget_leaves_the_rest_said_to_be_not_compiled() -> None:
    made = make_add().tune(space={"num_warps": [2, 4, 8]}, budget=1)
    assert sorted(each.verdict for each in made.cases[0].candidates) == [
        "not compiled",
        "not compiled",
        "ranked",
    ]
    assert made.remarks == ("2 of 3 configurations were not compiled: budget=1.",)
    assert "not compiled 2" in repr(made)


def test_an_autotuner_gives_its_own_configurations_with_their_hooks() -> None:
    case = CASES["tuned_descriptors"]()
    made = wb.kernel(case.kernel, *case.args, grid=case.grid).tune(sizes={"M": 100, "N": 96})
    assert {each.verdict for each in made.cases[0].candidates} == {"ranked"}
    assert len(made.cases[0].candidates) == len(case.kernel.configs)


def test_one_that_a_check_finds_wrong_has_no_place() -> None:
    said = {256: (False, "line 3 is wrong"), 512: (None, "no numbers"), 1024: (True, "")}
    made = tune(
        make_add().call,
        [H100],
        space={"BLOCK": [256, 512, 1024]},
        check=lambda call: said[call.meta["BLOCK"]],
    )
    found = {dict(e.values)["BLOCK"]: (e.verdict, e.reason) for e in made.cases[0].candidates}
    assert found == {
        256: ("fails the check", "line 3 is wrong"),
        512: ("ranked", "not checked: no numbers"),
        1024: ("ranked", None),
    }


def test_a_grid_that_is_too_wide_is_discarded_before_it_is_compiled() -> None:
    def grid(meta: dict[str, Any]) -> tuple[int, int]:
        return 1, 80_000 * 8 // meta["BLOCK"]

    kernel = wb.kernel(add, X, X, X, N, grid=grid, target="h100", BLOCK=8)
    made = kernel.tune(["h100", "mi300x"], space={"BLOCK": [8, 64], "num_warps": [1]})
    h100, mi300x = ({dict(e.values)["BLOCK"]: e for e in c.candidates} for c in made.cases)
    assert (h100[8].verdict, h100[64].verdict, mi300x[8].verdict) == (
        "grid too wide",
        "ranked",
        "ranked",
    )
    assert h100[8].reason == "axis 1 of the grid is 80,000, but h100 allows at most 65,535"


def test_several_targets_have_a_result_each() -> None:
    made = make_add().tune(["a100", "mi300x"], space={"num_warps": [4]})
    assert [case.gpu.name for case in made.cases] == ["a100", "mi300x"]
    assert all(case.ranked for case in made.cases)
    assert "a100" in made.sentence
    assert "mi300x" in made.sentence


def test_published_winners_have_a_part_in_the_order_of_scaled_products() -> None:
    space = FEW | {"BLOCK_SIZE_N": [64, 128], "BLOCK_SIZE_K": [128]}
    alone, both = (make_product().tune(space=space, prior=prior) for prior in ([], None))
    assert all(each.placed_us is None for each in alone.cases[0].ranked)
    assert all(each.placed_us is not None for each in both.cases[0].ranked)
    assert "with those for other sizes as prior" in both.error
    assert "as prior" not in alone.error


def test_winners_elsewhere_change_the_order(tmp_path: Any) -> None:
    write(tmp_path, PRODUCT, {"64": CONFIG})
    space = FEW | {"BLOCK_SIZE_N": [64, 128], "BLOCK_SIZE_K": [128]}
    made = make_product().tune(space=space, sizes={"N": 7168}, prior=tmp_path)
    placed = {dict(each.values)["BLOCK_SIZE_N"]: each for each in made.cases[0].candidates}
    assert (placed[128].placed_us or 0) < (placed[128].model_us or 0)
    assert made.error.endswith("The effect of your prior is not validated.")
    with pytest.raises(wb.UsageError, match="prior is for GEMMs"):
        make_add().tune(prior=tmp_path, budget=1)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"sizes": [1]}, "is not a GEMM"),
        ({"budget": 0}, "expected a number of configurations"),
        ({"space": "all"}, "the standard spaces are product"),
        ({"space": {"BLOK": [1]}}, "BLOK, which is not a parameter"),
        ({"space": []}, "which is empty"),
        ({"space": {"BLOCK": [[256]]}}, "unhashable type: 'list'"),
        ({"target": "h10"}, "h10"),
        ({"measure": 5, "budget": 1}, "measure needs h100 in this machine"),
    ],
)
def test_what_cannot_be_asked_is_told(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        make_add().tune(**asked)


def test_a_grid_that_no_block_changes_is_remarked() -> None:
    kernel = wb.kernel(add, X, X, torch.empty(N), N, grid=(16,), BLOCK=256)
    (_, remark) = kernel.tune(space={"BLOCK": [256, 512]}, budget=1).remarks
    assert remark.startswith("The grid (16,) does not follow the block size")


def test_the_check_of_the_kernel_itself_is_asked() -> None:
    asked = {"reference": lambda x, y, out, n: x - y, "writes": "out", "cases": None}
    made = make_add().tune(space={"num_warps": [4]}, check=asked)
    assert made.cases[0].candidates[0].verdict == "fails the check"
    assert "out[0] should be 0" in made.sentence


def test_kinds_are_told_by_what_the_source_calls() -> None:
    assert find_kind(make_product().call) == "product with scales"
    assert find_kind(KernelCall.of(softmax, (X, X, 1, 1), (1,), {"BLOCK": 64})) == "reduction"


@triton.jit
def add_without_constants(x, y, out, n):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def add_evenly(x, y, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    within = (i < n) | EVEN
    tl.store(out + i, tl.load(x + i, within) + tl.load(y + i, within), within)


def leave_small(configs: list[Any], _named: Any, **_meta: Any) -> list[Any]:
    return [config for config in configs if config.kwargs["BLOCK"] < 1000]


add_pruned = triton.autotune(
    [triton.Config({"BLOCK": size}) for size in (256, 512, 2048)],
    key=["n"],
    prune_configs_by={"early_config_prune": leave_small},
)(add)


def test_options_of_another_kind_of_gpu_are_left_out_and_told() -> None:
    made = make_add().tune(
        ["h100", "mi300x"], space={"BLOCK": [256], "waves_per_eu": [0, 2], "num_warps": [4]}
    )
    assert [each.name for each in made.cases[0].candidates] == ["BLOCK=256, 4 warps, 3 stages"]
    assert [each.choice for each in made.cases[1].candidates] == [
        "BLOCK=256, waves_per_eu=0",
        "BLOCK=256, waves_per_eu=2",
    ]
    assert {each.stages for each in made.cases[1].candidates} == {2}  # what AMD's backend takes
    assert made.remarks == ("waves_per_eu: not an option on H100 SXM5 80 GB, ignored.",)


def test_what_the_autotuner_prunes_is_left_out() -> None:
    made = wb.kernel(
        add_pruned, X, X, torch.empty(N), N, grid=lambda meta: (N // meta["BLOCK"],)
    ).tune()
    assert [each.choice for each in made.cases[0].candidates] == ["BLOCK=256", "BLOCK=512"]
    assert made.remarks == ("The autotuner's early_config_prune removes 1 of 3 configurations.",)


def test_an_executor_compiles_the_same() -> None:
    space = {"BLOCK": [256, 512, 1024], "num_warps": [2, 4]}
    with ThreadPoolExecutor(2) as executor:
        made = make_add().tune(space=space, executor=executor)
    assert made.cases == make_add().tune(space=space).cases
    with pytest.raises(wb.UsageError, match=r"executor is a int: .* client.get_executor"):
        make_add().tune(executor=4)  # type: ignore[arg-type]


def test_few_seconds_compile_few() -> None:
    made = make_add().tune(budget=1e-9)
    verdicts = [each.verdict for each in made.cases[0].candidates]
    assert verdicts.count("ranked") == 2
    assert set(verdicts) == {"ranked", "not compiled"}


def test_a_size_that_is_given_twice_is_one_case() -> None:
    assert len(make_product().tune(sizes=[64, 64], space=FEW, budget=1).cases) == 1
    for sizes in (3.5, "64", []):
        with pytest.raises(wb.UsageError, match=r"sizes is .* Give row counts"):
            make_product().tune(sizes=sizes)


def test_a_kernel_without_constants_is_modelled_by_what_its_programs_move() -> None:
    kernel = wb.kernel(add_without_constants, X, X, torch.empty(N), N, grid=(32,))
    with pytest.raises(wb.UsageError, match=r'Pass space=\{"num_warps": \[values\]\}'):
        kernel.tune()
    made = kernel.tune(space={"num_warps": [4]})
    (same,) = make_add().tune(space={"BLOCK": [128], "num_warps": [4]}).best()
    assert made.best()[0].model_us == same.model_us


def test_a_check_has_what_heuristics_compute_and_says_what_it_could_not_judge() -> None:
    def fail(*_: Any) -> Any:
        raise ValueError("boom")

    kernel = wb.kernel(
        add_evenly, X, X, torch.empty(N), N, grid=lambda m: (N // m["BLOCK"],), BLOCK=256
    )
    space = {"num_warps": [4]}
    right = {"reference": lambda x, y, _out, _n: x + y, "writes": "out", "cases": None}
    made = kernel.tune(space=space, check=right)
    assert (made.cases[0].candidates[0].reason, made.remarks) == (None, ())
    (remark,) = kernel.tune(space=space, check=right | {"reference": fail}).remarks
    assert remark.startswith("1 configuration at the top of the ranking could not be checked: ")
    assert "the reference raised ValueError: boom" in remark


def test_a_check_runs_the_hook_of_a_configuration() -> None:
    case = CASES["tuned_descriptors"]()
    made = wb.kernel(case.kernel, *case.args, grid=case.grid).tune(check={"cases": None})
    assert {each.verdict for each in made.cases[0].candidates} == {"ranked"}
    assert not any("run stopped" in str(each.reason) for each in made.cases[0].candidates)


def test_one_that_takes_too_long_has_a_row_that_says_so() -> None:
    class Slow(CrossCompiler):
        def start(self) -> None:
            pass

        def build(self, job: BuildJob, hear: Callable[[Built], object]) -> None:
            for build in job.builds:
                hear(Built(build.id, None, note="compiling takes longer than 5 s.", is_late=True))

    made = tune(make_add().call, [H100], space={"num_warps": [4]}, time_limit=5, worker=Slow())
    (late,) = made.cases[0].candidates
    assert (late.verdict, late.reason) == ("takes too long", "compiling takes longer than 5 s.")


CHOSEN = {"XBLOCK": [4], "R0_BLOCK": [512], "num_warps": [2]}


def normalize(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


@pytest.fixture(scope="module")
def program() -> Any:
    return wb.aot_compile(normalize, (torch.ones(128, 3000),), target="h100")


def test_a_kernel_of_a_compiled_program_is_tuned_as_inductor_launches_it(program: Any) -> None:
    made = program.kernel("k0").tune(space={"XBLOCK": [1, 2], "R0_BLOCK": [512], "num_warps": [4]})
    assert made.kind == "reduction"
    assert {each.values[0][1]: each.grid for each in made.best(2)} == {1: 128, 2: 64}
    assert made.remarks == ()
    blocks = program.rank_configs("k0", blocks={"XBLOCK": [1, 2], "R0_BLOCK": [512]}, warps=[4])
    assert {round(row.model_us, 3) for row in blocks.rows} == {
        round(each.model_us or 0, 3) for each in made.best(2)
    }


def transpose_and_double(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous() * 2


def add_up_columns(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x).sum(0)


FP8_PRODUCT = product_kernels.make_inputs("gemm fp8", torch.float8_e4m3fn)
TILES = {"BLOCK_SIZE_M": [16, 64], "BLOCK_SIZE_N": [64, 256], "BLOCK_SIZE_K": [128]}
SAMPLES: Any = [
    pytest.param(
        "h100",
        transpose_and_double,
        (torch.ones(512, 300),),
        {"warps": [2, 8]},
        id="loop",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "mi300x",
        add_up_columns,
        (torch.ones(4096, 256),),
        {"warps": [2, 8]},
        id="reduction that spills",
        marks=pytest.mark.slow,
    ),
    pytest.param("h100", normalize, (torch.ones(512, 256),), {"warps": [2, 8]}, id="rows"),
    pytest.param("h100", *FP8_PRODUCT, {"blocks": TILES, "warps": [4]}, id="product"),
]


@pytest.mark.parametrize(("target", "function", "inputs", "asked"), SAMPLES)
def test_a_search_of_a_program_and_of_its_kernel_are_one(
    target: str, function: Any, inputs: Any, asked: dict[str, Any]
) -> None:
    """The same configurations have the same figures, times and places."""
    compiled = wb.aot_compile(function, inputs, target=target, grad=False)
    rows = compiled.rank_configs("k0", **asked).rows
    space = [
        {name: int(size) for name, size in (each.split("=") for each in row.choice.split(", "))}
        | {"num_warps": row.warps, "num_stages": row.stages}
        for row in rows
    ]
    (case,) = compiled.kernel("k0").tune(space=space).cases
    found = {
        (row.choice.partition(", GROUP")[0], row.warps, row.stages): row
        for row in list_rows(case.candidates, "k0", target)
    }
    assert len(found) == len(rows) > 7
    for row in rows:
        other = found[row.choice, row.warps, row.stages]
        assert (other.rank, other.rejection) == (row.rank, row.rejection)
        assert (other.registers, other.spills, other.occupancy) == (
            row.registers,
            row.spills,
            row.occupancy,
        )
        assert other.model_us == row.model_us
        assert other.ranked_us == pytest.approx(row.ranked_us)
    ranked = [each.ranked_us for each in case.ranked]
    assert ranked == pytest.approx(sorted(ranked))


def test_its_usual_space_is_inductors(program: Any) -> None:
    made = program.kernel("k0").tune(budget=1)
    tried = made.cases[0].candidates
    assert {each.values[0] for each in tried} >= {("XBLOCK", 1), ("XBLOCK", 8)}
    assert 20 < len(tried) < 100


def test_its_best_is_written_for_the_gpu_of_the_program_alone(program: Any, tmp_path: Path) -> None:
    made = program.kernel("k0").tune(["h100", "b200"], space=CHOSEN)
    path = made.write_inductor(tmp_path, target="h100")
    assert json.loads(path.read_text())["XBLOCK"] == 4
    assert "Modelled" in path.with_name(path.name + BESIDE).read_text()
    with pytest.raises(wb.UsageError, match=r"source for b200 differs.*target='b200'"):
        made.write_inductor(tmp_path, target="b200")
    with pytest.raises(wb.UsageError, match="does not belong to a compiled program"):
        make_add().tune(space={"num_warps": [4]}).write_inductor(tmp_path)


@pytest.mark.slow
def test_inductor_compiles_the_configuration_that_was_written(program: Any, tmp_path: Path) -> None:
    made = program.kernel("k0").tune(space=CHOSEN)
    made.write_inductor(tmp_path / "virtual_gpu" / "inductor")  # which compiling without a GPU has
    again = (
        "import torch, workbench as wb\n"
        "from tests.worlds.own_kernels.handles.test_tuning import normalize\n"
        "made = wb.aot_compile(normalize, (torch.ones(128, 3000),), target='h100')\n"
        "print([(each.choice, each.warps) for each in made.report.resources])"
    )
    variables = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", again], env=variables, capture_output=True, text=True, check=True
    )
    assert said.stdout.splitlines()[-1] == "[('XBLOCK=4, R0_BLOCK=512', 2)]"
