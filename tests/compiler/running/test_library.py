"""The library of a model: what it lacks and what it says when it fails."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from tests.artifacts.package_sample import library_with_weights
from tests.older_releases import since
from workbench.artifacts.machine.elf_loading import clear_executable_stack
from workbench.compiler.running.container import BindingContainer, Library

FAILING = """
int AOTInductorModelContainerFreeInactiveConstantBuffer(void *container) { return 1; }
int AOTInductorModelContainerSwapConstantBuffer(void *container) { return 0; }
"""
SAYS_WHY = """
int AOTInductorGetLastError(const char **text) {
    *text = "no room for 3 tensors.\\nException raised from allocate at a.cpp:7";
    return 0;
}
"""


def library(folder: Path, source: str, *options: str) -> Library:
    """A library made from C."""
    (folder / "a.c").write_text(source)
    command = ["gcc", "-shared", "-fPIC", "a.c", "-o", "a.so", *options]
    subprocess.run(command, cwd=folder, check=True)
    return Library(folder / "a.so")


def test_an_error_carries_the_reason_without_the_stack(tmp_path: Path) -> None:
    made = library(tmp_path, FAILING + SAYS_WHY)
    made.check(made.function("SwapConstantBuffer")(None))
    with pytest.raises(wb.RunError, match=r"^The compiled code failed: no room for 3 tensors\.\n"):
        made.check(made.function("FreeInactiveConstantBuffer")(None))


def test_an_error_without_a_reason_is_one_too(tmp_path: Path) -> None:
    made = library(tmp_path, FAILING)
    with pytest.raises(wb.RunError, match="it gives no reason"):
        made.check(made.function("FreeInactiveConstantBuffer")(None))


def test_what_a_library_lacks_is_named(tmp_path: Path) -> None:
    made = library(tmp_path, FAILING)
    with pytest.raises(
        wb.ArtifactError, match="has no AOTInductorModelContainerRun: its torch release"
    ):
        made.function("Run")


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(b"no library")
    with pytest.raises(wb.ArtifactError, match="cannot be loaded here"):
        Library(tmp_path / "a.so")


def test_a_library_with_a_runtime_of_its_own_is_refused_before_it_runs(tmp_path: Path) -> None:
    stream = 'char stream __asm__("_ZSt4cerr") = 1;'  # what is linked statically defines it
    start = "__attribute__((constructor)) static void begin(void) { __builtin_trap(); }"
    with pytest.raises(wb.ArtifactError, match=r"linked statically with libstdc\+\+"):
        library(tmp_path, FAILING + stream + start)


def test_a_system_that_refuses_executable_stacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = ctypes.CDLL, []

    def newer(path: str, mode: int) -> Any:  # what glibc does from 2.41 on
        asked.append(clear_executable_stack(Path(shutil.copy(path, tmp_path / "copy.so"))))
        if asked[-1]:
            raise OSError(f"{path}: cannot enable executable stack as shared object requires")
        return real(path, mode=mode)

    monkeypatch.setattr(ctypes, "CDLL", newer)
    assert library(tmp_path, FAILING, "-z", "execstack").function("SwapConstantBuffer")(None) == 0
    assert asked == [True, False]


@since("2.13", "the library is of torch 2.13")
def test_torchs_own_runner_gets_it_without_an_executable_stack(tmp_path: Path) -> None:
    path = library_with_weights(tmp_path)
    assert BindingContainer(path, runners=1, device="cpu").constants
    assert not clear_executable_stack(path)


@since("2.13", "a library does not say why a call failed")
def test_a_call_that_fails_says_why_and_the_next_one_runs(
    tied: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    package = tied.load()
    batch = tied.args[0]
    with pytest.raises(wb.RunError, match="index out of bounds"):
        package({**batch, "ids": torch.full((4, 8), 50)})  # of 50 rows
    torch.testing.assert_close(package(batch), tied.eager())
    assert capfd.readouterr().err == ""
