"""Programs for virtual GPUs, looked at on the CPU: where they depart from eager, and why."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numerics_cases as cases
import pytest
import torch

import workbench as wb
from tests.compiler.virtual_gpu.gpus import H100, MI300X
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.errors import UsageError
from workbench.handles.cross_compiled import CrossCompiled, compile_for_gpu
from workbench.worlds.numerics.computing.findings import look_at
from workbench.worlds.numerics.computing.microscope import GpuProgram, open_gpu_program
from workbench.worlds.numerics.findings import causes
from workbench.worlds.numerics.questions.live_numerics import look_at_numbers

BOTH = pytest.mark.parametrize("gpu", [H100, MI300X], ids=["h100", "mi300x"])
TEMPLATES = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON"}
X, Y = cases.draw(64, 256), cases.draw(64, 256, seed=1)


def compile_for(
    gpu: Any, worker: CrossCompiler, function: Any, args: tuple[Any, ...], **options: Any
) -> CrossCompiled:
    wanted = CompileOptions(**{"target": gpu.spec.name, "grad": False, **options})
    return compile_for_gpu(CompileRequest(function, args, options=wanted), gpu.spec, worker=worker)


@contextmanager
def products_in_tf32() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def product(a, b):
    return torch.tanh(a @ b)


@BOTH
def test_casts_that_fusion_elides_are_found(gpu: Any, worker: CrossCompiler) -> None:
    args = cases.draw(64, 256, dtype=cases.BF), cases.draw(256, dtype=cases.BF, seed=1)
    found = look_at_numbers(compile_for(gpu, worker, cases.softmax_chain, args), args)
    row = found.find("k0", "mul_2")
    assert (row.cause, row.option) == (causes.ELIDED, causes.EMULATE)
    assert row.own_off < row.eager_off
    assert found.first is None
    assert found.sentence.startswith("Nearer to float64 than eager (")
    assert f"The Triton kernels for {gpu.spec.title} ran in Triton's" in found.sentence
    assert found.not_compared == ()
    assert list(found.frame("stages").stage) == ["eager", "decompositions", "passes", "kernels"]


def test_a_chain_that_rounds_as_eager_does_elides_no_cast(worker: CrossCompiler) -> None:
    args = cases.draw(8, 32, dtype=cases.BF), cases.draw(32, dtype=cases.BF, seed=1)
    options = {"emulate_precision_casts": True}
    compiled = compile_for(H100, worker, cases.softmax_chain, args, options=options)
    found = look_at_numbers(compiled, args)
    assert [row.kernel for row in found.deviations if row.kernel] == []
    assert found.not_compared == ()
    assert found.first is None
    after, before = found.frame("stages").iloc[-1], found.frame("stages").iloc[-2]
    assert (after.end_off, after.deviations) == (before.end_off, 0)


@BOTH
def test_a_wrong_kernel_is_named(gpu: Any, worker: CrossCompiler) -> None:
    program = open_gpu_program(compile_for(gpu, worker, cases.pointwise, (X, Y)))
    wrong = replace(program, edit=lambda name, source: source.replace("1.5", "1.25"))
    for each, is_wrong in ((program, False), (wrong, True)):
        each.call((X, Y), {})
        rows = [row for row in look_at(each).deviations if row.cause == causes.SOMETHING_ELSE]
        assert [(row.kernel, row.node) for row in rows] == [("k0", "sub")] * is_wrong
        assert all(row.own_off > 1e5 > 1 > row.eager_off for row in rows)


def test_a_kernel_that_does_not_end_is_said(worker: CrossCompiler) -> None:
    made = open_gpu_program(compile_for(H100, worker, cases.pointwise, (X, Y)))
    program = replace(made, edit=lambda name, source: source.replace("tl.load(", "tl.loaded("))
    with pytest.raises(Exception, match=r"cannot be run: .* so no values can be"):
        program.call((X, Y), {})


def test_what_a_library_of_the_gpu_computes_is_not_checked(worker: CrossCompiler) -> None:
    found = look_at_numbers(compile_for(H100, worker, product, (X, Y.T)), (X, Y.T))
    (why,) = found.not_compared
    assert why.startswith("k0 mm: a GPU library call, replaced here by torch's")
    assert {row.kernel for row in found.deviations} <= {"k1"}
    assert "Not checked: 1 of " in found.sentence
    assert "torch computed 1 library call on this machine (extern_kernels.mm)" in found.sentence
    answer = found.batch_invariance(1)
    assert answer.is_invariant is None
    assert "k0 (extern_kernels.mm) is a GPU library call, which may use" in answer.sentence


@BOTH
def test_a_product_in_tf32_is_named_with_its_cure_and_price(
    gpu: Any, worker: CrossCompiler
) -> None:
    args = cases.draw(512, 512), cases.draw(512, 512, seed=2)
    with products_in_tf32():
        found = look_at_numbers(compile_for(gpu, worker, product, args, options=TEMPLATES), args)
    (row,) = (row for row in found.deviations if row.kernel)
    assert (row.cause, row.option) == (causes.TF32, causes.FULL_PRODUCTS)
    assert row.detail == "the kernel truncates the inputs of mm to 10 mantissa bits"
    assert row.own_off > 100 * row.eager_off
    assert found.opportunities[0].settings == (("float32_matmul_precision", "highest"),)
    price = "multiplies in full float32. It changes the roofline time of k0 on "
    assert f"set_float32_matmul_precision('highest') {price}{gpu.spec.title}" in found.sentence


def test_a_library_product_may_round_to_tf32(worker: CrossCompiler) -> None:
    with products_in_tf32():
        found = look_at_numbers(compile_for(H100, worker, product, (X, Y.T)), (X, Y.T))
    row = found.find("k0")
    assert (row.cause, row.option) == (causes.TF32, causes.FULL_PRODUCTS)
    assert row.detail == "a library rounds the inputs of mm to 10 mantissa bits"
    assert found.not_compared == ()
    assert "with inputs rounded to TF32 as in the report" in found.sentence


def test_a_row_is_the_same_in_other_company(worker: CrossCompiler) -> None:
    rows = {"x": {0: torch.export.Dim("rows", min=1, max=64)}, "w": None}
    args = cases.draw(8, 256, dtype=cases.BF), cases.draw(256, dtype=cases.BF, seed=1)
    compiled = compile_for(H100, worker, cases.softmax_chain, args, dynamic_shapes=rows)
    assert look_at_numbers(compiled, args).batch_invariance(3).is_invariant is True


def test_a_program_is_renewed_with_libraries_that_treat_rows_alike(worker: CrossCompiler) -> None:
    program = open_gpu_program(compile_for(H100, worker, product, (X, Y.T)))
    assert isinstance(program, GpuProgram)
    renewed = program.renew()
    renewed.call((X, Y.T), {})
    exact = torch.tanh((X.double() @ Y.T.double()).float())
    (value,) = renewed.seen.outputs
    assert (value - exact).abs().max() < 1e-6


def test_the_backward_of_a_training_step_is_looked_at(worker: CrossCompiler) -> None:
    x, w = cases.draw(16, 64).requires_grad_(), cases.draw(64, seed=1).requires_grad_()
    compiled = compile_for(H100, worker, cases.softmax_chain, (x, w), grad=True)
    found = look_at_numbers(compiled, (x, w))
    assert {row.stage for row in found.deviations} >= {"kernels"}
    assert any(output.output.startswith("gradient of ") for output in found.outputs)
    assert found.first is None
    program = open_gpu_program(compiled)
    wrong = replace(program, edit=lambda name, source: source.replace("1.7", "1.9"))
    learned = {"x": x, "w": w}
    wrong.call((x, w), {}, learned)
    rows = [row for row in look_at(wrong).deviations if row.cause == causes.SOMETHING_ELSE]
    assert len({row.kernel for row in rows}) > 1  # of the forward, and of the backward


def test_the_nodes_of_a_triton_kernel_stand_alone(worker: CrossCompiler) -> None:
    found = look_at_numbers(compile_for(H100, worker, product, (X, Y.T)), (X, Y.T))
    (value,) = found.subgraph("k1")(torch.ones(3))
    assert torch.equal(value, torch.ones(3).tanh())


def test_a_script_runs_a_triton_kernel_alone_and_names_no_machine(
    worker: CrossCompiler, tmp_path
) -> None:
    args = cases.draw(8, 32, dtype=cases.BF), cases.draw(32, dtype=cases.BF, seed=1)
    found = look_at_numbers(compile_for(H100, worker, cases.softmax_chain, args), args)
    path = found.repro("k0", tmp_path / "repro.py")
    text = (tmp_path / "repro.py").read_text()
    home = os.path.expanduser("~")
    assert not [word for word in (str(tmp_path), home, "/tmp", "CACHE") if word in text]
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd="/")
    assert ran.returncode == 0, ran.stderr[-800:]
    assert ran.stdout.startswith("mul_2: as recorded True, differs from eager in ")
    assert f"{found.find('k0').differ:.1%}" in ran.stdout


def test_a_kernel_that_draws_random_numbers_has_no_script(worker: CrossCompiler) -> None:
    compiled = compile_for(H100, worker, drop, (X,))
    found = look_at_numbers(compiled, (X,))
    drawn = next(row.kernel for row in found.deviations if row.kernel)
    with pytest.raises(wb.UsageError, match="a standalone script cannot run it"):
        found.repro(drawn, "never_written.py")


def drop(x):
    return torch.nn.functional.dropout(x, 0.5)


def matrix(x, w):
    return x @ w


def test_a_batch_of_library_calls_alone_is_not_said_to_be_the_same(worker: CrossCompiler) -> None:
    found = look_at_numbers(compile_for(H100, worker, matrix, (X, Y.T)), (X, Y.T))
    said = found.batch_invariance().sentence
    words = "no generated kernel writes a value with the batch as its first dimension, and k0 ("
    assert words in said
    assert "bitwise equal" not in said


def test_operators_that_eager_has_as_kernels_are_named(worker: CrossCompiler, monkeypatch) -> None:
    program = open_gpu_program(compile_for(H100, worker, product, (X, Y.T)))
    program.call((X, Y.T), {})
    assert not any("eager runs its own" in note for note in program.notes)
    listed = {"mm": "triton", "topk": "cutedsl"}
    monkeypatch.setattr(
        "workbench.worlds.numerics.computing.microscope.list_native_operators", lambda: listed
    )
    assert "On that GPU, eager runs its own kernels for aten.mm (triton);" in program.notes[-1]


def test_a_cause_on_a_gpu_is_proved_or_says_who_proves_it() -> None:
    def found_in(function: Any, args: tuple[Any, ...]) -> Any:
        return wb.numerics(wb.aot_compile(function, args, target="h100", grad=False), args)

    args = cases.draw(64, 256, dtype=cases.BF), cases.draw(256, dtype=cases.BF, seed=1)
    proof = found_in(cases.softmax_chain, args).prove("k0")
    assert proof.is_proved
    assert proof.differ_after < 0.01
    with products_in_tf32():
        found = found_in(product, (X, Y.T))
        row = found.find("k0")
        assert (row.cause, row.option) == (causes.TF32, causes.FULL_PRODUCTS)
        with pytest.raises(UsageError, match=r"not an option of one kernel: use .cures\(\)"):
            found.prove("k0")
