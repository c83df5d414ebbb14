"""Functions travel whole, tensors as descriptions."""

from __future__ import annotations

from typing import Any

import cloudpickle
import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

from tests.compiler.virtual_gpu.gpus import H100
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.shipped_operators import find_used_operators
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.client import pack_call
from workbench.compiler.virtual_gpu.device.virtual import enter_virtual_gpu
from workbench.errors import UsageError
from workbench.processes.shipping.shipped_values import unpack_described

SCALE = 3


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * SCALE


def there_and_back(target: Any, *args: Any) -> tuple[CompileRequest, int]:
    forms = pack_call(CompileRequest(target, args), "it")
    mode = tp.FAKE_TENSOR_MODE.get()(shape_env=tp.SHAPE_ENV.get()())
    with enter_virtual_gpu(H100, lambda choice, n: float(n)):
        content = unpack_described(forms, mode).content
    del content["state"]  # modes of torch, which the worker applies
    return CompileRequest(**content), sum(map(len, forms))


def test_tensors_become_fakes_on_the_device() -> None:
    x = torch.randn(8, 4).t().to(torch.bfloat16).requires_grad_()
    arrived = there_and_back(scaled, x)[0].args[0]
    assert isinstance(arrived, tp.FAKE_TENSOR.get())
    assert (arrived.device.type, arrived.shape, arrived.stride()) == ("cuda", (4, 8), (1, 4))
    assert (arrived.dtype, arrived.requires_grad) == (torch.bfloat16, True)
    assert x.device.type == "cpu"


def test_seven_billion_parameters_take_no_memory() -> None:
    layers = [torch.nn.Linear(8192, 8192, device="meta") for _ in range(105)]
    arrived, size = there_and_back(torch.nn.Sequential(*layers), torch.empty(1, 8192))
    assert sum(p.numel() for p in arrived.target.parameters()) > 7e9
    assert all(isinstance(p, torch.nn.Parameter) for p in arrived.target.parameters())
    assert size < 200_000


def test_tied_parameters_stay_tied() -> None:
    first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    second.weight = first.weight
    arrived = there_and_back(torch.nn.Sequential(first, second), torch.empty(1, 4))[0].target
    assert arrived[0].weight is arrived[1].weight
    assert arrived[0].bias is not arrived[1].bias


def test_marks_of_dynamic_dimensions_travel() -> None:
    x = torch.randn(8, 4)
    torch._dynamo.mark_dynamic(x, 0)
    arrived = there_and_back(scaled, x)[0].args[0]
    assert arrived._dynamo_dynamic_indices == {0}


def test_the_users_functions_travel_with_the_values_that_they_see(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(globals(), "SCALE", 7)
    arrived = there_and_back(scaled, torch.randn(2))[0].target
    assert arrived is not scaled
    assert arrived.__globals__["SCALE"] == 7


def test_a_tensor_subclass_stays_one() -> None:
    module = torch.nn.Linear(2, 2)
    module.weight = torch.nn.Parameter(TwoTensor(torch.zeros(2, 2), torch.ones(2, 2)))
    call, _ = there_and_back(module, torch.randn(2, 2))
    weight: Any = call.target.weight
    assert type(weight) is TwoTensor
    assert isinstance(weight, torch.nn.Parameter)
    assert (weight.device.type, weight.requires_grad) == ("cuda", True)
    assert isinstance(weight.b, tp.FAKE_TENSOR.get())


class Cache:
    """As those of transformers: it remembers where its tensors are."""

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self.keys = torch.zeros(2)


def test_a_device_in_an_input_is_that_of_its_tensors() -> None:
    module = torch.nn.Identity()
    module.device = torch.device("cpu")  # type: ignore[assignment]  # of the code, not of an input
    call, _ = there_and_back(module, Cache())
    assert call.args[0].device.type == call.args[0].keys.device.type == "cuda"
    assert call.target.device.type == "cpu"


def test_operators_travel_by_name() -> None:
    chosen = torch.ops.aten.relu.default

    def used(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.neg(chosen(x))

    arrived = there_and_back(used, torch.randn(2))[0].target
    assert arrived.__closure__[0].cell_contents is chosen
    assert arrived(torch.tensor([1.0, -1.0])).tolist() == [-1, 0]


class Tagged(torch.Tensor):
    """A subclass that does not say what it is made of."""


@pytest.mark.parametrize(
    ("target", "args", "words"),
    [
        (scaled, (torch.randn(2).as_subclass(Tagged),), "A Tagged cannot be compiled"),
        (scaled, (torch.nn.Parameter(torch.randn(2).as_subclass(Tagged)),), "A Tagged cannot be"),
        (scaled, (torch.eye(3).to_sparse(),), "only dense tensors can"),
    ],
)
def test_what_cannot_travel_is_refused(target: Any, args: tuple[Any, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        pack_call(CompileRequest(target, args), "it")


def test_operators_of_torch_are_imported_and_not_sent() -> None:
    from torch.distributed import _functional_collectives

    space = torch.ops._c10d_functional
    assert _functional_collectives._wrap_tensor_autograd  # torch defines it as users define theirs
    assert "_wrap_tensor_autograd" in dir(space)
    assert list(find_used_operators(space)) == []
    arrived = there_and_back(space._wrap_tensor_autograd.default)[0].target
    assert arrived is space._wrap_tensor_autograd.default


def test_packing_leaves_the_registry_of_cloudpickle_as_it_was() -> None:
    registered = cloudpickle.list_registry_pickle_by_value()
    assert there_and_back(scaled, torch.randn(2))
    assert cloudpickle.list_registry_pickle_by_value() == registered
