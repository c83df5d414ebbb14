"""What a user brings along, such as custom operators, is compiled for a GPU as it is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from tests.compiler.interpreter.programs import verified
from tests.compiler.virtual_gpu.gpus import H100
from workbench.compiler.interpreter.interpreter_session import Interpreter
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.errors import CaptureError
from workbench.handles.cross_compiled import compile_for_gpu


@torch.library.custom_op("workbench_tests::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def by_name(x: torch.Tensor) -> torch.Tensor:
    found: torch.Tensor = torch.ops.workbench_tests.twice(x)
    return found + 1


space = torch.ops.workbench_tests
elsewhere: dict[str, Any] = {"torch": torch}
exec("def by_name_elsewhere(x): return torch.ops.workbench_tests.twice(x) + 1", elsewhere)


@triton.jit
def _halved(source, target, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at) * 0.5)


@torch.library.triton_op("workbench_tests::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    target = torch.empty_like(x)
    torch.library.wrap_triton(_halved)[(1,)](x, target, BLOCK=x.numel())
    return target


def with_kernel(x: torch.Tensor) -> torch.Tensor:
    found: torch.Tensor = halved(x.relu()) + 1
    return found


@pytest.mark.parametrize(
    "fn",
    [
        by_name,
        pytest.param(lambda x: twice(x) + 1, marks=pytest.mark.slow),
        pytest.param(lambda x: space.twice(x) + 1, marks=pytest.mark.slow, id="namespace"),
        pytest.param(elsewhere["by_name_elsewhere"], id="elsewhere"),
        pytest.param(with_kernel, id="triton_op"),
    ],
)
def test_custom_operators_are_made_for_one_call(
    fn: Any, worker: CrossCompiler, interpreter: Interpreter
) -> None:
    x = torch.randn(4)
    compiled = compile_for_gpu(CompileRequest(fn, (x,)), H100.spec, worker=worker)
    assert verified(compiled, (x,), interpreter).ok

    def unknown(x: torch.Tensor) -> torch.Tensor:  # the operator of the call before is gone
        found: torch.Tensor = getattr(torch.ops.workbench_tests, "twice")(x)  # noqa: B009
        return found

    with pytest.raises(CaptureError):
        compile_for_gpu(CompileRequest(unknown, (x,)), H100.spec, worker=worker)


@pytest.mark.parametrize("wrap", [pytest.param(weight_norm, marks=pytest.mark.slow), spectral_norm])
def test_parametrized_modules(wrap: Any, worker: CrossCompiler, interpreter: Interpreter) -> None:
    module, x = wrap(torch.nn.Linear(8, 8)).eval(), torch.randn(4, 8)
    compiled = compile_for_gpu(CompileRequest(module, (x,)), H100.spec, worker=worker)
    assert verified(compiled, (x,), interpreter).ok


@pytest.mark.parametrize(
    "value", [[1.0, 2.0], *(pytest.param(each, marks=pytest.mark.slow) for each in (3.0, []))]
)
def test_constants_on_the_device(
    value: Any, worker: CrossCompiler, interpreter: Interpreter
) -> None:
    def shifted(x: torch.Tensor) -> torch.Tensor:
        made = torch.tensor(value, dtype=x.dtype, device=x.device)
        return torch.cat((x, made.reshape(-1))) + 1

    x = torch.randn(4)
    compiled = compile_for_gpu(CompileRequest(shifted, (x,)), H100.spec, worker=worker)
    assert verified(compiled, (x,), interpreter).ok
