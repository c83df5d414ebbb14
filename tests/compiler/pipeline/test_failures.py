"""Long messages of torch and Triton: what is kept of them is what says what is wrong."""

from __future__ import annotations

import pytest

from workbench.compiler.pipeline.failures import explain
from workbench.compiler.recording.recorder import Recorder

OF_TRITON = """at 16:30:
    # a comment of the user
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    line three
    line four
    line five
    line six
    big = tl.full([XBLOCK], 17179869184, tl.int32)
                              ^
Scalar 17179869184 is out of range for type int32"""
OF_GCC = """C++ compile error
Command:
g++ /tmp/a folder/inductor/ls/cls.main.cpp -D TORCH_INDUCTOR_CPP_WRAPPER -O3

Output:
cc1plus: fatal error: folder/inductor/ls/cls.main.cpp: No such file or directory
compilation terminated."""


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def test_an_error_of_triton_keeps_its_reason(recorder: Recorder) -> None:
    said = str(explain(RuntimeError(OF_TRITON), "f", recorder))
    assert "at 16:30:" in said
    assert "big = tl.full([XBLOCK], 17179869184, tl.int32)" in said
    assert "Scalar 17179869184 is out of range for type int32" in said
    assert "line four" not in said


def test_a_long_message_keeps_its_end(recorder: Recorder) -> None:
    words = "\n".join(f"line {n}" for n in range(40))
    said = str(explain(RuntimeError(words), "f", recorder))
    assert "line 0" in said
    assert "line 39" in said
    assert "line 20" not in said


def test_a_space_in_the_cache_folder_is_named(recorder: Recorder) -> None:
    said = str(explain(RuntimeError(OF_GCC), "f", recorder))
    assert "'/tmp/a folder/inductor/ls', has a space in its path" in said
    assert "TORCHINDUCTOR_CACHE_DIR" in said
    other = OF_GCC.replace("a folder", "folder")
    assert "has a space" not in str(explain(RuntimeError(other), "f", recorder))


def test_a_library_that_a_kill_cut_short_is_named(recorder: Recorder) -> None:
    said = str(explain(ImportError("/tmp/cache/ab/cab.main.so: file too short"), "f", recorder))
    assert "/tmp/cache/ab/cab.main.so, a library in torch's cache, is damaged" in said
    assert "delete it and compile again" in said
