"""Long messages of torch and Triton: what is kept of them is what says what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.pipeline.failures import explain
from workbench.compiler.recording.recorder import Recorder
from workbench.errors import CaptureError
from workbench.views.overview.answer import answer, answer_text
from workbench.views.source_marks import sources

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


def test_a_missing_compiler_is_to_be_installed(recorder: Recorder) -> None:
    missing = RuntimeError("No working C++ compiler found in config.cpp.cxx: (None, 'g++')")
    assert str(explain(missing, "f", recorder)) == (
        "Compiling f failed: torch found no C++ compiler. Install g++, or name one in CXX before "
        "torch is imported."
    )


def test_a_space_in_the_cache_folder_is_named(recorder: Recorder) -> None:
    said = str(explain(RuntimeError(OF_GCC), "f", recorder))
    assert "'/tmp/a folder/inductor/ls', which has a space" in said
    assert "TORCHINDUCTOR_CACHE_DIR" in said
    other = OF_GCC.replace("a folder", "folder")
    assert "has a space" not in str(explain(RuntimeError(other), "f", recorder))


def test_a_library_that_a_kill_cut_short_is_named(recorder: Recorder) -> None:
    said = str(explain(ImportError("/tmp/cache/ab/cab.main.so: file too short"), "f", recorder))
    assert "/tmp/cache/ab/cab.main.so, a library in torch's cache, is damaged" in said
    assert "delete it and recompile" in said


def sizes(x: Any, w: Any) -> Any:
    return x @ w


def classes(x: Any, w: Any) -> Any:
    return x + None


def dtypes(x: Any, w: Any) -> Any:
    return torch.index_select(x, 0, w[0])


def devices(x: Any, w: Any) -> Any:
    return x + w.to("meta")[:3, :5]


def arguments(x: Any, w: Any) -> Any:
    return torch.relu(x, w, 3)


def raised(x: Any, w: Any) -> Any:
    raise ValueError("bad batch")


def attribute(x: Any, w: Any) -> Any:
    return x.nope()


def undefined(x: Any, w: Any) -> Any:
    return x + nothing  # type: ignore[name-defined]  # noqa: F821


def asserted(x: Any, w: Any) -> Any:
    assert x.shape[0] == 4
    return x


OWN = {
    sizes: "matmul does not take tensors of shapes [3, 5] and [4, 6]",
    classes: "add does not take a tensor of shape [3, 5]: TypeError",
    dtypes: "index_select: tensors used as indices must be long",
    devices: "add needs tensors on one device, not on cpu and meta",
    arguments: "relu does not take these arguments: relu() takes 1 positional argument but 3",
    raised: "it raises ValueError: bad batch",
    attribute: "it raises AttributeError: 'Tensor' object has no attribute 'nope'",
    undefined: "it raises NameError: name 'nothing' is not defined",
    asserted: "it raises AssertionError",
}


@pytest.mark.parametrize("fails", OWN, ids=lambda fails: fails.__name__)
def test_an_error_of_the_program_is_said_once_and_is_no_graph_break(fails: Any) -> None:
    line = fails.__code__.co_firstlineno + 1
    with pytest.raises(CaptureError) as caught:
        wb.aot_compile(fails, (torch.ones(3, 5), torch.ones(4, 6)))
    said = str(caught.value)
    assert said.startswith(f"{fails.__name__} fails on these inputs: {OWN[fails]}")
    assert f"test_failures.py:{line}" in said
    report = caught.value.report
    assert report is not None
    assert list(report.breaks) == []
    assert answer_text(report).count(OWN[fails]) == (fails is not dtypes)
    assert not [chip for chip in answer(report)["chips"] if chip["pane"] == "breaks"]
    if fails is not dtypes:
        marks = [mark for source in sources(report) for mark in source["marks"]]
        assert [m["id"].rpartition(":")[2] for m in marks if m["state"] == "failed"] == [str(line)]
