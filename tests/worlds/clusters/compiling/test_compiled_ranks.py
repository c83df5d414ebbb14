"""Several ranks are built, compiled and compared; one that fails does not cost the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional

import workbench as wb
from tests.worlds.clusters.parallel_models import Block, shard_parameters, split_columns_and_rows


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert not dist.is_initialized()


def build_uneven(mesh: Any) -> Any:
    with torch.device("meta"):
        model = shard_parameters(torch.nn.Sequential(torch.nn.Linear(100, 100)), mesh)
        return model, (torch.empty(4, 100),)


def test_the_rank_with_other_shards_is_chosen_and_explained() -> None:
    found = wb.ranks(build_uneven, {"dp": 9})
    assert list(found.reports) == [0, 8]
    assert found.same_code == ((0,), (8,))
    assert not found.is_same
    assert found.hangs == ()
    assert found.sentences[0] == (
        "Ranks 0 and 8 of 9 run 2 different programs; 7 ranks not compiled."
    )
    words = " ".join(found.sentences)
    assert "Rank 8 holds [4, 100] of 0.weight while rank 0 holds [12, 100]" in words
    assert "2 more kernels" in words
    assert "The collectives of these ranks are the same, in the same order." in words
    frame = found.frame()
    assert frame.parameter_bytes.to_list() == [(1200 + 12) * 4, (400 + 4) * 4]
    assert frame.gradient_bytes.equals(frame.parameter_bytes)
    assert (frame.kernels[1] - frame.kernels[0], frame.collectives.to_list()) == (2, [4, 4])
    # two gathers of 9 equal parts, which torch pads for, and as much back
    assert frame.message_bytes.to_list() == [2 * 9 * (1200 + 12) * 4] * 2
    assert frame.peak_bytes.to_list() == [
        wb.memory(report).peak for report in found.reports.values()
    ]
    difference = found.diff()
    assert difference.names == ("rank 0", "rank 8")
    assert any("constant_pad_nd" in change.item for change in difference.changes)


def build_tensor_parallel(mesh: Any) -> Any:
    with torch.device("meta"):
        block = split_columns_and_rows(Block(32, 64), mesh["tp"])
        return block, (torch.empty(2, 4, 32),)


def test_ranks_of_equal_shards_run_the_same_program() -> None:
    found = wb.ranks(build_tensor_parallel, {"dp": 4, "tp": 2}, [6, 0, 7], grad=False)
    assert found.same_code == ((0, 6, 7),)
    assert found.is_same
    assert found.diff().is_same  # although torch calls the groups of each rank otherwise
    assert found.frame("order")[["rank", "other"]].values.tolist() == [[7, 6]]
    assert any(words.startswith("Rank 0: collectives not compared") for words in found.sentences)
    assert found.frame().coordinates.to_list() == ["dp=0, tp=0", "dp=3, tp=0", "dp=3, tp=1"]


def build_forgetful(mesh: Any) -> Any:
    rank = mesh.get_rank()

    def summed(x: torch.Tensor) -> torch.Tensor:
        x = functional.all_reduce(x * 2, "sum", mesh)
        return functional.all_gather_tensor(x, 0, mesh) if rank == 3 else x

    return summed, (torch.empty(4, 4, device="meta"),)


def build_wrong_at_one(mesh: Any) -> Any:
    rank = mesh.get_rank()

    def summed(x: torch.Tensor) -> torch.Tensor:
        return x.sin() if rank == 1 else functional.all_reduce(x.sin(), "sum", mesh)

    return summed, (torch.empty(4, 4, device="meta"),)


def test_all_ranks_of_a_small_cluster_are_compiled() -> None:
    found = wb.ranks(build_wrong_at_one, {"dp": 4}, grad=False)
    assert found.same_code == ((0, 2, 3), (1,))
    assert found.sentences[0].startswith("Rank 0 deadlocks: it waits for an all-reduce of 64 B")
    assert "Ranks 0, 1, 2 and 3 of 4 run 2 different programs." in found.sentences


@pytest.mark.parametrize("target", ["h100", "host"])
def test_a_rank_that_would_hang_is_named(target: str) -> None:
    found = wb.ranks(build_forgetful, {"dp": 4}, [0, 3], target=target, grad=False)
    assert found.hangs == (
        "Rank 3 deadlocks: it waits for an all-gather of 256 B of all ranks that rank 0 never "
        "starts, after 1 collective that both ranks start.",
    )
    assert found.sentences[0] == found.hangs[0]
    assert len(found.frame("collectives")) == 3
    page = found.to_html()
    assert "nothing" in page
    assert "all_gather of 256 B, float32" in page
    (other,) = [words for words in found.sentences if "different code" in words]
    assert "Guards" not in other  # what a call has to fulfil makes no other code
    assert other.startswith("Rank 3 (b) has the same shards as rank 0 (a), but different code: ")


def build_swapped(mesh: Any) -> Any:
    rank = mesh.get_rank()

    def summed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        if rank:
            rows = functional.all_gather_tensor(w.sin(), 0, mesh)
            return functional.all_reduce(x @ w, "sum", mesh).sum() + rows.sum()
        total = functional.all_reduce(x @ w, "sum", mesh)
        return total.sum() + functional.all_gather_tensor(w.sin(), 0, mesh).sum()

    return summed, (torch.empty(8, 8, device="meta"), torch.empty(8, 8, device="meta"))


def test_the_same_kernels_in_another_order_are_not_laid_to_guards() -> None:
    found = wb.ranks(build_swapped, {"tp": 2}, grad=False)
    assert found.hangs[0].startswith("Rank 1 deadlocks: it waits for an all-gather of 512 B")
    (other,) = [words for words in found.sentences if "different code" in words]
    assert other.endswith("kernels and graphs match, generated lines differ.")


def build_late(mesh: Any) -> Any:
    if mesh.get_rank() == 1:
        raise ValueError("no data for this one")
    return torch.nn.ReLU(), (torch.ones(3),)


def test_an_error_of_one_rank_is_told_with_it_and_the_others_are_kept() -> None:
    found = wb.ranks(build_late, {"dp": 2}, target="host")
    assert list(found.reports) == [0]
    assert found.errors[1].startswith("build raised ValueError: no data for this one (")
    assert found.frame().error.to_list() == ["", found.errors[1]]
    assert any(words.startswith("Rank 1 was not compiled: build") for words in found.sentences)
    with pytest.raises(wb.UsageError, match="Only rank 0 was compiled"):
        found.diff()
    with pytest.raises(wb.UsageError, match=r"no table 'x'. They have: ranks, shards"):
        found.frame("x")


def build_two(mesh: Any) -> Any:
    return torch.nn.ReLU()


def build_list(mesh: Any) -> Any:
    return torch.nn.ReLU(), [torch.ones(2)]


def build_nothing(mesh: Any) -> Any:
    raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("build", "mesh", "more", "words"),
    [
        (build_two, {"dp": 2}, {}, r"build\(mesh\) returned a ReLU as rank 0: return the model"),
        (build_list, {"dp": 2}, {}, r"returned a tuple \(ReLU, list\) as rank 0"),
        (build_nothing, {"dp": 2}, {}, "No rank was compiled. Rank 0: build raised RuntimeError"),
        (build_late, {"dp": 0}, {}, "a name and a number of GPUs"),
        (build_late, {}, {}, r"mesh is \{\}: give each"),
        (build_late, {"dp": 2}, {"ranks": [2]}, "ranks has 2: a mesh of 2 has ranks 0 to 1"),
        (build_late, {"dp": 2}, {"ranks": []}, "ranks is empty"),
        (build_late, {"dp": 2}, {"target": "h10"}, "h10"),
    ],
)
def test_what_cannot_be_is_refused(
    build: Callable[[Any], Any], mesh: dict[str, int], more: dict[str, Any], words: str
) -> None:
    with pytest.raises(wb.UsageError, match=words):
        wb.ranks(build, mesh, **more)


def test_a_real_group_is_refused_and_stays() -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with pytest.raises(wb.UsageError, match="A process group exists already"):
            wb.ranks(build_late, {"dp": 2})
        assert dist.get_backend() == "gloo"
    finally:
        dist.destroy_process_group()
