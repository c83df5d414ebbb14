"""Packages as they come out: for our loader, for torch's, and for who looks into the file."""

from __future__ import annotations

import json
import zipfile

import pytest
import torch
from torch.export.pt2_archive._package import load_pt2

import workbench as wb
from tests.compiler.packaging.conftest import Made, nested_call
from tests.older_releases import since
from workbench.artifacts.archive.package_container import decode_report
from workbench.artifacts.manifest.package_manifest import MANIFEST, PackageManifest
from workbench.artifacts.trust.trust import TrustStore
from workbench.report.record import Report


def manifest_of(made: Made) -> PackageManifest:
    with zipfile.ZipFile(made.path) as archive:
        return PackageManifest.from_bytes(archive.read(f"{made.path.stem}/{MANIFEST}"))


def report_of(made: Made, name: str) -> wb.Report:
    member = manifest_of(made).model(name).report
    with zipfile.ZipFile(made.path) as archive:
        return Report.from_bytes(decode_report(archive.read(f"{made.path.stem}/{member}")))


def test_it_is_called_like_the_model(two: Made) -> None:
    for rows in (1, 2, 64):
        x = torch.randn(rows, 16)
        torch.testing.assert_close(two.package["mlp"](x), two.models["mlp"](x))


def test_nested_inputs_and_outputs_keep_their_structure(two: Made) -> None:
    args, kwargs = nested_call(rows=9)
    found = two.package["nested"](*args, **kwargs)
    first = found["calls"].clone()
    expected = two.models["nested"](*args, **kwargs)
    assert found.keys() == expected.keys()
    assert found["none"] is None
    assert found["rows"] == 9
    torch.testing.assert_close(found["out"], expected["out"])
    torch.testing.assert_close(found["all"], expected["all"])
    again = two.package["nested"](*args, **kwargs)  # the buffer is carried on by the library
    torch.testing.assert_close(again["calls"], first + 1)


def test_sizes_of_outputs_are_named_like_the_dimensions(two: Made) -> None:
    (output,) = two.package.manifest.model("mlp").outputs
    given = two.package["mlp"].contract.leaves[0].shape[0]
    assert output.shape[0] == given.name == "batch"


@pytest.mark.parametrize("rows", [0, 65])
def test_a_size_outside_of_the_declared_range_is_refused(two: Made, rows: int) -> None:
    with pytest.raises(wb.ContractError, match=r"x: dimension 0 is \d+, outside the declared"):
        two.package["mlp"](torch.randn(rows, 16))


def test_what_is_no_tensor_is_compiled_for_its_value(two: Made) -> None:
    (batch, extra), _ = two.calls["nested"]
    with pytest.raises(wb.ContractError, match="flag: compiled for True, got False"):
        two.package["nested"](batch, extra, flag=False)
    with pytest.raises(wb.ContractError):
        two.package["mlp"](torch.randn(4, 16), scale=3.0)


def test_torchs_own_loader_takes_the_file(two: Made) -> None:
    found = load_pt2(str(two.path))
    x = torch.randn(7, 16)
    torch.testing.assert_close(found.aoti_runners["mlp"](x), two.models["mlp"](x))
    args, kwargs = nested_call(rows=3)
    expected = two.models["nested"](*args, **kwargs)
    torch.testing.assert_close(
        found.aoti_runners["nested"](*args, **kwargs)["out"], expected["out"]
    )
    assert json.loads(found.extra_files["workbench/manifest.json"])["root"] == "two"


def test_the_manifest_lists_every_other_member_and_is_signed(two: Made) -> None:
    manifest = manifest_of(two)
    with zipfile.ZipFile(two.path) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        stored = {entry.compress_type for entry in archive.infolist()}
    own = sizes.pop(f"two/{MANIFEST}")
    assert own > 0
    assert {f"two/{name}": member.size for name, member in manifest.members.items()} == sizes
    assert stored == {zipfile.ZIP_STORED}
    assert TrustStore.of_user().signed_by_user(manifest)
    assert manifest.needs.libraries
    assert manifest.versions.torch == torch.__version__


def test_weights_beside_the_library_can_be_mapped_where_they_are(two: Made) -> None:
    model = manifest_of(two).model("nested")
    constants = {constant.fqn: constant for constant in model.constants}
    bias = constants["down.bias"]
    with zipfile.ZipFile(two.path) as archive:
        entry = archive.getinfo(f"two/{bias.member}")
        content = archive.read(entry)
    with two.path.open("rb") as file:
        file.seek(entry.header_offset + 26)
        sizes = file.read(4)
    start = (
        entry.header_offset + 30 + sum(int.from_bytes(sizes[i : i + 2], "little") for i in (0, 2))
    )
    assert start % 64 == 0
    stored = torch.frombuffer(bytearray(content), dtype=torch.float32, count=8, offset=bias.offset)
    torch.testing.assert_close(stored, two.models["nested"].down.bias.detach())
    inside = manifest_of(two).model("mlp").constants
    assert {constant.member for constant in inside} == {None}


def test_constants_have_the_names_that_the_module_gives_them(two: Made) -> None:
    constants = {c.fqn: c for c in manifest_of(two).model("nested").constants}
    tied = constants.get("up.weight") or constants["down.weight"]
    assert {tied.fqn, *tied.aliases} == {"up.weight", "down.weight"}
    assert constants["calls"].kind == "buffer"
    assert constants["calls"].mutated
    assert [c.kind for c in constants.values()].count("constant") == 1  # self.offset
    small = {c.fqn for c in manifest_of(two).model("mlp").constants}
    assert small == {"a.weight", "a.bias", "b.weight", "b.bias"}  # four elements stay a tensor too


def test_the_report_is_as_full_as_that_of_aot_compile(two: Made) -> None:
    report = report_of(two, "mlp")
    assert report.request.kind == "package"
    assert report.request.inputs == ("x: float32 [batch in 1..64, 16] on cpu",)
    assert dict(report.request.options)["max_autotune"] == "False"
    assert [graph.stage for graph in report.graphs][:2] == ["dynamo", "before_pre_grad"]
    languages = [kernel.language for kernel in report.kernels]
    assert languages.count("cpp") >= 1
    assert languages.count("extern") == 2
    assert all(kernel.lines for kernel in report.kernels)
    assert all(kernel.text for kernel in report.kernels if kernel.language == "cpp")
    assert len(report.buffers) > 0
    assert len(report.kernel_lines) > 0
    (wrapper,) = report.wrappers
    assert "AOTInductorModel::run_impl" in report.texts[wrapper.text]
    assert report.extra["package"]["range_constraints"] == {"batch": [1, 64]}
    assert any(
        source.name == "forward" and "self.a" in report.texts[source.text]
        for source in report.sources
    )
    assert any("max_autotune=False replaces" in note for note in report.request.notes)


def test_progress_hears_of_every_phase(two: Made) -> None:
    ours = [name for name in two.phases if name.startswith("package: ")]
    assert ours == [f"package: {step}" for step in ("export", "compile", "contract")] * 2
    assert "AotCodeCompiler.compile" in two.phases


def test_one_is_left_out_with_a_sentence_where_it_cannot_be_had(later: Made) -> None:
    (said,) = later.warnings
    assert said.startswith("OneIsSpecial: batch starts at 2, higher than declared: torch")
    (leaf,) = manifest_of(later).model().contract["leaves"]
    assert leaf["shape"][0]["min"] == 2
    assert said.partition(": ")[2] in later.package.report.request.notes
    later.package.update_weights(later.models["model"].state_dict())
    torch.testing.assert_close(later.package(torch.ones(2, 4))[0], torch.arange(4.0))
    with pytest.raises(wb.ContractError, match=r"outside batch in 2\.\.8: batch starts at 2"):
        later.package(torch.randn(1, 4))


@since("2.13", "its own loader takes weights otherwise")
def test_weights_that_come_later_are_in_no_member(later: Made) -> None:
    model = manifest_of(later).model()
    assert model.weights == "later"
    assert [(c.fqn, c.member) for c in model.constants] == [("weight", None)]
    loader = torch._C._aoti.AOTIModelPackageLoader(str(later.path), "model", False, 1, -1)
    loader.load_constants({"weight": torch.full((4,), 3.0)}, False, True, False, False)
    x = torch.randn(5, 4)
    torch.testing.assert_close(loader.run([x])[0], x * 3)


def test_making_it_again_needs_the_inputs_and_says_how(two: Made) -> None:
    with pytest.raises(wb.UsageError) as caught:
        wb.recompile(two.path)
    words = str(caught.value)
    assert "a package without example inputs" in words
    assert "dynamic_shapes={'x': {0: Dim('batch', min=1, max=64)}}" in words
    assert "mode='max-autotune-no-cudagraphs'" in words
    assert "weights='beside')  # nested: " in words
