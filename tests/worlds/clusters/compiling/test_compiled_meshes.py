"""One program on several meshes: compiled once where it is the same, extended, refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional

import workbench as wb
from tests.worlds.clusters.parallel_models import Block, shard_parameters, split_columns_and_rows
from workbench.analysis.collectives.streams import find_streams


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert not dist.is_initialized()


def build_tensor_parallel(mesh: Any) -> Any:
    with torch.device("meta"):
        block = split_columns_and_rows(Block(64, 64), mesh["tp"])
        return block, (torch.empty(2, 4, 64),)


def test_a_program_of_two_meshes_is_compiled_once_and_its_groups_are_those_of_each() -> None:
    meshes = [{"dp": 2, "tp": 4}, {"dp": 512, "tp": 4}, {"tp": 2}]
    found = wb.scaling(build_tensor_parallel, meshes, grad=False, gpus_per_node=2)
    assert found.same_code == ((0, 1), (2,))
    assert found.compilations == 2 + 1 + 2  # each batch, but of the second only what it is
    first, second, third = found.rows
    assert [row.mesh for row in found.rows] == ["dp 2 × tp 4", "dp 512 × tp 4", "tp 2"]
    assert (first.gpus, first.nodes, second.gpus, second.nodes) == (8, 4, 2048, 1024)
    assert (first.step_us, first.exposed_us) == (second.step_us, second.exposed_us)
    assert (first.peak_bytes, first.largest_batch) == (second.peak_bytes, second.largest_batch)
    assert (first.parameter_bytes or 0) < (third.parameter_bytes or 0)
    report = found.reports[2]
    assert report is not None
    streams = find_streams(report)
    assert streams is not None
    assert (third.step_us, third.exposed_us) == (streams.whole_us, streams.exposed_us)
    assert third.peak_bytes == wb.memory(report).peak  # no backward: nothing of an optimizer
    assert third.reserved_bytes == wb.memory(report).peaks[-1].reserved_bytes
    assert "; torch's allocator reserves up to" in " ".join(found.sentences)
    assert third.batch == 2
    assert first.error is None  # messages of 2 kB: times were held against those of 64 KiB on
    assert first.exposed_us is not None
    assert (first.exposed_least_us, first.exposed_most_us) == (
        0.0,
        pytest.approx(2 * first.exposed_us),
    )
    assert "2 different programs" in " ".join(found.sentences)


class Layer(torch.nn.Module):
    """A layer around what is sharded: that changes its class."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.inner(x))


class Deep(torch.nn.Module):
    """Equal layers behind one another, and a loss."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x.sum()


def build_deep(mesh: Any) -> Any:
    with torch.device("meta"):
        return shard_parameters(Deep(6), mesh), (torch.empty(32, 64),)


def test_two_depths_are_extended_to_what_the_whole_takes_and_holds() -> None:
    meshes = [{"dp": 8}]
    whole = wb.scaling(build_deep, meshes, largest_batch=False)
    lined = wb.scaling(build_deep, meshes, layers=(3, 5))
    (told,), (row,) = whole.rows, lined.rows
    assert (row.parameter_bytes, lined.compilations) == (6 * (64 * 64 + 64) * 4 // 8, 4)
    assert row.parameter_bytes == told.parameter_bytes
    assert row.step_us == pytest.approx(told.step_us, rel=1e-3)
    assert row.exposed_us == pytest.approx(told.exposed_us, rel=1e-3)
    assert (row.peak_bytes, row.why) == (told.peak_bytes, "")
    kept = whole.reports[0]
    assert kept is not None
    state = 2 * (told.parameter_bytes or 0)
    assert told.reserved_bytes == (wb.memory(kept).peaks[-1].reserved_bytes or 0) + state
    assert row.reserved_bytes == pytest.approx(told.reserved_bytes, abs=2 << 20)  # a segment
    assert (told.largest_batch, row.batch) == (None, 32)
    assert (row.largest_batch or 0) > 32
    assert "from 3 and 5 layers to 6" in " ".join(lined.sentences)
    without = wb.scaling(build_deep, meshes, layers=(1, 2), largest_batch=False)
    assert len(without.plot().axes) == 2  # times alone: no memory is told
    bent = without.rows[0]
    assert (bent.peak_bytes, bent.reserved_bytes) == (None, None)
    assert (bent.peak_bytes, bent.step_us) == (None, pytest.approx(told.step_us, rel=1e-3))
    assert "the two depths have different temporaries" in bent.why
    checked = wb.scaling(build_deep, meshes, layers=(1, 2, 4), largest_batch=False).rows[0]
    assert checked.peak_bytes == pytest.approx(told.peak_bytes, rel=0.05)
    assert "memory extrapolated from 2 and 4 layers has an error of" in checked.why
    # weights and what Adam keeps of them, at least
    assert (row.peak_bytes or 0) > 3 * (row.parameter_bytes or 0)
    bare = wb.scaling(build_deep, meshes, optimizer=None, largest_batch=False).rows[0]
    assert (told.peak_bytes or 0) - (bare.peak_bytes or 0) == 2 * (told.parameter_bytes or 0)


def test_a_model_that_build_returns_again_has_all_its_layers_each_time() -> None:
    with torch.device("meta"):
        model = Deep(6)
    names = [name for name, _ in model.named_modules()]
    inputs = (torch.empty(32, 64, device="meta"),)
    found = wb.scaling(
        lambda _: (model, inputs), [{"dp": 8}, {"dp": 16}], layers=(1, 2), largest_batch=False
    )
    assert [row.parameter_bytes for row in found.rows] == 2 * [6 * (64 * 64 + 64) * 4]
    assert [name for name, _ in model.named_modules()] == names


def build_late(mesh: Any) -> Any:
    if mesh.size() == 4:
        raise ValueError("no data for this one")

    def summed(x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = functional.all_reduce(x * 2, "sum", mesh)
        return y

    return summed, (torch.empty(1024, 1024, device="meta"),)


def test_the_error_of_a_step_is_the_largest_and_that_of_what_is_exposed_its_own() -> None:
    found = wb.scaling(build_late, [{"dp": 8}], largest_batch=False)
    (row,), (report,) = found.rows, found.reports
    assert report is not None
    errors = [kernel.error for kernel in wb.forecast(report).rows if kernel.error is not None]
    assert row.error == max(*errors, 0.15)  # of collectives on one node
    assert row.exposed_us is not None
    assert (row.exposed_least_us, row.exposed_most_us) == (
        pytest.approx(0.85 * row.exposed_us),  # nothing hides it
        pytest.approx(1.15 * row.exposed_us),
    )
    assert "took 0.9 to 1.56 times the modelled time" in str(found.sentences)
    assert "a held-out run 1.64 times" in str(found.sentences)
    (mesh,) = found.meshes
    twice = replace(found, meshes=(mesh, replace(mesh, row=replace(row, mesh="dp 16"))))
    assert " on dp 8 and on dp 16, " in twice.sentences[0]


def build_hidden(mesh: Any) -> Any:
    def summed(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        sent = functional.all_reduce(x, "sum", mesh)
        y = torch.cos(w @ w)
        return y, sent + 1

    return summed, (torch.empty(4096, 4096, device="meta"), torch.empty(2048, 2048, device="meta"))


def test_kernels_that_are_hidden_do_not_make_the_error_of_a_step_smaller() -> None:
    found = wb.scaling(build_hidden, [{"dp": 8}], largest_batch=False)
    (row,), (report,) = found.rows, found.reports
    assert report is not None
    told = wb.forecast(report)
    assert row.error == max(*(kernel.error or 0.0 for kernel in told.rows), 0.15)
    assert told.error is not None
    assert row.error > max(told.error, 0.15)


def build_of_its_size(mesh: Any) -> Any:
    with torch.device("meta"):
        count = 3 if mesh.size() == 16 else 6
        return shard_parameters(Deep(count), mesh), (torch.empty(32, 64),)


def test_what_was_extended_is_said_of_the_meshes_of_which_it_was() -> None:
    found = wb.scaling(
        build_of_its_size, [{"dp": 16}, {"dp": 8}], layers=(3, 5), largest_batch=False
    )
    words = " ".join(found.sentences)
    assert "extrapolated linearly from 3 and 5 layers to 6 on dp 8, assuming" in words


class Unused(torch.nn.Module):
    """A parameter that no program has."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(4))
        self.kept = torch.nn.Parameter(torch.empty(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x.sum()


def build_unused(mesh: Any) -> Any:
    with torch.device("meta"):
        return Unused(100 * mesh.size()), (torch.empty(32, 64),)


def test_programs_of_other_shards_are_compiled_though_they_are_the_same() -> None:
    found = wb.scaling(build_unused, [{"dp": 2}, {"dp": 4}], layers=(1, 2), largest_batch=False)
    layers = 4 * (64 * 64 + 64) * 4
    assert [row.parameter_bytes for row in found.rows] == [layers + 800, layers + 1600]


def build_refused(mesh: Any) -> Any:
    return None if mesh.size() == 4 else build_late(mesh)


def test_a_sentence_has_the_first_line_of_an_error_and_one_full_stop() -> None:
    found = wb.scaling(build_refused, [{"dp": 4}, {"dp": 8}], largest_batch=False)
    words = next(words for words in found.sentences if words.startswith("dp 4"))
    assert words.endswith("of its example inputs, as in `return model, (x,)`.")


def test_a_mesh_that_fails_has_a_row_and_the_others_stand() -> None:
    found = wb.scaling(build_late, [{"dp": 4}, {"dp": 64}])
    failed, done = found.rows
    assert "build raised ValueError: no data for this one" in failed.why
    assert (failed.gpus, failed.step_us, failed.program) == (4, None, None)
    assert (done.gpus, done.program) == (64, 0)
    assert done.exposed_us is not None
    assert done.why.startswith("no largest batch: only batch-first plain tensor inputs")
    assert done.error is None  # 8 nodes: the links were held against times of at most 4
    words = " ".join(found.sentences)
    assert "The error of the step time is unknown on dp 64" in words
    assert "dp 4: not compiled: build raised" in words
    assert "dp 64" in found.to_html()
    assert list(found.frame().mesh) == ["dp 4", "dp 64"]
    assert "dp 4" in repr(found)
    assert len(found.plot().axes) == 2
    with pytest.raises(wb.UsageError, match=r"No mesh was compiled\. On dp 4: build raised"):
        wb.scaling(build_late, [{"dp": 4}])


@pytest.mark.parametrize(
    ("meshes", "more", "words"),
    [
        ([], {}, "meshes is empty: give at least one"),
        (
            [{"dp": 8192}],
            {},
            "The mesh dp 8192 has 8192 GPUs: give at most",
        ),
        ([{"dp": 8}, {"dp": 8}], {}, "meshes has dp 8 twice"),
        ([{}], {}, "give each dimension a name"),
        ([{"dp": 8}], {"target": "host"}, "target is 'host': give a GPU from"),
        ([{"dp": 8}], {"target": "t4"}, "the link rates of t4 are not known"),
        ([{"dp": 8}], {"target": "mi300x"}, "only NCCL is modelled"),
        ([{"dp": 8}], {"layers": (2,)}, r"layers is \(2,\): give at least two depths"),
        ([{"dp": 8}], {"layers": (1, 2)}, "summed has no list of identical layers"),
        ([{"dp": 8}], {"optimizer": "adamww"}, "optimizer='adamww' is unknown"),
    ],
)
def test_what_nothing_can_be_told_of_is_refused(meshes: Any, more: Any, words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        wb.scaling(build_late, meshes, **more)


@pytest.mark.slow
def test_a_model_that_fully_shard_took_apart_has_times_and_memory() -> None:
    from tests.worlds.clusters.hooks.test_sharded_module import Loss, Model, shard

    def build(mesh: Any) -> Any:
        with torch.device("meta"):
            return Loss(shard(mesh, Model(64))), (torch.empty(2, 16, dtype=torch.long),)

    found = wb.scaling(build, [{"dp": 2}, {"dp": 8}], largest_batch=False)
    for row, report in zip(found.rows, found.reports, strict=True):
        assert row.step_us is not None
        assert row.exposed_us == pytest.approx(
            sum(each.exposed_us or 0.0 for each in report.collectives)
        )
        assert row.peak_bytes is not None
        assert row.peak_bytes > 3 * row.parameter_bytes  # with AdamW's moments
        assert row.why == ""
    first, second = found.rows
    assert first.kernels_us == pytest.approx(second.kernels_us)
    assert first.parameter_bytes > second.parameter_bytes
