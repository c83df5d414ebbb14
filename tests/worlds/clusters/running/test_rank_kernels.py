"""Kernels of every rank, run by Triton's interpreter between collectives that send."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import nan
from typing import Any

import pytest
import torch
from torch.distributed import _functional_collectives as functional

import workbench as wb
from tests.worlds.clusters.running import ranked_programs as programs
from workbench.handles.running.verify import verify_ranks
from workbench.worlds.clusters.running.rank_checks import RankVerification
from workbench.worlds.clusters.running.rank_kernels import RankKernel, find_first_wrong

Edit = Callable[[int], Callable[[str, str], str]]


class Product(torch.nn.Module):
    """A product split over its columns and rows, with a kernel before the sum and one after it."""

    def __init__(self, mesh: Any) -> None:
        super().__init__()
        weight = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
        rank, size = mesh.get_local_rank(), mesh.size()
        self.weight = torch.nn.Parameter(weight.chunk(size)[rank].clone())
        self.mesh, self.size, self.place = mesh, 8 // size, rank

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        own = x[:, self.size * self.place : self.size * (self.place + 1)]
        whole = functional.all_reduce(torch.sin(own) @ self.weight, "sum", (self.mesh, 0))
        return torch.cos(whole) + 1


def small(mesh: Any) -> Any:
    return Product(mesh)


def compiled(build: Callable[[Any], Any], sizes: dict[str, int], **options: Any) -> Any:
    with wb.virtual_cluster(sizes) as mesh:
        made = build(mesh)
        model, args = made if isinstance(made, tuple) else (made, (torch.randn(4, 8),))
        return wb.aot_compile(model, args, target="h100", **options)


@pytest.fixture(scope="module")
def product() -> Any:
    return compiled(small, {"tp": 2}, grad=False)


def verified(product: Any, edit: Edit) -> RankVerification:
    return verify_ranks(
        product,
        (torch.randn(4, 8, generator=torch.Generator().manual_seed(1)),),
        {},
        ranks=2,
        build=small,
        per_kernel=True,
        edit=edit,
    )


def unchanged(name: str, source: str) -> str:
    return source


def add_to_stores(source: str, number: int) -> str:
    return re.sub(r"(tl\.store\(.*, )(tmp\d+)", rf"\1\2 + {number}", source)


def test_a_right_program_has_every_value_of_every_kernel_checked(product: Any) -> None:
    found = wb.verify(product, (torch.randn(4, 8),), ranks=2, build=small, per_kernel=True)
    assert found.ok, found.sentence
    table = found.frame("kernels")
    assert set(table.verdict) == {"passed"}
    assert [rank for rank, _ in table.groupby("rank")] == [0, 1]
    own = table[table["rank"] == 1]
    assert list(own.kernel.str.replace(r"triton_\w+", "triton", regex=True)) == [
        "triton",
        "extern_kernels.mm",
        "torch.ops._c10d_functional.all_reduce_.default",
        "torch.ops._c10d_functional.wait_tensor.default",
        "triton",
    ]
    assert list(own.sent) == [0, 0, 1, 1, 1]
    assert own.iloc[1].line.startswith("test_rank_kernels.py:")
    assert own.iloc[4].after.startswith("all_reduce(sum) over tp of float32 [4, 8] (test_rank")
    # the kernel before the sum has other bytes on each rank, that after it the same
    assert any("3 of 4 Triton launches on all ranks ran" in n for n in found.notes)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("number", [0, 1])
def test_a_kernel_that_is_wrong_on_one_rank_is_named(product: Any, rank: int, number: int) -> None:
    """The sum brings what rank 1 gives to rank 0, where then much is wrong as well."""
    wrong = [kernel.name for kernel in product.report.kernels if kernel.language == "triton"]

    def edit(of: int) -> Callable[[str, str], str]:
        if of != rank:
            return unchanged
        return lambda name, src: add_to_stores(src, 2) if name == wrong[number] else src

    found = verified(product, edit)
    assert found.verdict == "failed"
    first = found.first_wrong
    assert first is not None
    assert (first.rank, first.kernel, first.sent) == (rank, wrong[number], number)
    assert first.after.startswith("all_reduce(sum) over tp" if number else "")
    assert f"differs in kernel {wrong[number]} on rank {rank} (test_rank_kernels.py:" in str(found)


def test_a_kernel_offset_by_the_rank_is_right_on_rank_0(product: Any) -> None:
    found = verified(product, lambda rank: lambda name, source: add_to_stores(source, rank))
    assert found.first_wrong is not None
    assert (found.first_wrong.rank, found.first_wrong.sent) == (1, 0)


def test_a_wrong_library_call_before_a_collective_is_named(product: Any) -> None:
    def edit(rank: int) -> Callable[[str, str], str]:
        return lambda name, source: (
            re.sub(r"extern_kernels\.mm\((\w+),", r"extern_kernels.mm(\1 * 2,", source)
            if rank == 1
            else source
        )

    first = verified(product, edit).first_wrong
    assert first is not None
    assert (first.rank, first.kernel, first.sent) == (1, "extern_kernels.mm", 0)


def test_a_wrong_reduction_is_named_as_no_kernel_before_it_is_wrong(product: Any) -> None:
    found = verified(product, lambda rank: lambda name, source: source.replace("'sum'", "'avg'"))
    assert found.first_wrong is not None
    assert found.first_wrong.kernel == "torch.ops._c10d_functional.all_reduce_.default"
    assert "on rank 0 (test_rank_kernels.py:" in found.sentence


def test_programs_of_ranks_that_reduce_otherwise_disagree(product: Any) -> None:
    def edit(rank: int) -> Callable[[str, str], str]:
        return lambda name, source: source.replace("'sum'", "'avg'") if rank == 1 else source

    found = verified(product, edit)
    assert found.verdict == "failed"
    assert "The generated programs: The ranks start different collectives" in found.sentence


def test_a_kernel_that_cannot_be_run_to_its_end_is_named_with_its_rank(product: Any) -> None:
    def edit(rank: int) -> Callable[[str, str], str]:
        return lambda name, source: source.replace("tl.load", "tl.loaded") if rank else source

    found = verified(product, edit)
    assert found.verdict == "failed"
    assert found.first_wrong is not None
    assert found.first_wrong.rank == 1
    assert found.first_wrong.kernel.startswith("triton_")


def test_a_wrong_rank_before_a_collective_is_the_cause_of_later_ones() -> None:
    def row(rank: int, kernel: str, sent: int, verdict: Any = "failed") -> RankKernel:
        return RankKernel(kernel, verdict=verdict, rank=rank, sent=sent, max_abs_error=nan)

    wait = "torch.ops._c10d_functional.wait_tensor.default"
    rows = [row(0, "a", 0, "passed"), row(0, wait, 1), row(0, "b", 1), row(1, "a", 0)]
    assert find_first_wrong(rows) == rows[3]
    assert find_first_wrong(rows[:3]) == rows[1]
    assert find_first_wrong([*rows[:2], row(1, wait, 2), row(1, "b", 2)]) == rows[1]
    assert find_first_wrong(rows[:1]) is None


class Rounded(Product):
    """The same in bfloat16, whose kernels round once where the model rounds after each step."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        own = x[:, self.size * self.place : self.size * (self.place + 1)].bfloat16()
        part = torch.softmax(own @ self.weight.bfloat16(), -1)
        whole = functional.all_reduce(part, "sum", (self.mesh, 0))
        return torch.nn.functional.layer_norm(whole, (8,))


def test_roundings_of_a_half_precision_are_no_finding() -> None:
    """Forward and backward, where a sum of gradients is made in place of one that it copies."""
    made = compiled(Rounded, {"tp": 2})
    found = wb.verify(made, (torch.randn(4, 8),), ranks=2, build=Rounded, per_kernel=True)
    assert found.ok, found.sentence
    assert {row.verdict for row in found.kernels} == {"passed"}
    assert {row.graph for row in found.kernels} == {"forward", "backward"}


class Signs(Product):
    """Whole numbers that the last digit of a sum decides."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x).gt(1.0)


def test_whole_numbers_that_roundings_may_decide_are_not_judged() -> None:
    made = compiled(Signs, {"tp": 2}, grad=False)
    ways: dict[str, Any] = {"ranks": 2, "build": Signs, "per_kernel": True}
    x = torch.randn(4, 8)
    assert verify_ranks(made, (x,), {}, **ways).ok
    found = verify_ranks(
        made,
        (x,),
        {},
        **ways,
        edit=lambda rank: lambda name, src: src.replace(" > ", " < ") if rank else src,
    )
    assert found.verdict == "not checked"
    assert "output on rank 1: integers differ; with several ranks" in found.sentence


def test_what_is_compiled_for_the_host_has_no_interpreter() -> None:
    with wb.virtual_cluster({"tp": 2}) as mesh:
        host = wb.aot_compile(small(mesh), (torch.randn(4, 8),), grad=False, backend="aot_eager")
    with pytest.raises(
        wb.UsageError, match="per_kernel=True is for programs compiled for a virtual GPU"
    ):
        wb.verify(host, (torch.randn(4, 8),), ranks=2, build=small, per_kernel=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "loss"),
    [("tensor_parallel", "mean"), ("fully_sharded", "mean"), ("sequence_parallel", "sum")],
)
def test_ways_to_be_parallel_have_no_finding(name: str, loss: str) -> None:
    build = getattr(programs, name)
    made = compiled(lambda mesh: _with_inputs(build(mesh)), programs.ONE)
    found = wb.verify(
        made,
        (programs.inputs(),),
        ranks=4,
        build=build,
        reference=programs.block(),
        loss=loss,
        per_kernel=True,
    )
    assert found.ok, found.sentence
    assert {row.graph for row in found.kernels} == {"forward", "backward"}


@pytest.mark.slow
def test_a_mesh_of_two_dimensions_and_a_fault_in_its_backward() -> None:
    made = compiled(programs.both, programs.TWO)

    def edit(rank: int) -> Callable[[str, str], str]:
        wrong = [k.name for k in made.report.kernels if k.is_backward and k.language == "triton"]
        return lambda name, src: add_to_stores(src, 1) if (rank, name) == (2, wrong[0]) else src

    ways: dict[str, Any] = {"ranks": 4, "build": programs.both, "per_kernel": True}
    assert verify_ranks(made, (), {}, **ways).ok
    first = verify_ranks(made, (), {}, **ways, edit=edit).first_wrong
    assert first is not None
    assert (first.rank, first.graph) == (2, "backward")


def _with_inputs(made: Any) -> Any:
    return made if isinstance(made, tuple) else (made, (programs.inputs(),))
