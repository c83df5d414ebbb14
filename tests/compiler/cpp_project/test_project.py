"""What is written, without building it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from sample_packages import many_inputs

import workbench as wb
from workbench.artifacts.manifest.manifest import Build, Versions
from workbench.artifacts.manifest.package_manifest import (
    PackagedConstant,
    PackagedModel,
    PackagedOutput,
    PackageManifest,
)
from workbench.compiler.calls.paths import Path as LeafPath
from workbench.compiler.contract.contract import Contract, describe
from workbench.compiler.cpp_project.project import (
    Example,
    build_contract_values,
    list_input_leaves,
    make_example_inputs,
    name_namespace,
    render_files,
    write_project,
)
from workbench.compiler.sizes.dims import Dynamic

BATCH = Dynamic("batch", 2, 64)
MANIFEST = PackageManifest("m", (), Versions(torch="2.13.0+cpu"))


def leaf(name, tensor, shape=None):
    found = describe(LeafPath(name), tensor)
    return replace(found, shape=shape or found.shape)


def model(*leaves, **changes) -> PackagedModel:
    contract = Contract(tuple(leaves)).to_json()
    made = PackagedModel(
        name="model",
        device="cpu",
        folder="data/aotinductor/model",
        library="data/aotinductor/model/m.so",
        contract={**contract, "guards": ["Eq(Mod(batch, 2), 0)"]},
        parameters=(),
        inputs=tuple(str(leaf.path) for leaf in leaves),
        outputs=(PackagedOutput("float32", ("batch", 4)),),
        in_spec="",
        out_spec="",
        isa=Build("native", "AVX2", ("avx2", "fma")),
    )
    return replace(made, **changes)


X = leaf("x", torch.randn(4, 8), (BATCH, 8))


def header(made: PackagedModel) -> str:
    return render_files(Path("m.pt2"), MANIFEST, made)["contract.hpp"]


def test_the_header_is_the_contract_as_data():
    text = header(model(X))
    assert (
        '    {.name = "x",\n'
        "     .dtype = at::kFloat,\n"
        "     .device = at::kCPU,\n"
        '     .sizes = {{.dim = "batch", .min = 2, .max = 64}, {.fixed = 8}},\n'
        "     .order = {0, 1}},\n"
    ) in text
    assert 'kProcessorFlags = {"avx2", "fma"};' in text
    assert "floor_mod(v[0], std::int64_t{2}) == std::int64_t{0}" in text
    assert "$" not in text


def test_other_sizes_and_layouts():
    values = build_contract_values(
        model(
            leaf("y", torch.randn(9), (Dynamic("batch", 2, None, 2, 1),)),
            leaf("any", torch.randn(9), (Dynamic(None),)),
            leaf("picture", torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)),
            leaf("gaps", torch.randn(4, 16)[:, ::2]),
        )
    )
    assert '{.dim = "batch", .min = 2, .scale = 2, .offset = 1}' in values["inputs"]
    assert ".sizes = {{}}" in values["inputs"]
    assert ".order = {}, .strides = {48, 1, 12, 3}" in values["inputs"]
    assert ".order = {}, .strides = {16, 2}" in values["inputs"]


def test_weights_with_their_places():
    weight = PackagedConstant(
        "w", "linear.weight", (4, 8), (8, 1), "bfloat16", 64, "data/w.blob", 128, aliases=("tied",)
    )
    text = header(model(X, constants=(weight,), weights="beside"))
    assert "kStored = Stored::kBeside;" in text
    assert '.aliases = {"tied"}' in text
    assert '.member = "data/w.blob", .offset = 128}' in text
    assert "kWritesBuffers = false;" in text
    counter = replace(weight, mutated=True)
    assert "kWritesBuffers = true;" in header(model(X, constants=(counter,)))


def test_what_cpp_cannot_hand_over_is_refused():
    with pytest.raises(wb.UsageError, match="no input contract, because torch itself wrote it"):
        list_input_leaves(model(X, contract={}))
    with pytest.raises(wb.UsageError, match="supports dtype bits8"):
        header(model(replace(X, dtype="bits8")))


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("gpt2.pt2", "gpt2_client"),
        ("My-model.v2.pt2", "my_model_v2_client"),
        ("7b.pt2", "model_7b_client"),
        ("ü.pt2", "model_client"),
    ],
)
def test_a_namespace_for_any_file(file, name):
    assert name_namespace(Path(file)) == name


def test_the_service_knows_its_model_and_the_outputs():
    outputs = (PackagedOutput("float32", ("batch", 4)), PackagedOutput("", (), "NoneType"))
    texts = render_files(Path("m.pt2"), MANIFEST, model(X, name="encoder 1", outputs=outputs))
    assert {"service/CMakeLists.txt", "service/README.md", "service/server.cpp"} < {*texts}
    protocol = texts["service/protocol.cpp"]
    assert "{.dtype = at::kFloat,\n     .shape = {-1, 4}}" in protocol
    assert "{.dtype = at::ScalarType::Undefined,\n     .shape = {}}" in protocol
    assert "/v2/models/encoder%201/infer" in texts["service/README.md"]


def test_inputs_made_from_a_contract_fit_it():
    picture = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    made = make_example_inputs(
        [X, leaf("ids", torch.ones(3, dtype=torch.int64)), leaf("picture", picture)]
    )
    assert made[0].shape == (4, 8)
    assert made[1].tolist() == [0, 0, 0]
    assert made[2].stride() == picture.stride()


def test_a_folder_with_something_in_it_is_kept(tmp_path):
    made, example = model(X), Example([torch.ones(4, 8)], [None])
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(wb.UsageError, match="not empty"):
        write_project(tmp_path, Path("m.pt2"), MANIFEST, made, example)
    with pytest.raises(wb.UsageError, match="is a file"):
        write_project(tmp_path / "notes.txt", Path("m.pt2"), MANIFEST, made, example)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    write_project(tmp_path, Path("m.pt2"), MANIFEST, made, example, overwrite=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert {"README.md", "CMakeLists.txt", "client.cpp"} < {p.name for p in tmp_path.iterdir()}


def test_the_readme_says_what_the_model_takes(tmp_path):
    text = render_files(Path("m.pt2"), MANIFEST, model(X))["README.md"]
    assert "| `x` | float32 | [batch in 2..64, 8] |" in text
    assert "torch 2.13.0+cpu" in text
    assert "pip install cmake" in text


def test_inputs_that_do_not_fit_are_no_example(package, tmp_path):
    x, scale, ids, picture = many_inputs()
    with pytest.raises(wb.ContractError, match="ids: dimension 0 makes batch 3"):
        package.cpp_project(tmp_path / "p", (x, scale, ids[:6], picture))
    assert not (tmp_path / "p").exists()
