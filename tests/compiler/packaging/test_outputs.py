"""Data classes among the outputs come back as what they are."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.utils._pytree as pytree
from torch.export import Dim

import workbench as wb
from tests.compiler.packaging import samples
from workbench.compiler.packaging.outputs import register_node_keys


@dataclass
class Inner:
    total: torch.Tensor


@dataclass(frozen=True)
class Scores:
    logits: torch.Tensor
    rest: list[Inner]
    cache: torch.Tensor | None = None


class Scoring(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> Any:
        return Scores(self.linear(x), [Inner(x.sum())]), {"again": Inner(x + 1)}


X = torch.linspace(-1.0, 1.0, 24).reshape(3, 8)  # importing this module draws no number


@pytest.mark.slow
def test_nested_data_classes_that_nobody_registered(tmp_path: Path) -> None:
    model = Scoring().eval()
    sizes = {"x": {0: Dim("rows", max=9)}}
    package = wb.package(model, (X,), path=tmp_path / "p.pt2", dynamic_shapes=sizes)
    scores, more = package(X)
    expected = model(X)[0]
    assert isinstance(scores, Scores)
    torch.testing.assert_close(scores.logits, expected.logits)
    assert scores.cache is None
    torch.testing.assert_close(scores.rest[0].total, X.sum())
    assert isinstance(more["again"], Inner)
    assert package.notes == ()
    assert package(torch.randn(1, 8))[0].logits.shape == (1, 4)
    assert wb.roundtrip(package, (X,), ways=("eager", "ours")).ok
    assert isinstance(model(X)[0], Scores)  # the module is what it was


@pytest.mark.slow
def test_in_several_sizes(tmp_path: Path) -> None:
    class Rows(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Inner:
            return Inner(x * 2)

    package = wb.Package.bucketed(
        Rows().eval(),
        (X,),
        path=tmp_path / "p.pt2",
        dynamic_shapes={"x": {0: Dim("rows", min=1, max=4)}},
        sizes={"rows": [4]},
    )
    found = package(X)
    assert isinstance(found, Inner)
    torch.testing.assert_close(found.total, X * 2)


@pytest.mark.slow
def test_a_class_that_cannot_be_imported_is_a_dict_with_a_note(tmp_path: Path) -> None:
    @dataclass
    class Local:
        a: torch.Tensor

    with pytest.warns(UserWarning, match="Local comes back as a dict"):
        package = wb.package(lambda x: Local(x + 1), (X,), path=tmp_path / "p.pt2")
    assert list(package(X)) == ["a"]
    assert "Local comes back as a dict" in package.notes[0]


@pytest.mark.slow
def test_a_registered_data_class_and_an_output_of_transformers(tmp_path: Path) -> None:
    outputs = pytest.importorskip("transformers.modeling_outputs")

    def both(x: torch.Tensor) -> Any:
        return samples.Batch(x, x + 1), outputs.BaseModelOutput(last_hidden_state=x * 2)

    batch, states = wb.package(both, (X,), path=tmp_path / "p.pt2")(X)
    assert isinstance(batch, samples.Batch)
    assert isinstance(states, outputs.BaseModelOutput)
    torch.testing.assert_close(states.last_hidden_state, X * 2)


def test_as_an_input_it_has_to_be_registered(tmp_path: Path) -> None:
    with pytest.raises(wb.CaptureError, match=r"torch\.export\.register_dataclass\(TheClass\)"):
        wb.package(lambda inner: inner.total + 1, (Inner(X),), path=tmp_path / "p.pt2")


class Sample(OrderedDict[str, torch.Tensor]):
    """An output as that of diffusers: registered with torch, without keys for its leaves."""


def _flattened(sample: Sample) -> tuple[list[torch.Tensor], list[str]]:
    return list(sample.values()), list(sample)


def _made(values: Iterable[torch.Tensor], names: list[str]) -> Sample:
    return Sample(zip(names, values, strict=True))


@pytest.fixture
def sample_known() -> Iterator[None]:
    name = f"{__name__}.Sample"
    pytree.register_pytree_node(Sample, _flattened, _made, serialized_type_name=name)
    yield
    pytree._deregister_pytree_node(Sample)


class Sampling(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return Sample(sample=x["sample"] * 2) if isinstance(x, Sample) else Sample(sample=x + 1)


@pytest.mark.slow
@pytest.mark.usefixtures("sample_known")
def test_classes_registered_without_keys_are_packaged(tmp_path: Path) -> None:
    for given, variant in ((X, None), (Sample(sample=X), "one")):
        path = tmp_path / f"{variant}.pt2"
        package = wb.package(Sampling().eval(), (given,), path=path, variant=variant)
        found, expected = package(given), Sampling()(given)
        assert isinstance(found, Sample)
        torch.testing.assert_close(found["sample"], expected["sample"])


@pytest.mark.usefixtures("sample_known")
def test_leaves_of_classes_without_keys_have_a_place_for_the_time_of_a_package() -> None:
    with register_node_keys():
        (keys, leaf), *rest = pytree.tree_flatten_with_path((Sample(sample=X),))[0]
    assert [str(key) for key in keys] == ["[0]", "['sample']"]
    assert leaf is X
    assert not rest
    assert pytree.SUPPORTED_NODES[Sample].flatten_with_keys_fn is None
