"""A program for a virtual GPU is held to its original, run now; the graph only says where."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import workbench as wb
from tests.compiler.interpreter.programs import compiled_case, verified
from tests.compiler.virtual_gpu.cases import add_kernel
from workbench.compiler.interpreter.interpreter_session import Interpreter
from workbench.compiler.virtual_gpu.client import CrossCompiler

X = torch.randn(8, 16)


class Settings:
    factor = 2.0


def scaled(x: Tensor) -> Tensor:
    return x * Settings.factor


def noisy(x: Tensor) -> Tensor:
    return F.dropout(x * Settings.factor, 0.3, True)


@pytest.fixture
def factor(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    return lambda value: monkeypatch.setattr(Settings, "factor", value)


@pytest.mark.parametrize("function", [scaled, noisy])
@pytest.mark.parametrize("per_kernel", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_value_that_changed_is_refused_or_found(
    function: Callable[[Tensor], Tensor], per_kernel: bool, factor: Callable[[float], None]
) -> None:
    compiled = wb.aot_compile(function, (X,), target="h100")
    assert wb.verify(compiled, (X,), per_kernel=per_kernel).ok
    factor(5.0)
    with pytest.raises(wb.ContractError, match=r"compiled with 2\.0, now 5\.0"):
        wb.verify(compiled, (X,), per_kernel=per_kernel)


def test_a_graph_that_is_wrong_is_found_and_named() -> None:
    """What the graph was made from has changed, in a way that no guard sees."""
    table = {"factor": [2.0]}

    def fn(x: Tensor) -> Tensor:
        return x * table["factor"][0]

    x = X.clone().requires_grad_()
    compiled = wb.aot_compile(fn, (x,), target="h100")
    found = wb.verify(compiled, (x,), reference=lambda x: x * 5.0, per_kernel=True)
    assert [row.verdict for row in found.rows] == ["failed", "failed"]
    assert found.wrong_kernel is None
    assert "code generation is not the cause" in found.cause
    assert "compared only with that graph" in found.cause
    assert "agrees with the captured graph and could not be compared" in repr(found)


@pytest.mark.slow
def test_a_wrong_kernel_is_the_code_generation(
    worker: CrossCompiler, interpreter: Interpreter
) -> None:
    compiled, args = compiled_case("layer_norm", worker)

    def edit(name: str, source: str) -> str:
        return source.replace("1e-05", "1e-01")

    found = verified(compiled, args, interpreter, edit=edit)
    assert not found.ok
    assert "so the code generation is wrong" in found.cause


def test_another_call_is_refused_as_on_the_host() -> None:
    compiled = wb.aot_compile(scaled, (X,), target="h100")
    for x in (X[:4], X.double(), X.t().contiguous().t()):
        with pytest.raises(wb.ContractError, match="does not fit what scaled was compiled for"):
            compiled.verify(x)
    module = nn.BatchNorm1d(16).train()
    compiled = wb.aot_compile(module, (X,), target="h100")
    assert compiled.verify(X).ok
    module.eval()
    with pytest.raises(wb.ContractError, match="eval mode"):
        compiled.verify(X)


norm = nn.LayerNorm(16)


class Offset:
    value = torch.ones(16)


def beside(x: Tensor) -> Tensor:
    return norm(x) + Offset.value


def test_tensors_beside_the_inputs_are_compared_but_for_their_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = wb.aot_compile(beside, (X,), target="h100", grad=False)
    assert compiled.verify(X).ok
    monkeypatch.setattr(Offset, "value", torch.ones(8, 16))
    with pytest.raises(wb.ContractError, match=r"Offset\.value.*now a tensor, float32\[8, 16\]"):
        compiled.verify(X)


SHIFT = torch.ones(16)


def shifted(x: Tensor) -> Tensor:
    return x + SHIFT


def test_a_tensor_that_no_argument_or_module_holds_is_named() -> None:
    compiled = wb.aot_compile(shifted, (X,), target="h100")
    with pytest.raises(wb.UsageError, match=r"tensors through SHIFT, a global.*Pass them as arg"):
        compiled.verify(X)


def again(x: Tensor) -> Tensor:
    return F.dropout(x.transpose(1, 2).contiguous(), 0.5, True).transpose(1, 2)


def test_masks_of_forward_and_backward_are_compared() -> None:
    x = torch.randn(4, 8, 6, requires_grad=True)
    compiled = wb.aot_compile(
        lambda x: checkpoint(again, x, use_reentrant=False), (x,), target="h100"
    )
    found = compiled.verify(x)
    wrong = {row.leaf: row.reason for row in found.rows if row.verdict == "failed"}
    if wrong:  # of torch 2.13: the forward kernel takes all four numbers of a draw
        assert list(wrong) == [
            "gradient of call[0][0]",
            "random numbers of inductor_random_default",
        ]
        assert "the gradients use a different mask" in wrong[list(wrong)[1]]
        assert "draw different random numbers" in found.cause
    same = wb.aot_compile(
        lambda x: checkpoint(lambda x: F.dropout(x, 0.5, True), x, use_reentrant=False),
        (x,),
        target="h100",
    )
    assert same.verify(x).ok


def test_the_original_gets_the_random_numbers_of_the_program() -> None:
    def draws(x: Tensor) -> Tensor:
        kept = F.dropout(x, 0.1, True)
        some = torch.bernoulli(torch.sigmoid(kept)) + torch.rand_like(kept)
        more = torch.empty_like(x).uniform_(-1, 1) + torch.empty_like(x).normal_(1, 2)
        return kept * some + more * torch.randint(0, 5, (16,), device=x.device)

    x = X.clone().requires_grad_()
    compiled = wb.aot_compile(draws, (x,), target="h100")
    found = compiled.verify(x)
    assert found.ok
    assert found.reference.endswith("draws (the same seeds)")
    assert not wb.verify(compiled, (x,), reference=lambda x: draws(x) * 1.1).ok


def test_kernels_of_the_user_that_write_in_place_are_run_for_the_original() -> None:
    def twice(x: Tensor) -> Tensor:
        y = x.view(16, 8).t().contiguous()
        z = y.clone()
        add_kernel[(1,)](y, y, y, y.numel(), BLOCK=128)
        add_kernel[(1,)](z, y, z, z.numel(), BLOCK=128)
        return y * z

    compiled = wb.aot_compile(twice, (X,), target="h100", grad=False)
    found = wb.verify(compiled, (X,), per_kernel=True)
    assert found.ok, found.frame("kernels").to_string()
    assert "twice" in found.reference
    wrong = wb.verify(compiled, (X,), reference=lambda x: twice(x) + 1)
    assert [row.leaf for row in wrong.rows if not row.ok] == ["output"]


layer = nn.Linear(16, 16)
WRONG: dict[str, tuple[Callable[..., object], Callable[..., object]]] = {
    "a part of it is small": (
        lambda x: torch.cat([x * 1e6, x * 0.5005]),
        lambda x: torch.cat([x * 1e6, x * 0.5]),
    ),
    "all of it is small": (lambda x: x * 1.01e-7, lambda x: x * 1e-7),
    "it has another dtype": (lambda x: (x + 1).double(), lambda x: x + 1),
    "it is in a list": (lambda x: [x + 1, x * 2], lambda x: (x + 1, x * 2)),
}


@pytest.mark.parametrize(
    "how",
    [pytest.param(how, marks=pytest.mark.slow if how.startswith("it ") else ()) for how in WRONG],
)
def test_an_output_that_is_wrong_is_found(how: str) -> None:
    wrong, right = WRONG[how]
    compiled = wb.aot_compile(wrong, (X,), target="h100")
    assert compiled.verify(X).ok
    assert wb.verify(compiled, (X,), reference=right).verdict == "failed"


def test_autocast_for_the_device_of_a_tensor_is_that_of_the_gpu() -> None:
    def cast(x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return layer(x)

    compiled = wb.aot_compile(cast, (X,), target="h100")
    found = compiled.verify(X)
    assert found.ok
    assert found.reference.endswith("cast (autocast for cuda)")
    assert wb.verify(compiled, (X,), reference=lambda x: cast(x) * 1.1).verdict == "failed"


LAYOUTS: dict[str, tuple[Callable[..., object], Callable[..., object], str]] = {
    "strides of output": (lambda x: (x + 1).t().contiguous(), lambda x: (x + 1).t(), "not checked"),
    "memory of output": (lambda x: x[1:].clone(), lambda x: x[1:], "not checked"),
    "memory of output[1]": (
        lambda x: (lambda y: (y, y[0]))(x + 1),
        lambda x: (lambda y: (y, y[0].clone()))(x + 1),
        "failed",
    ),
}


@pytest.mark.parametrize("leaf", LAYOUTS)
def test_how_outputs_lie_in_memory_is_an_effect(leaf: str) -> None:
    """As on the host."""
    compiled, original, verdict = LAYOUTS[leaf]
    found = wb.verify(wb.aot_compile(compiled, (X,), target="h100"), (X,), reference=original)
    assert found.verdict == verdict
    assert {row.leaf: row.verdict for row in found.rows}[leaf] == verdict


def test_strides_that_the_device_alone_lays_otherwise_are_no_difference() -> None:
    """Attention of a GPU gives [batch, sequence, heads, features], seen as it was asked for."""
    x = torch.randn(1, 2, 16, 16)
    compiled = wb.aot_compile(
        lambda x: F.scaled_dot_product_attention(x, x, x), (x,), target="h100", grad=False
    )
    found = compiled.verify(x)
    assert found.ok
    assert [row.leaf for row in found.rows] == ["output"]


@triton.jit
def moved_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(x + at, value * 1.5 + 0.25, mask=at < n)


def moved(x: Tensor) -> Tensor:
    before = x.sin()
    moved_kernel[(triton.cdiv(x.numel(), 64),)](x, x.numel(), BLOCK=64)
    return before * x


@pytest.mark.parametrize(
    "dtype", [pytest.param(torch.float32, marks=pytest.mark.slow), torch.bfloat16]
)
def test_a_kernel_of_the_user_writes_an_argument_that_was_read_before(dtype: torch.dtype) -> None:
    """What was copied from the argument is held to what the argument held then."""
    x = X.to(dtype)
    compiled = wb.aot_compile(moved, (x,), target="h100", grad=False)
    found = wb.verify(compiled, (x,), per_kernel=True)
    assert found.ok, found
    assert {row.value for row in found.kernels if row.ok} == {"buf0", "buf2", "arg0_1"}


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, pytest.param(torch.float16, marks=pytest.mark.slow)]
)
def test_a_mask_of_16_bit_numbers_is_that_of_the_kernel(dtype: torch.dtype) -> None:
    """It casts what it draws to 16 bits, and computes in float32: nothing is rounded."""
    torch.manual_seed(0)
    x = torch.randn(64, 200, dtype=dtype)
    compiled = wb.aot_compile(lambda x: F.dropout(x, 0.5, True) * 1.5, (x,), target="h100")
    assert compiled.verify(x).ok
