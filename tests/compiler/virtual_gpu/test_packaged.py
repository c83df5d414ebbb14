"""Packages for virtual GPUs: built, described, refused; nothing of them can be run."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.artifacts.archive.file_kinds import open_any
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.packaging.package_request import ModelRequest
from workbench.compiler.virtual_gpu.device.template_model import build_ranking
from workbench.compiler.virtual_gpu.device.virtual import compile_offline
from workbench.compiler.virtual_gpu.packaged import for_gpu
from workbench.specs import Catalogue
from workbench.specs.device import Device

X = torch.linspace(-1, 1, 512).reshape(8, 64)


class Sums(torch.nn.Module):
    """Constants of one form that are not the same: of the model, of the code, of one element."""

    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Parameter(torch.full((64,), 2.0))
        self.b = torch.nn.Parameter(torch.full((64,), 3.0))
        self.one = torch.nn.Parameter(torch.tensor(5.0))
        self.register_buffer("c", torch.arange(64.0), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = torch.softmax(x * self.a + self.b, -1) * self.c
        return found * self.one + torch.tensor([0.5])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packaged") / "sums.pt2"
    rows = torch.export.Dim("rows", max=512)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wb.package(Sums().eval(), (X,), path=path, variant="cpu", dynamic_shapes={"x": {0: rows}})
        wb.package(
            Sums().eval(),
            (X,),
            path=path,
            variant="h100",
            target="h100",
            dynamic_shapes={"x": {0: rows}},
        )
    return path


def h100(arch: str = "sm_90") -> dict[str, object]:
    """A machine with a GPU of one architecture, otherwise like this one."""
    return {
        **wb.machine().to_json(),
        "torch": torch.__version__.partition("+")[0] + "+cu130",
        "cuda": "13.0",
        "driver": "580.82.07",
        "gpus": [{"name": "NVIDIA H100 80GB HBM3", "arch": arch}],
        "gpu": True,
    }


@pytest.mark.slow
def test_one_file_is_for_the_processor_and_for_a_gpu(file: Path) -> None:
    with wb.load(file) as package:
        torch.testing.assert_close(package(X), Sums()(X).detach())
        assert package.variant_of(X).name == "cpu"
        with pytest.raises(wb.ArtifactError, match=r"Variant 'h100' \(cuda, h100 \(sm_90a\)\)"):
            package["h100"]
    with pytest.raises(wb.ArtifactError, match="cannot run variant 'h100'"):
        wb.load(file, variant="h100")
    here, there, other = wb.check(file), wb.check(file, h100()), wb.check(file, h100("sm_80"))
    assert [check.ok for check in (here, there, other)] == [True, True, True]
    verdicts = {row.name: row.verdict for row in there.requirements}
    assert (verdicts["variant h100"], verdicts["variant cpu"]) == ("pass", "pass")
    assert {row.name: row.verdict for row in other.requirements}["variant h100"] == "warn"


@pytest.mark.slow
def test_every_constant_has_its_own_value_in_the_file(file: Path) -> None:
    """None has data where the library is compiled: they must not be taken for one."""
    with open_any(file) as opened:
        package = opened.package
        assert package is not None
        assert package.manifest is not None
        model = package.manifest.model("h100")
        rows = {row.fqn: row for row in model.constants}
        found = {}
        for name, row in rows.items():
            assert row.member is not None
            content = package.raw(row.member)[row.offset : row.offset + row.size]
            found[name] = torch.frombuffer(bytearray(content), dtype=torch.float32)
    made = Sums()
    assert rows.keys() >= {"a", "b", "c", "one"}
    for name in ("a", "b", "c", "one"):
        assert torch.equal(found[name].reshape(-1), getattr(made, name).detach().reshape(-1))
    (lifted,) = (value for name, value in found.items() if name not in ("a", "b", "c", "one"))
    assert lifted.tolist() == [0.5]


@pytest.mark.slow
def test_its_machine_code_is_for_the_gpu_and_its_library_names_the_real_ones(file: Path) -> None:
    found = wb.inspect(file)
    rows = found.frame("variants").set_index("name")
    assert rows.made_for["h100"] == "cuda, h100 (sm_90a)"
    libraries = found.frame("libraries")
    assert "sm_90" in set(libraries.machine)
    (gpu,) = (row for row in libraries.needed if "libcuda.so.1" in row)
    assert "libtorch_cuda.so" in gpu
    report = found.report("h100")
    kernels = report.frame("kernels")
    assert report.request.target == "h100"
    assert (kernels.language == "triton").any()
    assert kernels.registers.notna().any()
    assert any("compiled for a virtual GPU and not run" in note for note in report.request.notes)
    contract = found.frame("inputs").set_index("model")
    assert contract.device["h100"] == "cuda"


@pytest.mark.slow
def test_what_is_made_cannot_be_called_and_says_why(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, path = Sums().eval(), tmp_path / "m.pt2"
        package = wb.package(model, (X,), path=path, target="l4", weights="later")
    with pytest.raises(wb.UsageError, match=r"(?s)does not fit this machine.*machine code sm_89"):
        package(X)
    with pytest.raises(wb.ArtifactError, match="does not fit this machine"):
        wb.load(path)
    assert package.manifest.model().weights == "later"
    held = [row.fqn for row in package.manifest.model().constants if row.member is not None]
    assert set(held) >= {"c"}  # what no state_dict holds
    assert not set(held) & {"a", "b", "one"}


def test_constants_without_data_are_not_one() -> None:
    with ProcessPatches() as process_patches:
        gpu = Device(Catalogue.built_in()["h100"])
        compile_offline(process_patches, gpu, build_ranking(gpu.spec))
        is_same, mode = tp.SAME_CONSTANT.get(), tp.FAKE_TENSOR_MODE.get()()
        with mode:
            a, b = torch.empty(4), torch.empty(4)
        assert is_same(a, a)
        assert not is_same(a, b)
        real = torch.zeros(4)
        assert is_same(real, real.view(4))
        assert not is_same(real, torch.zeros(4))


def test_what_cannot_be_built_is_one_sentence(tmp_path: Path) -> None:
    request = ModelRequest(Sums(), (X,))
    with pytest.raises(wb.UsageError, match="link against ROCm cannot be built here"):
        for_gpu(request, Catalogue.built_in()["mi300x"])
    with pytest.raises(
        wb.UsageError, match=r"a package takes 'host' .* or, for one model, the name"
    ):
        wb.package(Sums(), (X,), path=tmp_path / "m.pt2", target="cuda")
    with pytest.raises(wb.UsageError, match="GPU 'nope' is unknown"):
        wb.package(Sums(), (X,), path=tmp_path / "m.pt2", target="nope")
    assert not list(tmp_path.iterdir())


def test_the_code_around_the_kernels_is_for_the_processors_of_servers() -> None:
    request, _ = for_gpu(ModelRequest(Sums(), (X,)), Catalogue.built_in()["h100"])
    assert request.weights == "beside"
    own = ModelRequest(Sums(), (X,), options={"cpp.march": "native"}, weights="later")
    kept, _ = for_gpu(own, Catalogue.built_in()["h100"])
    assert kept.options["cpp.march"] == "native"
    assert kept.weights == "later"
