"""Packages: ours by their manifest, torch's by the C++ that it generates."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.artifacts import package_sample as sample
from tests.artifacts.archive.test_package_container import write_as_torch
from workbench.artifacts.archive.package_container import encode_report
from workbench.artifacts.inspect.artifact_report import ArtifactReport
from workbench.artifacts.inspect.inspection import inspect
from workbench.artifacts.trust.trust import TrustStore
from workbench.errors import ArtifactError, UsageError
from workbench.report import Report

WRAPPER = (Path(__file__).parent / "wrapper_of_torch.cpp").read_bytes()
FOLDER = "data/aotinductor/model"


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "data")


@pytest.fixture
def ours(tmp_path: Path, store: TrustStore) -> ArtifactReport:
    sample.write_package(tmp_path / "m.pt2", store=store)
    return inspect(tmp_path / "m.pt2", store=store)


@pytest.fixture
def theirs(tmp_path: Path, store: TrustStore) -> ArtifactReport:
    facts = {"AOTI_CPU_ISA": "AVX512 AVX512_VNNI", "AOTI_DEVICE_KEY": "cpu"}
    members = {
        f"{FOLDER}/m.wrapper.cpp": WRAPPER,
        f"{FOLDER}/m.wrapper_metadata.json": json.dumps(facts).encode(),
        f"{FOLDER}/m.wrapper.so": sample.SHARED_LIBRARY.read_bytes(),
        "archive_format": b"pt2",
    }
    write_as_torch(tmp_path / "torch.pt2", members)
    return inspect(tmp_path / "torch.pt2", store=store)


def test_a_package_of_ours_tells_its_contract(ours: ArtifactReport) -> None:
    assert (ours.kind, ours.signature) == ("package", "signed by you")
    (value,) = ours.inputs
    assert (value.name, value.dtype, value.shape) == ("x", "float32", "[batch in 2..512, 64]")
    assert [output.shape for output in ours.outputs] == ["[batch, 8]"]
    assert [guard.name for guard in ours.guards if guard.kept] == ["batch % 2 == 0"]
    (constant,) = ours.constants
    assert (constant.name, constant.size, constant.place) == (
        "l.weight",
        256,
        f"{sample.BLOB} at 0",
    )
    needs = ours.frame("needs").set_index("name").needed
    assert needs["GLIBC"] == "2.14"
    assert needs["instructions"] == "avx2"


def test_what_is_in_its_library_is_listed(ours: ArtifactReport) -> None:
    (library,) = ours.libraries
    assert library.member == sample.LIBRARY
    assert library.exports > 0
    assert ".text" in set(ours.frame("sections").name)
    symbols = ours.frame("symbols")
    assert "PyInit__ctypes" in set(symbols[symbols.exported].name)
    assert "#include <torch.h>" in ours.source("wrapper.cpp")


def test_weights_that_come_later_are_objects_from_outside(tmp_path: Path) -> None:
    later = sample.model(weights="later", constants=(sample.weight(member=None),))
    sample.write_package(tmp_path / "m.pt2", later)
    report = inspect(tmp_path / "m.pt2")
    assert [(row.kind, row.name) for row in report.outside] == [("weight", "l.weight")]


def test_the_report_in_it_is_opened_when_asked_for(tmp_path: Path, sample_report: Report) -> None:
    name = "extra/workbench/model.wbr.b64"
    members = {**sample.parts(), name: encode_report(sample_report.to_bytes())}
    sample.write_package(tmp_path / "m.pt2", sample.model(report=name), members=members)
    report = inspect(tmp_path / "m.pt2")
    assert repr(report.report()) == repr(sample_report)
    with pytest.raises(UsageError, match="'other' has no report here"):
        report.report("other")


def test_a_package_of_torch_tells_what_its_code_says(theirs: ArtifactReport) -> None:
    assert (theirs.kind, theirs.signature) == ("torch package", "not signed")
    (value,) = theirs.inputs
    assert (value.dtype, value.shape, value.device) == ("float32", "[2..512, 64]", "cpu")
    assert [c.name for c in theirs.constants] == ["l.weight", "l.bias", "b"]
    assert [c.kind for c in theirs.constants] == ["parameter", "parameter", "buffer"]
    assert theirs.constants[0].size == 8192
    assert any("does not check inputs" in note for note in theirs.notes)
    assert theirs.digest.startswith("sha256:")


def test_bulk_is_not_hashed_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.artifacts.inspect.inspection.HASHED", 1 << 20)
    blob = tmp_path / "blob"
    blob.write_bytes(bytes(2 << 20))
    model = sample.model(constants=(sample.weight(2 << 20),))
    sample.write_package(tmp_path / "m.pt2", model, members=sample.parts(blob=blob))
    states = {m.name: m.state for m in inspect(tmp_path / "m.pt2").members}
    assert states[sample.BLOB] == "not hashed"
    assert states[sample.SOURCE] == "whole"
    assert "1 not hashed (2.10 MB)" in repr(inspect(tmp_path / "m.pt2"))
    whole = inspect(tmp_path / "m.pt2", verify=True)
    assert {member.state for member in whole.members} == {"whole"}


def test_a_big_file_of_torch_has_no_digest_unless_asked(
    theirs: ArtifactReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.artifacts.inspect.inspection.HASHED", 1000)
    assert inspect(theirs.path).digest == ""
    assert "not computed" in repr(inspect(theirs.path))
    assert inspect(theirs.path, verify=True).digest == theirs.digest


def test_a_changed_library_is_marked(ours: ArtifactReport) -> None:
    path = Path(ours.path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"PyInit__ctypes", b"PyInit__hacked"))
    assert inspect(path).damaged == (sample.LIBRARY,)
    assert f"damaged: {sample.LIBRARY}" in inspect(path)._repr_html_()


ODD: list[Any] = [None, 7, "text", [], {}, [[]], [None], {"min": "x"}, [{"name": []}], -1, True]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_odd_values_in_a_contract_are_shown_or_left_out(tmp_path: Path, odd: Any) -> None:
    leaf = dict(sample.CONTRACT["leaves"][0])
    contracts: list[dict[str, Any]] = [{"leaves": odd, "guards": odd}]
    contracts += [{"leaves": [{**leaf, key: odd}]} for key in leaf]
    path = tmp_path / "m.pt2"
    sample.write_package(
        path,
        *(sample.model(name=f"m{n}", contract=contract) for n, contract in enumerate(contracts)),
    )
    report = inspect(path)
    assert repr(report)
    assert report._repr_html_()
    assert any("the manifest is damaged: leaves[0]." in note for note in report.notes)


def test_names_of_sources_have_to_be_clear(ours: ArtifactReport) -> None:
    with pytest.raises(UsageError, match="0 sources are named 'nothing'"):
        ours.source("nothing")
    with pytest.raises(UsageError, match="'nothing' is not a table"):
        ours.frame("nothing")


def test_a_source_that_is_too_big_says_where_it_is(ours: ArtifactReport) -> None:
    (text,) = ours.texts
    bigger = replace(ours, texts=(replace(text, text=None, size=1 << 30),))
    with pytest.raises(ArtifactError, match="unzip -p"):
        bigger.source(text.name)
