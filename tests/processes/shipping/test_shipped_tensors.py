"""A mesh arrives as one of GPUs, with the process groups of the same names."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.distributed import _functional_collectives as functional
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

import workbench as wb
from tests.compiler.virtual_gpu.gpus import H100
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.process_groups.cluster import enter_cluster, find_cluster
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.client import pack_call
from workbench.compiler.virtual_gpu.device.virtual import enter_virtual_gpu
from workbench.processes.shipping.shipped_tensors import reduce_group
from workbench.processes.shipping.shipped_values import Forms, unpack_described


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def packed(*args: Any) -> Forms:
    return pack_call(CompileRequest(doubled, args), "doubled")


def test_a_tensor_of_a_mesh_arrives_as_one_of_gpus() -> None:
    with wb.virtual_cluster({"dp": 4, "tp": 2}, rank=3) as mesh:
        whole = torch.empty(10, 6, device="meta")
        parameter = torch.nn.Parameter(distribute_tensor(whole, mesh["dp"], [Shard(0)]))
        data, sent = packed(parameter, mesh, mesh.get_group("tp")), find_cluster()
    fake_mode = tp.FAKE_TENSOR_MODE.get()(shape_env=tp.SHAPE_ENV.get()())
    with enter_cluster(sent), enter_virtual_gpu(H100, lambda choice, n: float(n), count=8):
        arrived, on, group = unpack_described(data, fake_mode).content["args"]
        assert isinstance(arrived, DTensor)
        assert isinstance(arrived, torch.nn.Parameter)
        assert (arrived.shape, arrived.placements) == ((10, 6), (Shard(0),))
        assert arrived.to_local().shape == (3, 6)  # rank 3 is the second of dp: 3, 3, 3, 1 rows
        assert (arrived.device.type, on.device_type) == ("cuda", "cuda")
        assert arrived.device_mesh == on["dp"]
        assert tuple(on.get_coordinate()) == (1, 1)
        assert on.get_group("tp") is group
        assert group.size() == 2


def test_a_flattened_mesh_brings_its_group() -> None:
    with wb.virtual_cluster({"pp": 2, "dp": 2, "tp": 2}) as mesh:
        flat = mesh["dp", "tp"]._flatten("both")

        def summed(x: torch.Tensor) -> torch.Tensor:
            return functional.all_reduce(x, "sum", flat.get_group())

        x = torch.empty(8, device="meta")
        report = wb.aot_compile(summed, (x,), target="h100", grad=False).report
    assert [(row.op, row.group_size) for row in report.collectives] == [("all_reduce", 4)]


def test_what_is_no_group_is_left_to_others() -> None:
    assert reduce_group(torch.nn.ReLU()) is None


def test_a_mesh_of_a_cluster_that_is_gone_is_refused() -> None:
    with wb.virtual_cluster({"tp": 4}) as mesh:
        value = distribute_tensor(torch.empty(8, device="meta"), mesh, [Shard(0)])
    gone = "belongs to a cluster that no longer exists"
    with pytest.raises(wb.UsageError, match=gone):
        packed(value)
    with wb.virtual_cluster({"tp": 8}), pytest.raises(wb.UsageError, match=gone):
        packed(value)
