"""Several compiled sizes behind one callable: routed, padded, cut, refused, from many threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from torch._inductor.package import load_package
from torch.export import Dim

import workbench as wb
from tests.agreement import largest_difference
from workbench.compiler.package_calls.bucket_sizes import BucketedDim, Bucketing, grown
from workbench.compiler.running.several_models import Bucketed

BATCH = Dim("batch", min=1, max=64)
SHAPES = {"x": {0: BATCH}, "pairs": {0: 2 * BATCH}}


class Rows(torch.nn.Module):
    """Each row of the results comes from one row of `x` and two of `pairs`."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x, pairs):
        rows = self.linear(x) / (1 + pairs.view(-1, 2).sum(1, keepdim=True).abs())
        return {"rows": rows, "pairs": pairs * 2}


class Mean(torch.nn.Module):
    def forward(self, x):
        return x - x.mean(0)


def inputs(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(batch)
    return torch.randn(batch, 8, generator=generator), torch.randn(2 * batch, generator=generator)


@pytest.fixture(scope="module")
def rows() -> Rows:
    torch.manual_seed(0)
    return Rows().eval()


@pytest.fixture(scope="module")
def package(rows, tmp_path_factory) -> wb.Package:
    return wb.Package.bucketed(
        rows,
        inputs(4),
        path=tmp_path_factory.mktemp("bucketed") / "rows.pt2",
        dynamic_shapes=SHAPES,
        sizes={"batch": [1, 4]},
        split="batch",
        capture="light",
    )


def same(found, expected) -> bool:
    return largest_difference(found, expected) <= 1e-5


def test_one_file_holds_a_model_for_each_size(package):
    assert package.names == ("batch1", "batch4")
    assert [dict(model.bucket) for model in package.manifest.models] == [{"batch": 1}, {"batch": 4}]


@pytest.mark.parametrize("batch", [1, 2, 3, 4])
def test_a_request_runs_in_the_smallest_size_that_holds_it(package, rows, batch):
    found = package(*inputs(batch))
    assert found["rows"].shape == (batch, 4)
    assert found["pairs"].shape == (2 * batch,)
    assert same(found, rows(*inputs(batch)))


@pytest.mark.parametrize("batch", [5, 8, 11])
def test_a_larger_request_is_split_when_that_was_asked_for(package, rows, batch):
    assert same(package(*inputs(batch)), rows(*inputs(batch)))


def test_load_gives_the_same_callable_back(package, rows):
    with wb.load(package.path, num_runners=2) as loaded:
        assert same(loaded(*inputs(3)), rows(*inputs(3)))
        assert same(loaded(pairs=inputs(2)[1], x=inputs(2)[0]), rows(*inputs(2)))


def test_it_is_a_package_for_torch_too(package, rows):
    run = load_package(package.path, "batch4")
    assert same(run(*inputs(4)), rows(*inputs(4)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x, p: (x, p[:-2]), r"makes batch 2, but x dimension 0 makes it 3"),
        (
            lambda x, p: (x, p[:-1]),
            r"pairs: dimension 0 is 5, which does not match any batch of 1 or more",
        ),
        (lambda x, p: (x[:0], p[:0]), r"x: dimension 0 is 0"),
        (lambda x, p: (x.double(), p), r"x: expected dtype float32, got float64"),
        (lambda x, p: (x[:, :7].contiguous(), p), r"x: expected size 8 at dimension 1, got 7"),
        (lambda x, p: (torch.tensor(1.0), p), r"x: expected a dimension 0, got shape \[\]"),
        (lambda x, p: ([1, 2], p), r"x"),
    ],
)
def test_what_does_not_fit_is_refused(package, change, words):
    with pytest.raises(wb.ContractError, match=words):
        package(*change(*inputs(3)))


def test_a_request_beyond_every_size_is_refused_with_the_sizes(package):
    whole = {**package.manifest.bucketing, "split": None}
    manifest = replace(package.manifest, bucketing=whole)
    refusing = Bucketed(manifest, package.__getitem__, check=True)
    assert refusing._call(*inputs(4))["rows"].shape == (4, 4)
    with pytest.raises(
        wb.ContractError, match=r"batch is 5, but compiled sizes are 1, 4.*split='batch'"
    ):
        refusing._call(*inputs(5))


def test_threads_get_their_own_answers_while_weights_are_swapped(package, rows):
    other = Rows().eval()
    calls = [inputs(batch) for batch in (1, 2, 3, 4, 6, 9)]
    allowed = [(rows(*call), other(*call)) for call in calls]

    def ask(turn: int) -> bool:
        found = package(*calls[turn % len(calls)])
        return any(same(found, expected) for expected in allowed[turn % len(calls)])

    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(ask, range(600))
        for turn in range(20):
            package.update_weights((other if turn % 2 == 0 else rows).state_dict())
        assert all(answers)
    assert same(package(*inputs(2)), rows(*inputs(2)))


def test_padding_that_changes_the_results_is_refused_before_compiling(tmp_path):
    asked = {"dynamic_shapes": {"x": {0: BATCH}}, "sizes": {"batch": [4]}}
    path = tmp_path / "mean.pt2"
    with pytest.raises(wb.UsageError, match="Padding batch 1 to batch 4 changes the results"):
        wb.Package.bucketed(Mean(), (torch.randn(4, 8),), path=path, **asked)
    assert not path.exists()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"sizes": {"rows": [1]}}, "'rows', which is not a Dim"),
        ({"sizes": {"batch": []}}, "expected whole numbers, 1 or more"),
        ({"sizes": {"batch": [0, 4]}}, "expected whole numbers, 1 or more"),
        ({"sizes": {"batch": [128]}}, "outside its Dim batch in 1..64"),
        ({"pad": {"y": 0}}, "the padded inputs are x, pairs"),
        ({"pad": "last"}, "expected a number of that type or 'repeat'"),
        ({"split": "rows"}, "name one of the Dims in sizes, batch"),
    ],
)
def test_a_request_that_cannot_be_is_refused(rows, tmp_path, asked, words):
    wanted = {"dynamic_shapes": SHAPES, "sizes": {"batch": [1, 4]}, **asked}
    with pytest.raises(wb.UsageError, match=words):
        wb.Package.bucketed(rows, inputs(4), path=tmp_path / "m.pt2", **wanted)


def test_an_output_without_the_dimension_cannot_be_split(tmp_path):
    def total(x):
        return x, x.sum()

    with pytest.raises(wb.UsageError, match="No dimension of output 1 follows batch"):
        wb.Package.bucketed(
            total,
            (torch.randn(4, 8),),
            path=tmp_path / "m.pt2",
            dynamic_shapes=({0: BATCH},),
            sizes={"batch": [4]},
            split="batch",
        )


def test_what_is_filled_in_and_the_layout():
    x = torch.arange(6.0).view(2, 3)
    assert grown(x, {0: 3}, 7).tolist() == [[0, 1, 2], [3, 4, 5], [7, 7, 7]]
    assert grown(x, {0: 3, 1: 4}, "repeat").tolist() == [[0, 1, 2, 2], [3, 4, 5, 5], [3, 4, 5, 5]]
    picture = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    assert grown(picture, {0: 4}, 0).is_contiguous(memory_format=torch.channels_last)


def test_two_dimensions_make_every_combination():
    dims = (BucketedDim(0, 0, "batch"), BucketedDim(0, 1, "length"))
    bucketing = Bucketing({"batch": (1, 4), "length": (8, 16)}, dims, dims, {0: 0})
    assert len(bucketing.buckets()) == 4
    assert bucketing.fitting({"batch": 2, "length": 3}) == {"batch": 4, "length": 8}
    assert bucketing.fitting({"batch": 2, "length": 17}) is None
    assert Bucketing.from_json(bucketing.to_json()) == bucketing


SOUND = Bucketing({"b": (1,)}, (BucketedDim(0, 0, "b"),), (), {0: 0}).to_json()


@pytest.mark.parametrize(
    "damage",
    [
        {"sizes": {"b": []}},
        {"sizes": {}},
        {"sizes": {"b": ["many"]}},
        {"inputs": [{"leaf": 0}]},
        {"inputs": [{"leaf": 0, "index": 0, "name": "b", "scale": 0}]},
        {"inputs": [{"leaf": -1, "index": 0, "name": "b"}]},
        {"inputs": 3},
        {"split": "c"},
        {"pad": []},
    ],
)
def test_damaged_sizes_are_refused(damage):
    with pytest.raises(wb.ArtifactError, match="damaged"):
        Bucketing.from_json({**SOUND, **damage})
    with pytest.raises(wb.ArtifactError, match="damaged"):
        Bucketing.from_json({})


def test_sizes_that_the_package_does_not_hold_are_refused(package):
    for change in ({"sizes": {"batch": [1, 8]}}, {"outputs": [{**SOUND["inputs"][0], "leaf": 9}]}):
        data = {**package.manifest.bucketing, **change}
        for dim in data["outputs"]:
            dim["name"] = "batch"
        with pytest.raises(wb.ArtifactError, match="damaged"):
            Bucketed(replace(package.manifest, bucketing=data), package.__getitem__, check=True)


class Words(torch.nn.Module):
    """Every word for itself; words with the number 0 are padding."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(16, 4)

    def forward(self, ids, scale):
        mask = (ids != 0).unsqueeze(-1)
        found = self.words(ids) * mask * scale
        return found, found.sum(1)


@pytest.mark.slow
def test_two_dimensions_and_weights_beside(tmp_path):
    model = Words().eval()
    length = Dim("length", min=1, max=8)
    args = (torch.randint(1, 16, (2, 4)), torch.randn(4))
    package = wb.Package.bucketed(
        model,
        args,
        path=tmp_path / "words.pt2",
        dynamic_shapes={"ids": {0: BATCH, 1: length}, "scale": None},
        sizes={"batch": [2], "length": [4, 8]},
        pad={"ids": 0},
        weights="beside",
        capture="light",
    )
    assert package.names == ("batch2_length4", "batch2_length8")
    for batch, words in ((1, 1), (2, 4), (1, 5), (2, 8)):
        ids = torch.randint(1, 16, (batch, words))
        each, total = package(ids, args[1])
        assert (each.shape, total.shape) == ((batch, words, 4), (batch, 4))
        torch.testing.assert_close((each, total), model(ids, args[1]))
    with pytest.raises(wb.ContractError, match=r"batch is 3.*; length is 9.*package a larger size"):
        package(torch.ones(3, 9, dtype=torch.int64), args[1])
    with pytest.raises(wb.ContractError, match=r"scale: expected size 4 at dimension 0, got 5"):
        package(torch.ones(1, 3, dtype=torch.int64), torch.randn(5))
