"""A program for a virtual GPU is run as a whole on the CPU and compared with its original."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing._internal.two_tensor import TwoTensor

import workbench as wb
from tests.compiler.interpreter.programs import compiled_case, verified
from tests.compiler.virtual_gpu.gpus import H100
from workbench.compiler.captured_graphs.program_parts import Program
from workbench.compiler.interpreter.interpreter_session import Interpreter
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.handles.cross_compiled import compile_for_gpu


@pytest.mark.slow
def test_a_module_agrees_with_its_original(worker: CrossCompiler, interpreter: Interpreter) -> None:
    compiled, args = compiled_case("module", worker)
    found = verified(compiled, args, interpreter)
    assert found.ok
    assert list(found.frame()["leaf"]) == ["output"]
    assert "Sequential" in repr(found)
    assert any("TF32" in note for note in found.notes)


@pytest.mark.slow
def test_every_kernel_of_a_training_step(worker: CrossCompiler, interpreter: Interpreter) -> None:
    compiled, args = compiled_case("training_step", worker)
    found = verified(compiled, args, interpreter, per_kernel=True)
    assert found.ok
    assert {"output", "gradient of call[0][1]"} <= set(found.frame()["leaf"])
    kernels = {row.kernel for row in found.kernels}
    assert {k.name for k in compiled.report.kernels if k.language == "triton"} <= kernels
    assert {row.graph for row in found.kernels} == {"forward", "backward"}


@pytest.mark.parametrize(
    ("case", "kernel"),
    [
        ("attention_in_float32", "torch.ops.aten._scaled_dot_product_efficient_attention.default"),
        ("convolution", "extern_kernels.convolution"),  # its bias is added by another kernel
    ],
)
def test_library_calls_are_checked(
    case: str, kernel: str, worker: CrossCompiler, interpreter: Interpreter
) -> None:
    compiled, args = compiled_case(case, worker)
    found = verified(compiled, args, interpreter, per_kernel=True)
    assert found.ok
    assert kernel in {row.kernel for row in found.kernels if row.ok}
    assert found.unchecked == {}


def attended(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten._flash_attention_forward(x, x, x, None, None, 8, 8, 0.0, False, False)[0]


def dropped(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.2)


@pytest.mark.parametrize(
    ("function", "example", "words"),
    [
        (attended, torch.randn(1, 8, 2, 16).half(), r"attended cannot be run .* reference="),
        (dropped, torch.randn(1, 2, 16, 16), r"program of dropped cannot .* compile it for 'host'"),
    ],
)
def test_what_only_a_gpu_can_run_is_not_checked(
    function: Callable[..., torch.Tensor], example: torch.Tensor, words: str, worker: CrossCompiler
) -> None:
    options = CompileOptions(target="h100", grad=False)
    compiled = compile_for_gpu(
        CompileRequest(function, (example,), options=options), H100.spec, worker=worker
    )
    found = wb.verify(compiled, (example,))
    assert found.verdict == "not checked"
    assert re.search(words, found.unchecked["output"])


def test_a_reference_that_raises_is_an_error(worker: CrossCompiler) -> None:
    options = CompileOptions(target="h100", grad=False)
    request = CompileRequest(lambda x: x + 1, (torch.ones(4),), options=options)
    compiled = compile_for_gpu(request, H100.spec, worker=worker)
    with pytest.raises(wb.UsageError, match="cannot be run on the CPU"):
        wb.verify(compiled, (torch.ones(4),), reference=lambda x: x @ torch.ones(5))


def test_values_beside_large_ones_are_held_to_double_precision(worker: CrossCompiler) -> None:
    """The tolerance grows with what is beside them, and hid a column of zeros."""

    def scaled(x: Tensor, scale: Tensor) -> Tensor:
        return x * scale

    x, scale = torch.randn(16, 6), torch.tensor([1e3, 1.0, 1.0, 1e-5, 10.0, 1.0])
    options = CompileOptions(target="h100", grad=False)
    request = CompileRequest(scaled, (x, scale), options=options)
    compiled = compile_for_gpu(request, H100.spec, worker=worker)
    assert wb.verify(compiled, (x, scale)).ok

    def zeroed(x: Tensor, scale: Tensor) -> Tensor:
        return torch.where(scale == 1e-5, 0.0, x * scale)

    assert wb.verify(compiled, (x, scale), reference=zeroed).verdict == "failed"


@pytest.mark.parametrize(
    "case", ["training_step", pytest.param("transformer", marks=pytest.mark.slow)]
)
def test_a_wrong_kernel_is_named(
    case: str, worker: CrossCompiler, interpreter: Interpreter
) -> None:
    compiled, args = compiled_case(case, worker)
    texts = compiled.report.texts
    named = (k.name for k in compiled.report.kernels if k.text and "1e-05" in texts[k.text])
    chosen = [*named][-1]

    def edit(name: str, source: str) -> str:
        return source.replace("1e-05", "1e-02") if name == chosen else source

    found = verified(compiled, args, interpreter, per_kernel=True, edit=edit)
    assert not found.ok
    assert found.wrong_kernel == chosen


def test_a_kernel_that_writes_outside_is_named(
    worker: CrossCompiler, interpreter: Interpreter
) -> None:
    compiled, args = compiled_case("layer_norm", worker)

    def edit(name: str, source: str) -> str:
        return source.replace("tl.store(out_ptr2 + (", "tl.store(out_ptr2 + (98304 + ")

    found = verified(compiled, args, interpreter, edit=edit)
    assert not found.ok
    assert "writes" in found.kernels[-1].reason
    assert found.wrong_kernel == found.kernels[-1].kernel


@pytest.mark.parametrize(
    "case", ["layer_norm", pytest.param("random_numbers", marks=pytest.mark.slow)]
)
def test_kernels_are_not_passed_over_where_the_graph_was_not_kept(
    case: str, worker: CrossCompiler, interpreter: Interpreter
) -> None:
    compiled, args = compiled_case(case, worker)
    assert isinstance(compiled.program, Program)
    compiled.program = replace(compiled.program, graphs=b"", no_graphs="it cannot be sent")
    with pytest.raises(wb.UsageError, match=r"was not kept \(it cannot be sent\)"):
        verified(compiled, args, interpreter, per_kernel=True)
    assert "was not kept" in verified(compiled, args, interpreter).notes[-1]


def test_a_reference_in_double_precision(worker: CrossCompiler, interpreter: Interpreter) -> None:
    compiled, args = compiled_case("layer_norm", worker)
    found = verified(compiled, args, interpreter, float64=True)
    assert found.ok
    assert "float64" in found.reference


def test_random_numbers_come_from_the_same_seeds(
    worker: CrossCompiler, interpreter: Interpreter
) -> None:
    compiled, args = compiled_case("random_numbers", worker)
    state = torch.random.get_rng_state()
    found = verified(compiled, args, interpreter, per_kernel=True)
    assert found.ok
    assert "the same seeds" in found.reference
    assert torch.equal(torch.random.get_rng_state(), state)


def test_random_numbers_inside_of_a_reduction_are_drawn_one_by_one() -> None:
    """There a draw is for one element, on every release; a flat kernel of 2.13 takes four."""

    def rows_and_all(x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.softmax(torch.dropout(x, 0.5, True), -1), torch.rand_like(x) + x

    x = torch.randn(32, 96)
    compiled = wb.aot_compile(rows_and_all, (x,), target="h100", grad=False)
    found = wb.verify(compiled, (x,), per_kernel=True)
    assert found.ok
    assert {row.verdict for row in found.kernels} == {"passed"}


def test_a_module_without_numbers_is_refused(worker: CrossCompiler) -> None:
    module, x = torch.nn.Linear(8, 8, device="meta"), torch.randn(2, 8, device="meta")
    compiled = compile_for_gpu(CompileRequest(module, (x,)), H100.spec, worker=worker)
    with pytest.raises(wb.UsageError, match="has no data"):
        wb.verify(compiled, (x,))


def test_the_public_call() -> None:
    x = torch.randn(8, 100)
    compiled = wb.aot_compile(lambda x: torch.softmax(x, -1), (x,), target="a100")
    assert compiled.verify(x).ok
    with pytest.raises(wb.ContractError, match="'per_kernel'"):
        compiled.verify(x, per_kernel=True)
    found = wb.verify(compiled, (x,), reference=lambda x: torch.softmax(x, -1) + 1)
    assert not found.ok
    host = wb.aot_compile(lambda x: x + 1, (x,), backend="eager")
    with pytest.raises(wb.UsageError, match="virtual GPU"):
        wb.verify(host, (x,), per_kernel=True)


@pytest.mark.parametrize("device", ["cuda", pytest.param("cpu", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:User provided device_type")
def test_autocast_of_one_device_is_named(
    device: str, worker: CrossCompiler, interpreter: Interpreter
) -> None:
    def products(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast(device, torch.bfloat16):
            return x @ x.t()

    x = torch.randn(4, 8)
    compiled = compile_for_gpu(CompileRequest(products, (x,)), H100.spec, worker=worker)
    found = verified(compiled, (x,), interpreter)
    assert found.ok
    assert found.reference.endswith(f"(autocast for {device})")
    assert any("autocast" in note for note in found.notes)
    found = verified(compiled, (x,), interpreter, reference=lambda x: x @ x.t() + 1)
    assert not found.ok


def test_gradients_of_tensor_subclasses(worker: CrossCompiler, interpreter: Interpreter) -> None:
    module = torch.nn.Linear(8, 8)
    weight = TwoTensor(torch.randn(8, 8), torch.randn(8, 8))
    module.weight = torch.nn.Parameter(weight)
    x = torch.randn(4, 8)
    compiled = compile_for_gpu(CompileRequest(module, (x,)), H100.spec, worker=worker)
    found = verified(compiled, (x,), interpreter)
    assert found.ok
    assert {"output.a", "gradient of weight.b"} <= {row.leaf for row in found.rows}


def test_work_on_the_cpu_inside(worker: CrossCompiler, interpreter: Interpreter) -> None:
    def mixed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        steps = torch.arange(5) * 2 + 1  # made on the CPU: what is compiled for it is no kernel
        return x.sin() + 1, steps

    x = torch.randn(4, 8)
    compiled = compile_for_gpu(CompileRequest(mixed, (x,)), H100.spec, worker=worker)
    assert {"cpp", "triton"} <= {kernel.language for kernel in compiled.report.kernels}
    assert verified(compiled, (x,), interpreter).ok


def test_a_histogram_of_integers(worker: CrossCompiler, interpreter: Interpreter) -> None:
    def counted(x: torch.Tensor) -> torch.Tensor:
        values = x.float() if x.device.type == "cpu" else x  # the CPU counts floats only
        return torch.histc(values, bins=4, min=0, max=3).cumsum(0, dtype=torch.int32)

    x = torch.randint(0, 4, (40,), dtype=torch.int32)
    compiled = compile_for_gpu(CompileRequest(counted, (x,)), H100.spec, worker=worker)
    assert verified(compiled, (x,), interpreter).ok
