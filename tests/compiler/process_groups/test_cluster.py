"""One rank of a cluster is set up and gone again, whatever happens; what no cluster has is said."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch._inductor import config
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

import workbench as wb
from workbench.compiler.process_groups.cluster import Topology, enter_cluster, find_cluster

RATES = {"nvlink_gb_s": 450.0, "nic_gb_s": 50.0}


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert not dist.is_initialized()
    assert find_cluster() is None


def test_a_rank_knows_its_groups_and_on_how_many_nodes_they_are() -> None:
    with wb.virtual_cluster({"dp": 64, "tp": 8}, rank=9) as mesh:
        assert (mesh.shape, mesh.mesh_dim_names) == ((64, 8), ("dp", "tp"))
        assert tuple(mesh.get_coordinate() or ()) == (1, 1)
        cluster = find_cluster()
        assert cluster is not None
        assert (cluster.rank, cluster.world_size, cluster.is_fake) == (9, 512, True)
        groups = {group.mesh_dims: group.ranks for group in cluster.groups}
        assert groups == {"tp": tuple(range(8, 16)), "dp": tuple(range(1, 512, 8))}
        counted = {name: cluster.count_nodes(ranks) for name, ranks in groups.items()}
        assert counted == {"tp": 1, "dp": 64}


def test_nothing_is_left_after_an_error_or_a_group_that_the_user_ended() -> None:
    with pytest.raises(KeyboardInterrupt), wb.virtual_cluster({"tp": 2}):
        raise KeyboardInterrupt
    with wb.virtual_cluster({"tp": 2}):
        dist.destroy_process_group()


def test_nothing_of_one_rank_is_told_to_the_next() -> None:
    shown = sys.excepthook
    rows = torch.arange(8)
    for rank, lost in ((0, (2, 8)), (3, (0, 6))):
        with wb.virtual_cluster({"tp": 4}, rank=rank) as mesh:
            table = distribute_tensor(torch.ones(8, 2), mesh, [Shard(0)], src_data_rank=None)
            asked = DTensor.from_local(rows, mesh, [Replicate()])
            found = torch.nn.functional.embedding(asked, table)
            mask = found.placements[0].mask_buffer.data
            # the rows of the other ranks: what torch had for an equal mesh was that of rank 0
            assert mask is not None
            assert rows[mask].tolist() == [row for row in range(8) if lost[0] <= row < lost[1]]
        assert sys.excepthook is shown  # torch put "[rank0]:" in front of every traceback


def test_another_process_is_the_same_rank_with_the_same_groups() -> None:
    with wb.virtual_cluster({"dp": 4, "tp": 2}, rank=5, gpus_per_node=2, **RATES):
        sent = find_cluster()
    with enter_cluster(sent):
        assert find_cluster() == sent
        assert copied(DeviceMesh("cpu", torch.arange(8)))
        assert (config.intra_node_bw, config.inter_node_bw) == (450.0, 50.0)
    assert "__deepcopy__" not in vars(DeviceMesh)
    assert (config.intra_node_bw, config.inter_node_bw) == (None, None)


def copied(mesh: DeviceMesh) -> bool:
    """Whether a copy is the mesh itself: one of its ranks would be made under a fake mode."""
    import copy

    return copy.deepcopy(mesh) is mesh


def test_a_real_group_is_found_and_stays() -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        cluster = find_cluster()
        assert cluster is not None
        assert not cluster.is_fake
        assert cluster.topology == Topology()
        words = r"A process group exists already \(gloo, rank 0 of 1\)"
        with pytest.raises(wb.UsageError, match=words), wb.virtual_cluster({"tp": 2}):
            pass
        assert dist.get_backend() == "gloo"
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize(
    ("mesh", "more", "words"),
    [
        ({}, {}, r"mesh is \{\}: give each"),
        ({"dp": 0}, {}, "a name and a number of GPUs"),
        ({"": 2}, {}, "a name and a number of GPUs"),
        ({"dp": 2.0}, {}, "mesh is {'dp': 2.0}: its value 2.0 is not a whole number"),
        ({"dp": 4, "tp": 2}, {"rank": 8}, "rank is 8: a mesh of 4 x 2 has ranks 0 to 7"),
        ({"dp": 4}, {"rank": -1}, "rank is -1"),
        ({"dp": 4}, {"gpus_per_node": 0}, "gpus_per_node is 0: expected at least 1"),
        ({"dp": 4}, {"nic_gb_s": 0.0}, "nic_gb_s is 0.0: expected the GB/s of one GPU"),
        ({"dp": 4}, {"nvlink_gb_s": -1.0}, "nvlink_gb_s is -1.0: expected a number ≥ 0"),
    ],
)
def test_what_no_cluster_has_is_refused(mesh: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(wb.UsageError, match=words), wb.virtual_cluster(mesh, **more):
        pass


def test_a_group_under_another_name_is_refused() -> None:
    with wb.virtual_cluster({"tp": 2}):
        sent = find_cluster()
    assert sent is not None
    other = type(sent)(0, 2, "7", (), is_fake=True)
    with pytest.raises(wb.CaptureError, match="is called '7' here and '0'"), enter_cluster(other):
        pass


@pytest.mark.parametrize("mesh", [{"dp": 2**31}, {"dp": 2**16, "tp": 2**16}])
def test_a_mesh_of_more_gpus_than_any_is_refused(mesh: dict[str, int]) -> None:
    with (
        pytest.raises(wb.UsageError, match="GPUs in total: give at most 1,048,576"),
        wb.virtual_cluster(mesh),
    ):
        pass
    with pytest.raises(wb.UsageError, match="at most 1,048,576"):
        wb.ranks(lambda mesh: None, mesh)
