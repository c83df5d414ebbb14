"""A library that asks for an executable stack does without; nothing else of the file changes."""

from __future__ import annotations

from pathlib import Path

from tests.artifacts.package_sample import SHARED_LIBRARY, library_with_weights
from workbench.artifacts.machine.elf_loading import clear_executable_stack


def test_a_library_with_weights_no_longer_asks_for_one(tmp_path: Path) -> None:
    library = library_with_weights(tmp_path)
    before = library.read_bytes()
    assert clear_executable_stack(library)
    after = library.read_bytes()
    (changed,) = (i for i, pair in enumerate(zip(before, after, strict=True)) if len({*pair}) > 1)
    assert (before[changed], after[changed]) == (7, 6)  # RWE, RW
    assert not clear_executable_stack(library)


def test_other_and_damaged_files_stay(tmp_path: Path) -> None:
    cut = library_with_weights(tmp_path).read_bytes()[:70]  # its program headers begin at 64
    for content in (b"", b"#" * 100, cut, SHARED_LIBRARY.read_bytes()):
        file = tmp_path / "file"
        file.write_bytes(content)
        assert not clear_executable_stack(file)
        assert file.read_bytes() == content
