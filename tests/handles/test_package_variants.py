"""Variants of one model in one package: added, chosen by machine and inputs, refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._inductor.package import load_package

import workbench as wb
from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.trust.trust import TrustStore
from workbench.compiler.packaging import writing
from workbench.compiler.packaging.package_request import ModelRequest
from workbench.compiler.packaging.writing import Packed
from workbench.report import Report

X = torch.linspace(-1, 1, 32).reshape(4, 8)


class Doubling(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.full((8,), 2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One variant for float32 and one for float64."""
    path = tmp_path_factory.mktemp("variants") / "m.pt2"
    wb.package(Doubling().eval(), (X,), path=path, variant="float32", capture="light")
    wide = Doubling().double().eval()
    wb.package(wide, (X.double(),), path=path, variant="float64", capture="light")
    return path


def test_a_call_runs_the_first_variant_that_takes_its_inputs(file: Path) -> None:
    with wb.load(file) as package:
        assert package.names == ("float32", "float64")
        assert [fit.name for fit in package.variants] == ["float32", "float64"]
        assert torch.equal(package(X), X * 2)
        assert torch.equal(package(X.double()), X.double() * 2)
        assert package.variant_of(X).name == "float32"
        assert package.variant_of(X.double()).name == "float64"
        assert "float32 does not take these inputs" in package.variant_of(X.double()).why
        with pytest.raises(wb.ContractError, match="No variant of the package takes") as error:
            package(X.half())
        assert "expected dtype float32, got float16" in str(error.value)
        assert "expected dtype float64, got float16" in str(error.value)
        with pytest.raises(wb.ContractError, match="signature is"):
            package(X, X)


def test_without_the_check_the_inputs_still_decide(file: Path) -> None:
    with wb.load(file, check=False) as package:
        assert package(X).dtype == torch.float32
        assert package(X.double()).dtype == torch.float64


def test_a_named_variant_takes_its_own_inputs_alone(file: Path) -> None:
    with wb.load(file, variant="float32") as package:
        assert torch.equal(package(X), X * 2)
        assert package.variant_of(X).why.endswith(": chosen by name at load")
        with pytest.raises(wb.ContractError, match="expected dtype float32, got float64"):
            package(X.double())
    with pytest.raises(
        wb.ArtifactError, match="has no variant 'gpu': name one of float32, float64"
    ):
        wb.load(file, variant="gpu")


def test_new_weights_reach_every_variant_that_has_their_dtype(file: Path) -> None:
    with wb.load(file) as package:
        package.update_weights({"scale": torch.full((8,), 3.0)}, model="float32")
        assert torch.equal(package(X), X * 3)
        assert torch.equal(package(X.double()), X.double() * 2)
        with pytest.raises(wb.UsageError, match="float64"):
            package.update_weights({"scale": torch.full((8,), 3.0)})


def test_it_is_compared_with_the_model_that_the_inputs_choose(file: Path) -> None:
    with wb.load(file) as package:
        package.originals["float64"] = Doubling().double().eval()
        assert wb.verify(package, (X.double(),)).ok


def test_each_variant_is_a_model_for_torch_itself(file: Path) -> None:
    loaded = load_package(str(file), model_name="float32")
    assert torch.equal(loaded(X), X * 2)


@pytest.mark.slow
def test_only_files_with_variants_know_the_word(small: Any, tmp_path: Path) -> None:
    with pytest.raises(wb.UsageError, match="holds no variants: leave variant='float32' out"):
        wb.load(small.path, variant="float32")
    package = small.load()
    with pytest.raises(wb.UsageError, match="holds no variants"):
        package.variant_of(*small.args)
    with pytest.raises(wb.UsageError, match="exists and holds no variants"):
        wb.package(small.module, small.args, path=small.path, variant="float32")
    both = {"a": Doubling(), "b": Doubling()}
    with pytest.raises(wb.UsageError, match="needs a single model, but several are given"):
        wb.package(both, {"a": (X,), "b": (X,)}, path=tmp_path / "m.pt2", variant="float32")


# adding, without compiling


@pytest.fixture
def pack_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """From now on a compilation gives the variant "float32" once more, with `changes`."""

    def pack(**changes: Any) -> None:
        with open_any(file) as opened:
            assert opened.package is not None
            manifest = opened.package.manifest
            assert manifest is not None
            model = replace(manifest.model("float32"), **changes)
            content = {
                name.replace("/float32", f"/{model.name}"): opened.package.raw(name)
                for name in manifest.members
                if "/float32" in name
            }
        names = ("folder", "library", "report")
        moved = {n: str(getattr(model, n)).replace("/float32", f"/{model.name}") for n in names}
        packed = Packed(replace(model, **moved), content, Report())
        monkeypatch.setattr(writing, "pack", lambda *_: packed)

    return pack


@pytest.mark.slow
def test_a_variant_of_the_same_name_is_replaced(
    file: Path, pack_again: Callable[..., None], tmp_path: Path
) -> None:
    path = shutil.copy(file, tmp_path / "m.pt2")
    for name in ("third", "third", "float32"):
        request = ModelRequest(Doubling(), (X,), name=name)
        pack_again(name=name)
        writing.write_variant(request, path)
    with wb.load(path) as package:
        assert package.names == ("float64", "third", "float32")
        assert torch.equal(package["third"](X), X * 2)


def test_what_is_called_in_another_way_is_no_variant(
    file: Path, pack_again: Callable[..., None]
) -> None:
    before = file.read_bytes()
    request = ModelRequest(Doubling(), (X,), name="other")
    pack_again(name="other", inputs=("y",))
    with pytest.raises(
        wb.UsageError, match=r"The inputs of 'other' differ from those of .*\['y'\] and \['x'\]"
    ):
        writing.write_variant(request, file)
    assert file.read_bytes() == before


def test_nothing_is_added_to_a_file_that_nobody_vouched_for(
    file: Path, pack_again: Callable[..., None], tmp_path: Path
) -> None:
    request = ModelRequest(Doubling(), (X,), name="other")
    pack_again(name="other")
    stranger = TrustStore(tmp_path / "stranger")
    with pytest.raises(wb.TrustError, match="runs code, and the file is signed by an unknown key"):
        writing.write_variant(request, file, store=stranger)


@pytest.mark.slow  # a header is compiled for each level of processors
def test_a_level_of_processors_is_a_variant(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    scalar = {"cpp.march": "x86-64", "cpp.simdlen": 1}
    for name, options in {"any": scalar, "native": {}}.items():
        model = Doubling().eval()
        package = wb.package(model, (X,), path=path, variant=name, options=options)
    assert [fit.name for fit in package.variants] == ["native", "any"]  # more instructions first
    assert torch.equal(package(X), X * 2)
    assert torch.equal(wb.load(path, variant="any")(X), X * 2)
    found = wb.check(path, {**wb.machine().to_json(), "cpu_flags": ["sse4_1"]})
    verdicts = {row.name: row.verdict for row in found.requirements}
    assert found.ok
    assert (verdicts["variant any"], verdicts["variant native"]) == ("pass", "warn")
