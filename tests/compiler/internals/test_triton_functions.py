"""How functions of Triton are pickled for another process."""

from __future__ import annotations

import importlib
import io
import linecache
import pickle
from pathlib import Path
from typing import Any

import pytest

from workbench.processes.shipping.anew import AnewPickler

TEXT = """
import triton, triton.language as tl
from triton.language import constexpr
import triton.language as lang
Whole, SCALE, UNUSED = tl.constexpr, tl.constexpr(3), 5

@triton.jit
def helper(v, times: lang.constexpr = SCALE):
    half: constexpr = times // 2
    return v * half

@triton.jit
def kernel(x, BLOCK: Whole):
    part: Whole = BLOCK // 2
    i = tl.arange(0, part)
    tl.store(x + i, helper(tl.load(x + i)))
"""


def test_names_that_only_the_text_has_travel_with_a_kernel() -> None:
    file = "<a cell of annotations>"
    linecache.cache[file] = (len(TEXT), None, TEXT.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(TEXT, file, "exec"), scope)
    buffer = io.BytesIO()
    AnewPickler(buffer).dump(scope["kernel"])
    kernel = pickle.loads(buffer.getvalue())
    there = kernel.fn.__globals__
    assert there is not scope
    # the code of neither function names these: Triton reads them in annotations and defaults
    assert {"Whole", "constexpr", "lang", "SCALE"} <= {*there}
    assert "UNUSED" not in there
    assert there["helper"].fn.__globals__ is there


COMPUTED = """
import triton, triton.language as tl

@triton.constexpr_function
def half(n):
    return n // 2

@triton.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, half(BLOCK)), 1.0)
"""


def test_a_function_of_constants_travels_with_the_kernel_that_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its globals are its whole module, the kernel that was not yet made among them."""
    (tmp_path / "computing.py").write_text(COMPUTED)
    monkeypatch.syspath_prepend(tmp_path)
    buffer = io.BytesIO()
    AnewPickler(buffer).dump(importlib.import_module("computing").kernel)
    kernel = pickle.loads(buffer.getvalue())
    assert [each.is_constexpr for each in kernel.params] == [False, True]
    assert kernel.fn.__globals__["half"](8) == 4
