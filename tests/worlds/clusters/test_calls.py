"""What is compiled in a virtual cluster claims nothing about numbers and brings no groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed import _functional_collectives as functional

import workbench as wb
from workbench.analysis.fusion.fusion import kernel_kinds
from workbench.views.overview.answer import answer_text
from workbench.views.source_marks import note_lines


@pytest.fixture(scope="module")
def mesh() -> Iterator[Any]:
    with wb.virtual_cluster({"tp": 4}) as mesh:
        yield mesh


@pytest.fixture(scope="module", params=["h100", "host"])
def made(request: pytest.FixtureRequest, mesh: Any) -> tuple[Any, tuple[torch.Tensor, ...]]:
    def summed(x: torch.Tensor) -> torch.Tensor:
        return functional.all_reduce(x * 2, "sum", (mesh, 0)) + 1

    x = torch.arange(6.0)
    return wb.aot_compile(summed, (x,), target=request.param, grad=False), (x,)


def test_numbers_of_no_rank_are_not_checked(made: tuple[Any, Any]) -> None:
    compiled, args = made
    found = wb.verify(compiled, args)
    assert (found.verdict, found.ok, found.rows) == ("not checked", False, ())
    assert "Collectives of a virtual cluster send nothing" in found.sentence
    assert compiled.verify(*args).verdict == "not checked"


@pytest.mark.world("numerics")
def test_numbers_of_no_rank_are_not_looked_at(made: tuple[Any, Any]) -> None:
    compiled, args = made
    with pytest.raises(
        wb.UsageError, match=r"cannot be checked\..*Collectives of a virtual cluster send"
    ):
        wb.numerics(compiled, args)


def test_what_another_backend_makes_is_not_checked_either(mesh: Any) -> None:
    def summed(x: torch.Tensor) -> torch.Tensor:
        return functional.all_reduce(x, "sum", (mesh, 0)) * 2

    x = torch.arange(6.0)
    for backend in ("eager", "aot_eager"):
        compiled = wb.aot_compile(summed, (x,), backend=backend, grad=False)
        assert wb.verify(compiled, (x,)).verdict == "not checked"
    plain = wb.aot_compile(torch.relu, (x,), backend="aot_eager", grad=False)
    assert wb.verify(plain, (x,)).ok  # no collective is in it


def test_the_answer_says_what_it_leaves_out(made: tuple[Any, Any]) -> None:
    compiled, _ = made
    words = answer_text(compiled.report)
    is_modelled = compiled.report.request.target == "h100"
    waits = "16.2 µs exposed by 1 collective. "
    assert (waits if is_modelled else "Excludes 1 collective. ") in words
    assert not is_modelled or "Excludes" not in words
    kinds = kernel_kinds(compiled.report)
    assert sorted(kinds.values()).count("collective") == 2  # the start and the wait
    notes = [note["title"] for each in note_lines(compiled.report).values() for note in each]
    assert "Fallback." not in notes


def test_a_file_would_not_bring_the_groups(made: tuple[Any, Any], tmp_path: Path) -> None:
    compiled, _ = made
    with pytest.raises(
        wb.ArtifactError, match="collectives need the process groups of a virtual cluster"
    ):
        compiled.save(tmp_path / "f.aot")
    compiled.report.save(tmp_path / "f.wbr")
    rows = list(wb.Report.load(tmp_path / "f.wbr").collectives)
    assert [(row.op, row.bytes, row.group_size) for row in rows] == [("all_reduce", 24, 4)]


@pytest.mark.parametrize("target", ["host", "h100"])
def test_ddp_inside_of_another_module_is_refused_in_a_sentence(target: str, mesh: Any) -> None:
    inner = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    model = torch.nn.Sequential(inner, torch.nn.ReLU())
    said = "0 is a DistributedDataParallel inside Sequential, and torch captures none"
    with pytest.raises(wb.UsageError, match=said):
        wb.aot_compile(model, (torch.randn(2, 4),), target=target)


@pytest.mark.parametrize("target", ["host", "h100"])
@pytest.mark.parametrize("is_inner", [False, True])
def test_the_first_fsdp_is_refused_in_a_sentence(is_inner: bool, target: str, mesh: Any) -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel

    wrapped = FullyShardedDataParallel(torch.nn.Linear(4, 4), device_id=torch.device("cpu"))
    model = torch.nn.Sequential(wrapped) if is_inner else wrapped
    said = f"^{'0' if is_inner else 'The module'} is a FullyShardedDataParallel .FSDP1., which"
    with pytest.raises(wb.UsageError, match=said):
        wb.aot_compile(model, (torch.randn(2, 4),), target=target)


def test_hooks_around_a_module_are_in_no_graph(mesh: Any) -> None:
    from torch.distributed.fsdp import fully_shard

    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    fully_shard(model[0], mesh=mesh)
    with pytest.raises(wb.UsageError, match="0 was sharded by fully_shard, which gathers"):
        wb.aot_compile(model, (torch.ones(2, 8),), target="host")


@pytest.mark.parametrize("verb", ["compile_async", "fits"])
@pytest.mark.parametrize("kind", ["FSDP1", "FSDP2"])
def test_what_fsdp_made_is_refused_in_a_sentence_where_it_would_be_copied(
    kind: str, verb: str, mesh: Any
) -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

    inner = torch.nn.Linear(4, 4)
    if kind == "FSDP1":
        model: Any = FullyShardedDataParallel(inner, device_id=torch.device("cpu"))
    else:
        model = fully_shard(inner, mesh=mesh)
    with pytest.raises(wb.UsageError, match="in hooks"):
        getattr(wb, verb)(model, (torch.randn(2, 4),), target="h100")
