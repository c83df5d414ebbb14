"""The report in a file, or in an object; nothing from a file is executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.artifacts.archive.test_package_container import write_as_torch
from tests.artifacts.package_sample import model, parts, write_package
from tests.diffs import RECORDS, recorded
from workbench.artifacts.archive.aot_container import REPORT, Content, with_members, write_artifact
from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.manifest.package_manifest import FOLDER
from workbench.artifacts.records.report_in import name_compilations, report_in, report_of
from workbench.errors import ArtifactError, UsageError

CONTENT = recorded("static").to_bytes()


def artifact(path: Path, **members: bytes) -> Path:
    content: dict[str, Content] = {"payload": b"not read", **members}
    write_artifact(path, with_members(Manifest(), content), content)
    return path


def package(path: Path, *names: str) -> Path:
    reports = {name: f"{FOLDER}/{name}.wbr" for name in names}
    models = [model(name=name, report=member) for name, member in reports.items()]
    members = {**parts(), **dict.fromkeys(reports.values(), CONTENT)}
    write_package(path, *models, members=members)
    return path


def test_every_kind_of_file_gives_its_report(tmp_path: Path) -> None:
    files = [
        RECORDS / "static.wbr",
        artifact(tmp_path / "m.aot", **{REPORT: CONTENT}),
        package(tmp_path / "m.pt2", "model"),
    ]
    for file in files:
        assert report_in(file).request == recorded("static").request
        assert len(report_of(str(file)).kernels) == 5


def test_of_several_models_one_has_to_be_named(tmp_path: Path) -> None:
    path = package(tmp_path / "m.pt2", "encoder", "decoder")
    with pytest.raises(UsageError, match=r"has several reports \(encoder, decoder\)"):
        report_in(path)


def test_a_file_without_a_report_says_so(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="without a report"):
        report_in(artifact(tmp_path / "m.aot"))
    with pytest.raises(ArtifactError, match="without a report"):
        report_in(package(tmp_path / "m.pt2"))


def test_a_damaged_report_is_refused(tmp_path: Path) -> None:
    path = artifact(tmp_path / "m.aot", **{REPORT: CONTENT})
    content = path.read_bytes()
    at = content.index(CONTENT) + len(CONTENT) // 2
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    with pytest.raises(ArtifactError, match="damaged"):
        report_in(path)


def test_an_object_has_its_report_at_hand_or_on_request() -> None:
    class Inspected:
        def report(self) -> object:
            return recorded("static")

    assert report_of(Inspected()).request.name == "Block"
    with pytest.raises(UsageError, match="is not a report"):
        report_of(3)


def test_names_tell_the_two_apart() -> None:
    assert name_compilations("out/a.wbr", RECORDS / "static.wbr") == ("a.wbr", "static.wbr")
    assert name_compilations(recorded("static"), recorded("dynamic")) == ("a", "b")


def test_a_file_without_a_report_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "torch.pt2"
    write_as_torch(file, {"archive_format": b"pt2", "data/aotinductor/model/a.so": b"library"})
    file.write_bytes(file.read_bytes().replace(b"library", b"Library"))  # nobody notices
    with pytest.raises(ArtifactError, match="was written by torch and has no report"):
        report_in(file)
