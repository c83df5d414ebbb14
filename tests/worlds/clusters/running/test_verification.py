"""What may be asked of all ranks, and where the answer is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

import workbench as wb
from tests.worlds.clusters.running import ranked_programs as programs

BUILD = programs.by_hand(programs.added)


@pytest.fixture(scope="module")
def compiled() -> Any:
    with wb.virtual_cluster(programs.ONE) as mesh:
        made = wb.aot_compile(BUILD(mesh), (programs.inputs(),), backend="aot_eager", grad=False)
    return made


def test_the_record_keeps_how_far_each_rank_is_off(compiled: Any, tmp_path: Path) -> None:
    found = compiled.verify(programs.inputs(), ranks=4, build=BUILD, reference=programs.two())
    assert found.ok
    shown = found.frame("ranks")
    assert shown[["rank", "place", "collectives", "verdict"]].values.tolist() == [
        [rank, f"tp {rank}", 1, "passed"] for rank in range(4)
    ]
    assert list(found.frame("leaves").leaf[:2]) == ["rank 0: output", "rank 0: output against Two"]
    compiled.report.save(tmp_path / "f.wbr")
    kept = wb.Report.load(tmp_path / "f.wbr").extra["rank_numbers"]
    assert (kept["verdict"], kept["sentence"]) == ("passed", found.sentence)
    assert [row["from_reference"] for row in kept["ranks"]] == shown.from_reference.tolist()


def test_without_build_nothing_is_checked(compiled: Any) -> None:
    found = compiled.verify(programs.inputs(), ranks=4)
    assert (found.verdict, found.rows) == ("not checked", ())
    assert "The model has the values of only one rank" in found.sentence
    assert "verify(x, ranks=4, build=build)" in found.sentence


def test_without_ranks_the_answer_says_how_to_ask(compiled: Any) -> None:
    assert (
        "ranks of a small cluster with ranks= and build="
        in compiled.verify(programs.inputs()).sentence
    )


def test_names_of_the_functions_own_are_its_own() -> None:
    def built(x: torch.Tensor, build: int) -> torch.Tensor:
        return x * build

    own = wb.aot_compile(built, (torch.ones(2),), {"build": 2}, backend="aot_eager", grad=False)
    assert own.verify(torch.ones(2), build=2).ok


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"ranks": 2}, "ranks is 2, but .* was compiled for a cluster of 4: give ranks=4"),
        ({"ranks": 32}, "All 32 ranks would run in this process.*at most 16.*on a small mesh"),
        ({"ranks": 4.5}, "ranks is 4.5"),
        ({"ranks": 4, "build": 3}, "build is 3"),
        ({"ranks": 4, "loss": "product", "build": BUILD}, "loss is 'product': expected 'mean'"),
        (
            {"ranks": 4, "build": BUILD, "per_kernel": True},
            "per_kernel=True is for programs compiled for a",
        ),
        ({"ranks": 4, "build": BUILD, "float64": True}, "float64=True is for one program"),
        ({"build": BUILD}, "build= creates the program on every rank: also pass ranks="),
        (
            {"ranks": 4, "build": BUILD, "reference": torch.nn.Linear(3, 3)},
            "reference Linear cannot run on the inputs of this call",
        ),
        (
            {"ranks": 4, "build": BUILD, "reference": torch.nn.Linear(32, 32, device="meta")},
            "The reference Linear, or one of its inputs, is on meta",
        ),
    ],
)
def test_what_cannot_be_asked_is_said(compiled: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        wb.verify(compiled, (programs.inputs(),), **more)
    assert not dist.is_initialized()


def test_a_cluster_of_many_is_checked_on_a_small_one() -> None:
    with wb.virtual_cluster({"dp": 64, "tp": 8}) as mesh:
        large = wb.aot_compile(BUILD(mesh), (programs.inputs(),), backend="eager", grad=False)
        with pytest.raises(wb.UsageError, match="sized for a cluster of 512: compile the program"):
            large.verify(programs.inputs(), ranks=4, build=BUILD)


def test_what_was_compiled_outside_of_a_cluster_has_one_rank() -> None:
    alone = wb.aot_compile(torch.relu, (torch.ones(2),), backend="aot_eager", grad=False)
    with pytest.raises(wb.UsageError, match="relu was compiled outside a cluster and has one"):
        alone.verify(torch.ones(2), ranks=4, build=BUILD)
    with pytest.raises(wb.UsageError, match=r"ranks= needs a result of aot_compile.*got function"):
        wb.verify(BUILD, (torch.ones(2),), ranks=4)  # type: ignore[arg-type]


def test_beside_a_real_group_each_process_has_its_own_numbers() -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        own = wb.aot_compile(torch.relu, (torch.ones(2),), backend="aot_eager", grad=False)
        with pytest.raises(wb.UsageError, match="in a real process group"):
            own.verify(torch.ones(2), ranks=1, build=BUILD)
    finally:
        dist.destroy_process_group()
