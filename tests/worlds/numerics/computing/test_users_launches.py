"""Triton kernels that are written by hand, inside of programs that are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numerics_cases as cases
import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.library import custom_op, triton_op, wrap_triton

import workbench as wb
from tests.compiler.virtual_gpu.gpus import H100, MI300X
from tests.worlds.numerics.computing.test_microscope import compile_for
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.errors import UsageError
from workbench.handles.cross_compiled import CrossCompiled
from workbench.worlds.numerics.findings import causes
from workbench.worlds.numerics.questions.live_numerics import LiveNumerics, look_at_numbers

X, Y = cases.draw(16, 100), cases.draw(16, 100, seed=1)
BLOCK = 256


@triton.jit
def shift_kernel(x, out, n, by, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * by + 0.25, at < n)


@triton.jit
def add_kernel(x, total, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(total + at, tl.load(total + at, at < n) + tl.load(x + at, at < n), at < n)


@triton.jit
def both_kernel(x, y, plus, minus, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    one = tl.load(x + at, at < n).to(tl.float32)
    other = tl.load(y + at, at < n).to(tl.float32)
    tl.store(plus + at, one + other, at < n)
    tl.store(minus + at, one - other, at < n)


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 512})], key=["n"])
@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * 2, at < n)


def shifted(x: Tensor, by: float) -> Tensor:
    out = torch.empty_like(x)
    shift_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, out, x.numel(), by, BLOCK=BLOCK)
    return out


def add_to(x: Tensor, total: Tensor) -> None:
    add_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, total, x.numel(), BLOCK=BLOCK)


def doubled(x: Tensor, out: Tensor) -> Tensor:
    double_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out


@triton_op("users_launches::shifted_op", mutates_args={})
def shifted_op(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), BLOCK),)
    wrap_triton(shift_kernel)[grid](x, out, x.numel(), 0.5, BLOCK=BLOCK)
    return out


@custom_op("users_launches::closed_op", mutates_args={})
def closed_op(x: torch.Tensor) -> torch.Tensor:
    return shifted(x, 0.5)


@closed_op.register_fake
def like(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return doubled(x, torch.empty_like(x))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return doubled(grad.contiguous(), torch.empty_like(grad))


def in_the_middle(x: Tensor, y: Tensor) -> Tensor:
    return torch.softmax(shifted(torch.tanh(x) + 1, 3.0) * torch.exp(y), -1)


def into_an_input(x: Tensor, y: Tensor) -> Tensor:
    add_to(torch.tanh(y), x)
    return torch.exp(-x * x)


def twice_into_one(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    total = torch.tanh(x)
    add_to(y, total)
    later = total * 1.5
    add_to(later, total)
    return torch.exp(total), later


def through_a_view(x: Tensor, y: Tensor) -> Tensor:
    out = torch.zeros_like(x)
    add_to(torch.tanh(y), out.view(-1))
    return torch.exp(-out) + x


def several(x: Tensor, y: Tensor) -> Tensor:
    plus, minus, one = torch.empty_like(x), torch.empty_like(x), torch.tanh(x) * 1.3
    grid = (triton.cdiv(x.numel(), BLOCK),)
    both_kernel[grid](one, y, plus, minus, x.numel(), BLOCK=BLOCK)
    return torch.softmax(plus * minus, -1)


def transposed(x: Tensor, y: Tensor) -> Tensor:
    out = x.new_empty(x.shape[1], x.shape[0]).t()
    return torch.exp(doubled(torch.sin(x).t().contiguous().t(), out)) + y


def of_a_tuner(x: Tensor, y: Tensor) -> Tensor:
    return (doubled(torch.tanh(x), torch.empty_like(x)) + y).relu() * torch.exp(y)


def by_an_operator(x: Tensor, y: Tensor) -> Tensor:
    return torch.tanh(shifted_op(torch.sin(x))) + y


def by_a_closed_operator(x: Tensor, y: Tensor) -> Tensor:
    return torch.tanh(closed_op(torch.sin(x))) + y


def trained(x: Tensor, y: Tensor) -> Tensor:
    return torch.tanh(Scaled.apply(torch.tanh(x))) * y


def add(x: Tensor, total: Tensor) -> Tensor:
    return total + x.view(total.shape)


def shift(x: Tensor, by: float) -> Tensor:
    return x * by + 0.25


def double(x: Tensor) -> Tensor:
    return x * 2


def both(x: Tensor, y: Tensor) -> dict[str, Tensor]:
    return {"plus": x + y, "minus": x - y}


class Case(NamedTuple):
    function: Callable[..., Any]
    references: dict[Any, Callable[..., Any]]
    not_checked: int = 1
    wrong: Callable[..., Any] = lambda **given: given["x"] * 1.01
    dtype: torch.dtype = torch.float32
    gpu: Any = H100
    options: Mapping[str, Any] = MappingProxyType({})


ROWS = {"x": {0: torch.export.Dim("rows", min=2, max=64)}}
ROWS["y"] = ROWS["x"]
CASES = {
    "in the middle": Case(in_the_middle, {"shift_kernel": shift}),
    "into an input": Case(into_an_input, {"add_kernel": add}),
    "twice into one": Case(twice_into_one, {"add_kernel": add}, 2),
    "several": Case(several, {both_kernel: both}, wrong=lambda x, y: {"plus": x, "minus": x - y}),
    "several in bfloat16": Case(
        several,
        {"both_kernel": both},
        dtype=cases.BF,
        wrong=lambda x, y: {"plus": x, "minus": x - y},
    ),
    "several on an MI300X": Case(
        several, {"both_kernel": both}, gpu=MI300X, wrong=lambda x, y: {"plus": x, "minus": x - y}
    ),
    "transposed": Case(transposed, {double_kernel: double}),
    "of a tuner": Case(of_a_tuner, {double_kernel: double}),
    "dynamic sizes": Case(of_a_tuner, {double_kernel: double}, options={"dynamic_shapes": ROWS}),
    "by an operator": Case(by_an_operator, {"shift_kernel": shift}),
    "an operator": Case(
        by_an_operator,
        {"users_launches::shifted_op": lambda x: x * 0.5 + 0.25},
        wrong=lambda x: x * 0.5,
    ),
    "a closed operator": Case(
        by_a_closed_operator,
        wrong=lambda x: x * 0.5,
        references={"users_launches::closed_op": lambda x: x * 0.5 + 0.25},
    ),
    "trained": Case(trained, {"double_kernel": double}, 2, options={"grad": True}),
}


def look(name: str, worker: CrossCompiler) -> tuple[LiveNumerics, LiveNumerics, LiveNumerics]:
    """Without a reference, with a right one, with a wrong one."""
    case = CASES[name]
    args = tuple(one.to(case.dtype).clone() for one in (X, Y))
    if "grad" in case.options:
        args = tuple(one.requires_grad_() for one in args)
    compiled = compile_for(case.gpu, worker, case.function, args, **case.options)
    wrong = dict.fromkeys(case.references, case.wrong)
    return tuple(
        look_at_numbers(compiled, args, references=each) for each in ({}, case.references, wrong)
    )  # type: ignore[return-value]


QUICK = ("in the middle", "transposed")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_a_kernel_is_compared_with_its_reference_and_all_else_in_any_case(
    name: str, worker: CrossCompiler
) -> None:
    case = CASES[name]
    without, right, wrong = look(name, worker)
    assert len(without.not_compared) == case.not_checked, without.not_compared
    assert without.first is None
    assert all(row.eager_off is None for row in without.outputs)  # surer than the kernel is nobody
    assert right.not_compared == ()
    assert right.first is None
    assert all(row.eager_off is not None for row in right.outputs)
    assert right.compared > without.compared
    assert wrong.first is not None
    assert wrong.first.cause == causes.SOMETHING_ELSE
    assert wrong.first.detail.endswith("compared with its reference")
    what = {(row.stage, row.kernel, row.node, row.cause) for row in without.deviations}
    assert what <= {(row.stage, row.kernel, row.node, row.cause) for row in right.deviations}


@pytest.fixture(scope="module")
def compiled(worker: CrossCompiler) -> CrossCompiled:
    return compile_for(H100, worker, in_the_middle, (X, Y))


def test_the_sentence_names_a_kernel_that_nothing_is_known_of(compiled: CrossCompiled) -> None:
    found = look_at_numbers(compiled, (X, Y))
    assert "Not checked: your Triton kernel shift_kernel without a reference. " in found.sentence
    assert "Not checked: 1 of " in found.sentence
    why = "k1 triton_kernel_wrapper_mutation: your Triton kernel shift_kernel without"
    assert found.not_compared[0].startswith(why)
    # what is behind it is computed from what it really gave
    assert any(row.kernel == "k2" for row in found.deviations)


def test_a_wrong_kernel_is_named_at_its_line(compiled: CrossCompiled) -> None:
    found = wb.numerics(compiled, (X, Y), references={"shift_kernel": lambda x, by: x * by})
    assert found.first is not None
    assert (found.first.kernel, found.first.node) == ("k1", "triton_kernel_wrapper_mutation")
    assert found.first.line
    assert found.first.file.endswith("test_users_launches.py")
    assert "argument out compared with its reference" in found.sentence
    assert {row.kernel for row in found.deviations if row.cause == causes.SOMETHING_ELSE} == {"k1"}
    with pytest.raises(UsageError, match="k1 is your Triton kernel shift_kernel"):
        found.subgraph("k1")


WRONG = {
    "references has shift_kernal, .* Did you mean 'shift_kernel'": {"shift_kernal": shift},
    "asks for z: name its parameters after parameters of": {"shift_kernel": lambda z: z},
    r"returns \[\] for out: expected a tensor of \[16, 100\]": {"shift_kernel": lambda x: x.sum()},
    "raises ZeroDivisionError: integer division": {"shift_kernel": lambda x: x / (1 // 0)},
    "has no named parameters": {"shift_kernel": torch.add},
    r"returns a NoneType: expected the tensor that the kernel writes \(out\)": {
        "shift_kernel": lambda x: None
    },
    "its value 3 is not a function": {"shift_kernel": 3},
}


@pytest.mark.parametrize("message", WRONG)
def test_a_reference_that_does_not_fit_is_refused(message: str, compiled: CrossCompiled) -> None:
    with pytest.raises(UsageError, match=message):
        wb.numerics(compiled, (X, Y), references=WRONG[message])


def test_references_are_for_what_was_compiled(compiled: CrossCompiled) -> None:
    with pytest.raises(UsageError, match="omit reference= and against="):
        wb.numerics(compiled, (X, Y), references={"shift_kernel": shift}, against=compiled)


def test_a_reference_changes_nothing_that_it_is_given(compiled: CrossCompiled) -> None:
    def changes(x: Tensor, by: float) -> Tensor:
        return x.mul_(by).add_(0.25)

    found = look_at_numbers(compiled, (X, Y), references={"shift_kernel": changes})
    assert found.first is None


def test_an_operator_of_the_user_on_this_machine_has_a_reference() -> None:
    compiled = wb.aot_compile(on_this_machine, (X,), grad=False)
    right = wb.numerics(compiled, (X,), references={"users_launches::thrice": lambda x: x * 3})
    assert right.first is None
    wrong = wb.numerics(compiled, (X,), references={"users_launches.thrice": lambda x: x * 3.1})
    assert wrong.first is not None
    assert wrong.first.part == "torch.ops.users_launches.thrice.default"


@custom_op("users_launches::thrice", mutates_args={})
def thrice(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@thrice.register_fake
def like_thrice(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def on_this_machine(x: Tensor) -> Tensor:
    return torch.tanh(thrice(x * 2))
