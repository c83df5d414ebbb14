"""Every rank of a right program is found right, and of a wrong one what is wrong is named."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.tensor import Partial, Replicate

import workbench as wb
from tests.worlds.clusters import parallel_models
from tests.worlds.clusters.running import ranked_programs as programs
from tests.worlds.clusters.running.ranked_programs import ONE, TWO, Build

EAGER = "aot_eager"


def verified(
    build: Build,
    sizes: Mapping[str, int] = ONE,
    *,
    backend: Any = EAGER,
    args: Any = None,
    rank: int = 0,
    grad: bool | None = None,
    **more: Any,
) -> Any:
    args = (programs.inputs(),) if args is None else args
    with wb.virtual_cluster(sizes, rank) as mesh:
        made = build(mesh)
        model, own = made if isinstance(made, tuple) else (made, args)
        compiled = wb.aot_compile(model, own, backend=backend, grad=grad)
    found = wb.verify(compiled, args, ranks=math.prod(sizes.values()), build=build, **more)
    assert not dist.is_initialized()
    return found


@pytest.mark.parametrize(
    ("build", "sizes", "loss", "sent"),
    [
        (programs.tensor_parallel, ONE, "mean", 7),
        (programs.sequence_parallel, ONE, "sum", 8),
        (programs.fully_sharded, ONE, "mean", 18),
        (programs.both, TWO, "mean", 25),
    ],
)
def test_a_block_is_right_on_every_rank_forward_and_backward(
    build: Build, sizes: Mapping[str, int], loss: str, sent: int
) -> None:
    found = verified(build, sizes, reference=programs.block(), loss=loss)
    assert found.ok, found.sentence
    assert [row.rank for row in found.ranks] == [0, 1, 2, 3]
    assert {row.collectives for row in found.ranks} == {sent}
    assert all(row.deviation == 0 for row in found.ranks)  # the same operators, in the same order
    assert all(0 < row.from_reference < 1e-4 for row in found.ranks)
    leaves = {row.leaf for row in found.rows}
    assert "rank 3: output against Block" in leaves
    assert {
        f"rank 3: gradient of {name} against Block"
        for name, _ in programs.block().named_parameters()
    } <= leaves
    assert any(
        "of all ranks have the same operators, sizes and dtypes" in note for note in found.notes
    )


def test_experts_are_each_their_own() -> None:
    found = verified(programs.experts, args=())
    assert found.ok
    assert found.sentence.startswith("ok, 8 of 8 leaves checked on 4 ranks against Experts")
    assert all(math.isnan(row.from_reference) for row in found.ranks)
    assert any("Nothing was compared with an unsharded model" in note for note in found.notes)


def test_the_graphs_that_inductor_is_given_are_run() -> None:
    build = programs.by_hand(programs.added)
    with wb.virtual_cluster(TWO, rank=3) as mesh:
        x = torch.empty(4, 8, 32)
        compiled = wb.aot_compile(build(mesh), (x,), target="h100", grad=False)
    found = wb.verify(
        compiled, (programs.inputs(),), ranks=4, build=build, reference=programs.two()
    )
    assert found.ok
    assert "Each rank ran its own captured graphs" in found.notes[0]
    assert "generated kernels did not" in found.notes[0]
    assert [row.place for row in found.ranks][1:3] == ["dp 0, tp 1", "dp 1, tp 0"]


def test_ranks_may_have_graphs_of_their_own() -> None:
    def build(mesh: Any) -> Any:
        module = parallel_models.shard_parameters(programs.two(hidden=30), mesh)
        return module, (programs.inputs().chunk(4)[mesh.get_local_rank("tp")],)

    found = verified(build, reference=programs.two(hidden=30))
    assert found.ok, found.sentence  # of 30 rows the last rank has 6, the others 8
    assert "The graphs of rank 3 differ from those of rank 0." in found.notes


@pytest.mark.parametrize(
    ("reduce", "sizes", "words"),
    [
        (programs.averaged, ONE, r"Reducing with 'sum' in collective 1: all_reduce\(avg\) over tp"),
        (programs.of_other_ranks, TWO, "The group tp in collective 1: .* over dp"),
        (programs.twice, TWO, "Leaving out collective 2: .* over dp .*ranked_programs.py"),
        (programs.left_out, ONE, "The sum of output over tp is right"),
    ],
)
def test_a_wrong_collective_is_named(reduce: Any, sizes: Any, words: str) -> None:
    build = programs.by_hand(reduce)
    found = verified(build, sizes, reference=programs.two(), grad=False)
    assert found.verdict == "failed"
    assert "differs in output against Two on every rank" in found.sentence
    assert re.search(words, found.cause), found.cause
    assert all(row.deviation == 0 for row in found.ranks)  # the compiler is not at fault


@pytest.mark.parametrize(
    ("reduce", "words"),
    [
        (programs.left_out_on_one, "ranks 0, 1 and 2 wait in all_reduce(sum) over tp"),
        (programs.otherwise_on_one, "rank 3 all_reduce(max) over tp"),
    ],
)
def test_a_rank_that_would_hang_the_others_is_named(reduce: Any, words: str) -> None:
    found = verified(programs.by_hand(reduce), reference=programs.two(), grad=False)
    assert [row.leaf for row in found.rows] == ["rank 3: collectives"]
    assert found.verdict == "failed"
    assert "The eager program" in found.cause
    assert words in found.cause


def test_other_values_than_those_of_the_reference_are_named() -> None:
    def build(mesh: Any) -> Any:
        torch.manual_seed(7)
        return programs.Two()

    found = verified(build, reference=programs.two(), grad=False)
    assert found.verdict == "failed"
    assert "and Two start from different values of up.weight, down.weight. Call" in found.cause


def test_ranks_may_hold_parts_of_other_sizes() -> None:
    def build(mesh: Any) -> Any:
        def halved(x: torch.Tensor) -> torch.Tensor:
            return (x[:2] if dist.get_rank() < 2 else x) * 1.0

        return halved

    found = verified(build, TWO, reference=lambda x: x * 1.0, grad=False)
    assert found.ok, found.sentence


def test_an_average_of_integers_is_not_tried() -> None:
    def build(mesh: Any) -> Any:
        return lambda x: programs.added((x > 0).long(), mesh)

    found = verified(build, reference=lambda x: (x > 0).long() * 3, grad=False)
    assert "between collectives is wrong. Tried: 1 of 1 changes" in found.cause


def test_the_one_rank_that_is_off_is_named() -> None:
    found = verified(programs.by_hand(programs.off_on_one), reference=programs.two(), grad=False)
    assert "differs in output against Two on rank 2," in found.sentence
    assert [row.verdict for row in found.ranks] == ["passed", "passed", "failed", "passed"]


def test_gradients_that_are_added_where_they_are_averaged() -> None:
    class Added(parallel_models._Gathered):
        def forward(self, shard: Any) -> Any:
            whole = shard.redistribute(placements=[Replicate()])
            return whole.to_local(grad_placements=[Partial("sum")])

    def build(mesh: Any) -> Any:
        module = programs.two()
        for part, name in ((module.up, "weight"), (module.down, "weight")):
            parallel_models.shard_parameters(part, mesh)
            getattr(part.parametrizations, name)[0].__class__ = Added
        return module, (programs.inputs().chunk(4)[mesh.get_local_rank("tp")],)

    found = verified(build, reference=programs.two())
    assert found.verdict == "failed"
    assert "differs in gradient of up.weight against Two, gradient of down" in found.sentence
    assert "are 4 times the right value, and tp has 4 ranks" in found.cause
    assert "pass loss='sum'" in found.cause
    assert verified(build, reference=programs.two(), loss="sum").ok


def without_collectives(gm: Any, inputs: Any) -> Any:
    """A compiler with a fault."""
    for node in list(gm.graph.nodes):
        if "all_reduce" in str(node.target):
            node.replace_all_uses_with(node.args[0])
            gm.graph.erase_node(node)
    gm.recompile()
    return torch._dynamo.lookup_backend("aot_eager")(gm, inputs)


def test_a_compiler_that_drops_a_collective_is_found() -> None:
    build = programs.by_hand(programs.added)
    found = verified(build, backend=without_collectives, grad=False)
    assert found.verdict == "failed"
    assert "differs in output on every rank" in found.sentence
    assert found.cause.startswith(
        "The captured graph of rank 0 lacks all_reduce(sum) over tp of float32 [4, 8, 32]"
    )


def off_by_a_percent(gm: Any, inputs: Any) -> Any:
    """A compiler with another fault."""
    output = gm.graph.output_node()
    with gm.graph.inserting_before(output):
        output.args = ((gm.graph.call_function(torch.mul, (output.args[0][0], 1.01)),),)
    gm.recompile()
    return torch._dynamo.lookup_backend("aot_eager")(gm, inputs)


def test_a_difference_is_not_settled_by_another_model() -> None:
    seeds = iter(range(100))

    def build(mesh: Any) -> Any:
        torch.manual_seed(next(seeds))
        return torch.nn.Linear(32, 32)

    found = verified(build, backend=off_by_a_percent, grad=False)
    assert found.verdict == "failed"
    assert (
        "calling build again returns different values or the same model"
        in found.frame("ranks").reason[0]
    )


def test_ranks_do_not_share_a_model() -> None:
    class Counted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x * self.calls

    for shared, name in (
        (Counted(), "Counted"),
        (torch.nn.Linear(32, 32), r"(weight|bias|Linear)"),
    ):
        words = (
            f"build returned the same model, or the same {name}, for rank 1, .*Create a new model"
        )
        with pytest.raises(wb.UsageError, match=words):
            verified(lambda mesh, shared=shared: shared, backend=off_by_a_percent, grad=False)
        assert all(one.dtype == torch.float32 for one in shared.state_dict().values())


def test_random_numbers_are_not_checked_and_say_so() -> None:
    def build(mesh: Any) -> Any:
        def dropped(x: torch.Tensor) -> torch.Tensor:
            return programs.added(torch.nn.functional.dropout(x, 0.5), mesh)

        return dropped

    with pytest.raises(wb.UsageError, match="reference dropout draws random numbers"):
        verified(build, reference=torch.nn.functional.dropout, grad=False)
    found = verified(build, grad=False)
    assert found.verdict in ("passed", "not checked")


@pytest.mark.parametrize("where", ["model", "input"])
def test_what_is_on_meta_has_no_numbers(where: str) -> None:
    def build(mesh: Any) -> Any:
        with torch.device("meta"):
            module = programs.two() if where == "model" else torch.nn.ReLU()
            return module, (torch.empty(4, 8, 32),)

    found = verified(build, args=(), backend="eager")
    assert found.verdict == "not checked"
    assert "is on meta and has no values. Build a small model on the CPU" in found.sentence


def test_another_program_than_the_compiled_is_refused() -> None:
    with wb.virtual_cluster(ONE) as mesh:
        compiled = wb.aot_compile(
            programs.by_hand(programs.added)(mesh), (programs.inputs(),), backend=EAGER, grad=False
        )
    other = programs.by_hand(programs.left_out)
    with pytest.raises(
        wb.UsageError, match="build creates a program that differs from the compiled"
    ):
        wb.verify(compiled, (programs.inputs(),), ranks=4, build=other)
    wide = programs.inputs().double()
    with pytest.raises(wb.UsageError, match=r"double|different program"):
        wb.verify(compiled, (wide,), ranks=4, build=programs.by_hand(programs.added))


def raises(mesh: Any) -> Any:
    if mesh.get_local_rank() == 2:
        raise KeyError("weight")
    return torch.relu


def number(mesh: Any) -> Any:
    return 7


def relu_and_inputs(mesh: Any) -> Any:
    return torch.nn.ReLU(), (torch.ones(2),)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (raises, "cannot run on rank 2 .*KeyError: 'weight'.*rank=2"),
        (number, "On rank 0: build.mesh. returned int: return the model or function"),
        (relu_and_inputs, "On rank 0: Both build and the verify call pass inputs"),
    ],
)
def test_a_build_that_is_none_is_said(build: Callable[..., Any], words: str) -> None:
    with wb.virtual_cluster(ONE):
        compiled = wb.aot_compile(torch.nn.ReLU(), (torch.ones(2),), backend=EAGER)
        with pytest.raises(wb.UsageError, match=words):
            wb.verify(compiled, (torch.ones(2),), ranks=4, build=build)
        assert dist.get_world_size() == 4  # the cluster around it is there still
