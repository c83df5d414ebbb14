"""The file itself: torch's layout, aligned, whole or not there."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._inductor import config as inductor_config
from torch.export.pt2_archive._package import PT2ArchiveWriter

import workbench as wb
from tests.artifacts.package_sample import library_with_weights
from tests.compiler.packaging.samples import Branching, Mlp
from workbench.artifacts.archive.file_kinds import open_file
from workbench.artifacts.archive.package_container import read_package_container
from workbench.artifacts.machine.elf_loading import clear_executable_stack
from workbench.artifacts.manifest.package_manifest import PackageManifest
from workbench.artifacts.zip_files.members import read_frame
from workbench.compiler.packaging import inductor_library
from workbench.compiler.packaging.package_request import ModelRequest
from workbench.compiler.packaging.writing import FIXED, with_members, write_archive, write_package


@pytest.mark.parametrize("root", ["m", "a-much.longer_name"])
def test_members_lie_where_they_can_be_mapped(tmp_path: Path, root: str) -> None:
    weights = tmp_path / "weights"
    weights.write_bytes(bytes(range(256)) * 3)
    members = {**FIXED, "data/weights": weights, "data/b": b"12345", "data/c": b""}
    manifest = with_members(PackageManifest(root, ()), members)
    path = tmp_path / "m.pt2"
    write_archive(path, manifest, members)
    with open_file(path) as file:
        opened = read_package_container(read_frame(file))
        assert {opened.offset(name) % 64 for name in members} == {0}
        assert opened.raw("data/weights") == weights.read_bytes()
        assert all(opened.is_whole(name) for name in members)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[0] == f"{root}/archive_format"


def test_it_is_what_torch_writes_around_the_models(tmp_path: Path) -> None:
    """The members by which torch knows its archives, compared with a file of torch's own."""
    path = tmp_path / "theirs.pt2"
    with PT2ArchiveWriter(str(path)) as writer:
        writer.write_string("extra/x", "y")
    with zipfile.ZipFile(path) as archive:
        theirs = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    assert {name: theirs[name] for name in FIXED} == FIXED


def test_a_library_is_packed_as_newer_systems_load_it(tmp_path: Path) -> None:
    library = library_with_weights(tmp_path)
    assert inductor_library.make_shareable(library) == library
    assert not clear_executable_stack(library)


def test_a_path_that_cannot_be_is_refused_before_anything_is_compiled(tmp_path: Path) -> None:
    request = ModelRequest(Branching(), (torch.ones(2),))  # would be refused by torch.export
    with pytest.raises(wb.UsageError, match=r"the name of a package must end in \.pt2"):
        write_package([request], tmp_path / "m.pt")
    with pytest.raises(wb.ArtifactError, match=r"is not a folder\. Make it first"):
        write_package([request], tmp_path / "none" / "m.pt2")


def test_a_refusal_has_the_report_until_then_and_leaves_no_file(tmp_path: Path) -> None:
    request = ModelRequest(Branching().eval(), (torch.ones(2),))
    with pytest.raises(wb.CaptureError) as caught:
        write_package([request], tmp_path / "m.pt2")
    report = caught.value.report
    assert report is not None
    assert (report.outcome.ok, report.outcome.step) == (False, "export")
    assert report.request.kind == "package"
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_torch_usable_and_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    path.write_bytes(b"old")

    def interrupting(name: str, _seconds: float) -> None:
        if name == "package: compile":
            raise KeyboardInterrupt

    model, x = Mlp().eval(), torch.randn(2, 16)
    with pytest.raises(KeyboardInterrupt) as caught:
        write_package([ModelRequest(model, (x,))], path, progress=interrupting)
    report: Any = caught.value.__dict__["report"]
    assert (report.outcome.step, report.outcome.error) == ("compile", "interrupted")
    assert len(report.graphs) > 0
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["m.pt2"]
    program = torch.export.export(model, (x,))  # torch goes on as before
    torch.testing.assert_close(program.module()(x), model(x))


@pytest.mark.parametrize(("device", "offsets"), [("cpu", [0, 64]), ("cuda", [0, 12])])
def test_constants_lie_where_torch_puts_them(device: str, offsets: list[int]) -> None:
    """One after the other in the blob of a GPU, at multiples of 64 bytes in that of a CPU."""

    def constant(size: int) -> Any:
        return SimpleNamespace(
            is_cuda=device == "cuda",
            is_mkldnn=False,
            shape=(size,),
            dtype=torch.float32,
            numel=lambda: size,
            stride=lambda: (1,),
            storage_offset=lambda: 0,
            element_size=lambda: 4,
            untyped_storage=lambda: SimpleNamespace(nbytes=lambda: 4 * size),
        )

    held = {"a": constant(3), "b": constant(5)}
    graph = SimpleNamespace(
        constants=held,
        folded_constants=set(),
        get_original_value_of_constant=held.__getitem__,
        allocated_constant_name={"a": "a", "b": "b"},
        dynamo_flat_name_to_original_fqn={},
        mutated_buffers=set(),
    )
    assert [row.offset for row in inductor_library._constants(graph)] == offsets


def fake_compiler(path: Path, *lines: str) -> str:
    """g++ that links the static libstdc++, as where there is no other; `lines` answer first."""
    links = '*" -shared "*|"-shared "*) exec {0} -static-libstdc++ "$@";;\n*) exec {0} "$@";;'
    cases = "\n".join((*lines, links.format(shutil.which("g++"))))
    path.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}\nesac\n')
    path.chmod(0o755)
    return str(path)


def test_the_shared_runtime_is_named_where_a_compiler_finds_only_the_static_one(
    tmp_path: Path,
) -> None:
    asked = "-print-file-name=libstdc++.so) echo libstdc++.so;;"
    compiler = fake_compiler(tmp_path / "g++", asked)
    assert inductor_library.lacks_shared_runtime(compiler)
    model, x = torch.nn.Linear(5, 3).eval(), torch.randn(2, 5)
    with torch.no_grad(), inductor_config.patch({"cpp.cxx": (None, compiler)}):
        package = wb.package(model, (x,), path=tmp_path / "linear.pt2")
        torch.testing.assert_close(package(x), model(x))
    assert wb.check(tmp_path / "linear.pt2").ok
    assert not inductor_library.lacks_shared_runtime(shutil.which("g++") or "")


def test_a_library_with_a_runtime_of_its_own_is_in_no_package(
    tmp_path: Path,
) -> None:
    # of what Inductor writes nothing is built: the runtime is in whatever is linked so
    source = r'printf "#include <iostream>\nstatic int a = (std::cout << 1, 1);"'
    build = f'{shutil.which("g++")} -x c++ -fPIC -c - -o "$last"'
    built = f'*" -c "*) for last; do :; done; {source} | {build}; exit;;'
    compiler = inductor_config.patch({"cpp.cxx": (None, fake_compiler(tmp_path / "g++", built))})
    with compiler, pytest.raises(wb.WorkbenchError, match=r"linked statically with libstdc\+\+"):
        wb.package(torch.nn.Linear(5, 3).eval(), (torch.randn(2, 5),), path=tmp_path / "linear.pt2")
    assert not (tmp_path / "linear.pt2").exists()
