from __future__ import annotations

import torch
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

import workbench as wb
from tests.worlds.clusters.parallel_models import shard_parameters
from workbench.worlds.clusters.compiling.shards import (
    Layout,
    find_uneven_ranks,
    list_coordinates,
    list_layouts,
    list_shards,
)

SIZES = {"dp": 4, "tp": 2}


def test_every_rank_holds_what_torch_gives_it() -> None:
    for rank, at in enumerate(list_coordinates(SIZES)):
        with wb.virtual_cluster(SIZES, rank=rank) as mesh, torch.device("meta"):
            split = [Shard(0), Shard(0)]
            whole = distribute_tensor(torch.empty(11, 3), mesh, split, src_data_rank=None)
            other = distribute_tensor(torch.empty(5), mesh, [Replicate(), Shard(0)])
            shards = {shard.name: shard for shard in list_shards(None, (whole, {"other": other}))}
            assert shards["args[0]"].shape == tuple(whole.to_local().shape)
            assert shards["args[1]"].bytes == other.to_local().numel() * 4
            layouts = list_layouts(None, (whole, other))
        assert layouts == {
            Layout((11, 3), (("dp", 0), ("tp", 0))),
            Layout((5,), (("tp", 0),)),
        }
        local = {layout.local_shape(SIZES, at) for layout in layouts}
        assert local == {shards["args[0]"].shape, shards["args[1]"].shape}


def test_a_parametrised_parameter_has_its_own_name() -> None:
    with wb.virtual_cluster({"dp": 8}, rank=7) as mesh, torch.device("meta"):
        model = shard_parameters(torch.nn.Sequential(torch.nn.Linear(100, 100)), mesh)
        shards = {shard.name: shard for shard in list_shards(model, ())}
        assert shards["0.weight"].shape == (9, 100)
        assert (shards["0.bias"].is_parameter, shards["0.bias"].needs_grad) == (True, True)
        uneven = find_uneven_ranks({"dp": 8}, list_layouts(model, ()))
    assert uneven == (0, 7)


def test_ranks_past_the_end_of_a_tensor_hold_nothing() -> None:
    layout = Layout((5,), (("dp", 0),))
    held = [layout.local_shape({"dp": 4}, at) for at in list_coordinates({"dp": 4})]
    assert held == [(2,), (2,), (1,), (0,)]
    assert find_uneven_ranks({"dp": 4}, [layout]) == (0, 2, 3)
    assert find_uneven_ranks({"dp": 4}, [Layout((5,), (("flattened", 0),))]) == (0,)
