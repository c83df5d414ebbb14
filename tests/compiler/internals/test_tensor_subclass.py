"""A tensor subclass is taken apart, moved and put together again."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

from workbench import virtual_cluster
from workbench.compiler.internals.tensor_kind import (
    Flattened,
    find_dense_parts,
    is_flattenable,
    mapped,
)
from workbench.errors import UsageError


def nested() -> TwoTensor:
    return TwoTensor(TwoTensor(torch.zeros(2), torch.ones(2)), torch.full((2,), 2.0))


def test_the_dense_parts_of_a_nested_subclass() -> None:
    assert [part.tolist() for part in find_dense_parts(nested())] == [[0, 0], [1, 1], [2, 2]]
    plain = torch.zeros(2)
    assert list(find_dense_parts(plain)) == [plain]
    assert not is_flattenable(torch.nn.Parameter(plain))


def test_mapping_keeps_the_classes() -> None:
    made: Any = mapped(nested(), lambda part: part + 1)
    assert type(made) is TwoTensor
    assert type(made.a) is TwoTensor
    assert [part.tolist() for part in find_dense_parts(made)] == [[1, 1], [2, 2], [3, 3]]


def test_what_is_no_tensor_in_a_subclass_stays_as_it_is() -> None:
    from torch.distributed.tensor import DTensor, Replicate, distribute_tensor

    with virtual_cluster({"dp": 2}) as mesh:
        value = distribute_tensor(torch.ones(4), mesh, [Replicate()])
        made: Any = mapped(value, lambda part: part + 1)
        assert type(made) is DTensor
        assert made.device_mesh is mesh
        assert [part.tolist() for part in find_dense_parts(made)] == [[2, 2, 2, 2]]


def test_a_parameter_is_rebuilt_as_one() -> None:
    value = torch.nn.Parameter(TwoTensor(torch.zeros(2), torch.ones(2)))
    made = Flattened.of(value).rebuilt()
    assert isinstance(made, torch.nn.Parameter)
    assert type(made) is TwoTensor
    assert made.requires_grad


class Stays(TwoTensor):
    """One that knows its inner tensors on the CPU only."""

    @staticmethod
    def __tensor_unflatten__(inner: Any, context: Any, size: Any, stride: Any) -> Any:
        return Stays(*(torch.zeros_like(part, device="cpu") for part in inner.values()))


def test_a_subclass_that_stays_where_it_is_is_refused_by_name() -> None:
    value = Flattened.of(Stays(torch.zeros(2), torch.ones(2)))
    with pytest.raises(UsageError, match="A Stays cannot be moved to meta"):
        value.rebuilt("meta")
