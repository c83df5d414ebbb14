"""What library calls take on a CPU while they run, beside torch's profiler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.analysis.memory import scratch
from workbench.analysis.memory.memory import memory
from workbench.analysis.memory.scratch import backward_bytes, convolution_bytes
from workbench.compiler.measuring.call_memory import allocated

LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}
CONVOLUTIONS: dict[str, tuple[tuple[int, ...], torch.nn.Module]] = {
    "patches": ((3, 64, 64), torch.nn.Conv2d(3, 192, 16, 16)),
    "1x1": ((64, 14, 14), torch.nn.Conv2d(64, 96, 1)),
    "1x1 with a stride": ((96, 14, 64), torch.nn.Conv2d(96, 64, 1, 2)),
    "3x3": ((16, 28, 28), torch.nn.Conv2d(16, 32, 3, padding=1)),
    "dilated": ((32, 28, 28), torch.nn.Conv2d(32, 16, 3, dilation=2)),
    "by channel": ((32, 28, 28), torch.nn.Conv2d(32, 32, 3, padding=1, groups=32)),
    "by channel, few": ((3, 64, 56), torch.nn.Conv2d(3, 3, 1, groups=3)),
    "in groups": ((64, 28, 14), torch.nn.Conv2d(64, 18, 5, padding=2, groups=2)),
    "transposed": ((16, 13, 13), torch.nn.ConvTranspose2d(16, 32, 3, 2)),
    "transposed, dilated": ((16, 13, 28), torch.nn.ConvTranspose2d(16, 64, 7, 2, 3, dilation=2)),
    "one dimension": ((192, 100), torch.nn.Conv1d(192, 64, 16, 2)),
    "three dimensions": ((8, 8, 8, 8), torch.nn.Conv3d(8, 16, 3, padding=1)),
}


def given(name: str, batch: int, *, last: bool) -> tuple[torch.nn.Module, torch.Tensor]:
    shape, layer = CONVOLUTIONS[name]
    x = torch.randn(batch, *shape)
    if last and x.dim() in LAYOUTS:
        return layer, x.to(memory_format=LAYOUTS[x.dim()])
    return layer, x


def sizes(*tensors: torch.Tensor) -> tuple[Any, ...]:
    return tuple(tuple(t.shape) for t in tensors)


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32,
        torch.bfloat16,
        *(pytest.param(t, marks=pytest.mark.slow) for t in (torch.float16, torch.float64)),
    ],
)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_takes_no_more_than_is_said(name: str, dtype: torch.dtype) -> None:
    for batch, last in ((1, False), (4, True)):
        layer, x = given(name, batch, last=last)
        x, weight = x.to(dtype), layer.weight.detach().to(dtype)  # type: ignore[union-attr, operator]
        call = convolved(layer, x, weight)
        made = call()
        took = allocated(call).peak - made.untyped_storage().nbytes()
        shapes, wide = sizes(x, weight, made), "AVX512" in torch.backends.cpu.get_cpu_capability()
        threads = torch.get_num_threads()
        most = convolution_bytes(*shapes, str(dtype)[6:], threads, wide=wide)
        assert most is not None
        assert took <= most


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_its_backward_takes_no_more_than_is_said(name: str) -> None:
    for batch, last in ((1, False), (4, True)):
        layer, x = given(name, batch, last=last)
        weight: Any = layer.weight.detach()  # type: ignore[union-attr, operator]
        made = convolved(layer, x, weight)()
        call = backward(layer, torch.randn_like(made), x, weight)
        call()
        kept = sum(t.untyped_storage().nbytes() for t in call() if t is not None)
        took = allocated(call).peak - kept
        most = backward_bytes(*sizes(x, weight, made), "float32", torch.get_num_threads())
        assert most is not None
        assert took <= most


def settings(layer: Any) -> tuple[Any, ...]:
    form = (layer.stride, layer.padding, layer.dilation, layer.transposed, layer.output_padding)
    return (*form, layer.groups)


def convolved(layer: Any, x: torch.Tensor, weight: torch.Tensor) -> Any:
    return lambda: torch.convolution(x, weight, None, *settings(layer))


def backward(layer: Any, down: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Any:
    operator = torch.ops.aten.convolution_backward
    form, every = settings(layer), [True, True, False]
    return lambda: operator(down, x, weight, None, *form, every)


def test_what_was_not_measured_has_no_bound() -> None:
    assert convolution_bytes((1, 3, 8), (4, 3, 2), (1, 4, 7), "complex64", 2, wide=True) is None
    assert backward_bytes((1, 3, 8), (4, 3, 2), (1, 4, 7), "float64", 2) is None
    by_channel = ((8, 100, 8, 7, 8), (100, 1, 7, 7, 7), (8, 100, 8, 7, 8))
    assert backward_bytes(*by_channel, "float32", 2) is None


@pytest.mark.parametrize(
    ("name", "batch", "grad"),
    [
        ("patches", 1, False),
        *(
            pytest.param(name, batch, grad, marks=pytest.mark.slow)
            for name in CONVOLUTIONS
            for batch in (1, 8)
            for grad in (False, True)
        ),
    ],
)
@pytest.mark.parametrize("last", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_sentence_of_a_compiled_convolution_holds(
    name: str, batch: int, *, grad: bool, last: bool
) -> None:
    layer, x = given(name, batch, last=last)
    found = wb.aot_compile(layer, (x,), grad=grad).memory()
    assert "Not counted: convolution allocates up to" in found.sentence
    assert "B, at k" in found.sentence
    assert found.most is not None
    assert found.measure(x).measured <= found.most - found.base


def test_a_matmul_of_16_bits_has_a_bound_where_onednn_computes_it() -> None:
    x = torch.randn(128, 256)
    of_16, of_32 = (wb.aot_compile(lambda a: a @ a.T, (given,)) for given in (x.bfloat16(), x))
    wide = replace(of_16.report, environment=replace(of_16.report.environment, isa="AVX512"))
    narrow = replace(of_16.report, environment=replace(of_16.report.environment, isa="AVX2"))
    (row,) = memory(wide).scratch
    own = 2 * (128 * 256 + 256 * 128) + 4 * 128 * 128
    assert row.bytes == of_16.report.environment.threads * own
    assert "mm allocates up to" in memory(wide).sentence
    assert memory(narrow).scratch == ()  # as measured with AVX2: torch has a loop of its own
    assert of_32.memory().scratch == ()


def _sliced(x: torch.Tensor) -> torch.Tensor:
    return torch.view_as_complex(x)[:8] * 2


COMPLEX = torch.zeros(64, 16, dtype=torch.complex64)


@pytest.mark.parametrize(
    ("program", "x", "bytes"),
    [
        (_sliced, torch.zeros(512, 16, 2), 8 * 16 * 8),
        (lambda x: torch.view_as_complex(x) * 2, torch.zeros(64, 16, 2), 64 * 16 * 8),
        (lambda z: torch.view_as_real(z) * 2, COMPLEX, 64 * 16 * 8),
        (lambda z: z.real * 2, COMPLEX, 64 * 16 * 4),
    ],
)
def test_a_view_of_complex_numbers_is_no_memory_of_its_own(
    program: Any, x: torch.Tensor, bytes: int
) -> None:
    found = wb.aot_compile(program, (x,)).memory()
    given = x.numel() * x.element_size()
    assert (found.peak, found.most) == (given + bytes, given + bytes)
    assert found.scratch == ()


def test_the_size_of_complex_numbers_takes_them_once_more() -> None:
    found = wb.aot_compile(lambda z: (z * z).abs(), (COMPLEX,)).memory()
    assert [(row.operator, row.bytes) for row in found.scratch] == [("abs", 64 * 16 * 8)]


def test_random_whole_numbers_take_nothing_more() -> None:
    found = wb.aot_compile(lambda x: x + torch.randint(0, 5, x.shape), (torch.zeros(64),)).memory()
    assert found.scratch == ()


@pytest.mark.parametrize(
    ("kernel", "operator"),
    [
        ("aten.scatter_reduce_.two", "scatter_reduce_"),
        ("torch.ops.aten.mm.default", "mm"),
        ("extern_kernels.mm", "mm"),
    ],
)
def test_an_overload_is_not_the_name_of_an_operator(kernel: str, operator: str) -> None:
    assert scratch.name_operator(kernel) == operator
