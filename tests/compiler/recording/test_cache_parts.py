"""wb.why_recompiled: real pairs of compilations, and the part of the key in which they differ."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.cold_start.compile_cache import start_fast
from workbench.compiler.recording.recorder import Recorder
from workbench.report import Report

TABLE = torch.arange(4.0)


def scaled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * 2 + y


def scaled_otherwise(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * 3 + y


def with_table(x: torch.Tensor) -> torch.Tensor:
    return x + torch.tensor([1.0, 2.0, 3.0, 4.0])


def with_other_table(x: torch.Tensor) -> torch.Tensor:
    return x + torch.tensor([1.0, 2.0, 3.0, 5.0])


def record(
    fn: Callable[..., Any], *args: Any, level: str = "full", options: Any = None, **config: Any
) -> Report:
    """The record of a compilation in fresh caches of Dynamo."""
    torch.compiler.reset()
    with start_fast(), torch._inductor.config.patch(config), Recorder(level) as recorder:
        torch.compile(fn, fullgraph=True, options=options)(*args)
    return recorder.report()


@pytest.fixture(scope="module")
def first() -> Report:
    return record(scaled, torch.ones(8, 4), torch.ones(4))


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


def test_the_same_twice_has_the_same_key(first: Report) -> None:
    why = wb.why_recompiled(first, record(scaled, torch.zeros(8, 4), torch.zeros(4)))
    assert why.same
    assert "have the same key" in why.text
    assert not why.differences
    assert set(why.frame().same) == {True}


def test_another_shape(first: Report) -> None:
    why = wb.why_recompiled(first, record(scaled, torch.ones(16, 4), torch.ones(4)))
    assert why.differences == ("the shape of input 1 differs: (8, 4) / (16, 4)",)
    assert why.text.endswith(
        "was recompiled because the shape of input 1 differs: (8, 4) / (16, 4)."
    )
    assert next(iter(why.frame().part)) == "input 1"


def test_another_dtype_and_layout(first: Report) -> None:
    other = record(scaled, torch.ones(4, 8).T, torch.ones(4, dtype=torch.float64))
    why = wb.why_recompiled(first, other)
    assert "the strides of input 1 differ: (4, 1) / (1, 8)" in why.differences
    assert "the dtype of input 2 differs: float32 / float64" in why.differences


def test_an_input_has_the_name_that_the_caller_gave_it(first: Report) -> None:
    """As seen: "input 3" of a module, whose weights were counted with its arguments."""
    named = replace(first.request, inputs=("x: float32 [8, 4] on cpu", "y: float32 [4] on cpu"))
    other = record(scaled, torch.ones(16, 4), torch.ones(4))
    also = replace(other.request, inputs=("x: float32 [16, 4] on cpu", "y: float32 [4] on cpu"))
    why = wb.why_recompiled(replace(first, request=named), replace(other, request=also))
    assert why.differences == ("the shape of input 1 (x) differs: (8, 4) / (16, 4)",)
    html = why._repr_html_() or ""
    assert "input 1" in html
    assert "def forward" not in html


def test_another_option(first: Report) -> None:
    other = record(scaled, torch.ones(8, 4), torch.ones(4), options={"max_autotune": True})
    [difference] = wb.why_recompiled(first, other).differences
    assert difference == "the options differ: max_autotune default / True"
    back = wb.why_recompiled(other, first)
    assert back.differences == ("the options differ: max_autotune True / default",)


def test_another_configuration_of_torch(first: Report) -> None:
    other = record(scaled, torch.ones(8, 4), torch.ones(4), epilogue_fusion=False)
    [difference] = wb.why_recompiled(first, other).differences
    assert difference == "the options differ: epilogue_fusion default / False"
    torch.use_deterministic_algorithms(True)
    try:
        other = record(scaled, torch.ones(8, 4), torch.ones(4))
    finally:
        torch.use_deterministic_algorithms(False)
    differences = wb.why_recompiled(first, other).differences
    assert differences[0].startswith(
        "different values of deterministic algorithms: (False, False, True) / (True, "
    )
    assert "the options differ: deterministic default / True" in differences


def test_other_code(first: Report) -> None:
    why = wb.why_recompiled(first, record(scaled_otherwise, torch.ones(8, 4), torch.ones(4)))
    [difference] = why.differences
    at = difference.removeprefix("the graph differs at test_cache_parts.py:")
    assert at.partition(": ")[2].startswith("mul = torch.ops.aten.mul.Tensor(relu, 2) / mul")
    assert difference.endswith("mul = torch.ops.aten.mul.Tensor(relu, 3)")


def test_another_constant_in_the_graph() -> None:
    records = [record(f, torch.ones(4)) for f in (with_table, with_other_table, with_table)]
    [difference] = wb.why_recompiled(records[0], records[1]).differences
    assert difference.startswith("the values of constant _tensor_constant0 differ")
    assert wb.why_recompiled(records[0], records[2]).same


def test_a_backward_graph_has_a_key_of_its_own(first: Report) -> None:
    with torch.enable_grad():
        x = torch.ones(8, 4, requires_grad=True)
        torch.compiler.reset()
        with start_fast(), Recorder() as recorder:
            torch.compile(scaled, fullgraph=True)(x, torch.ones(4)).sum().backward()
    why = wb.why_recompiled(first, recorder.report())
    assert "only b has a backward graph" in why.differences


def test_the_keys_that_torch_describes_itself_are_comparable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    args = torch.ones(8, 4), torch.ones(4)
    light = record(scaled, *args, level="light")
    assert [row.outcome for row in light.cache if row.cache == "FX graph cache"] == ["miss"]
    why = wb.why_recompiled(record(scaled, *args), light)
    assert not why.differences
    unknown = [row.part for row in why.rows if row.same is None]
    assert unknown == ["constants"]
    other = record(scaled_otherwise, torch.ones(2, 4), args[1], level="light")
    differences = wb.why_recompiled(light, other).differences
    assert any("shape of input 1 differs: (8, 4) / (2, 4)" in text for text in differences)


def test_saved_records_are_compared_in_another_process(first: Report, tmp_path: Path) -> None:
    first.save(tmp_path / "a.wbr")
    record(scaled, torch.ones(16, 4), torch.ones(4)).save(tmp_path / "b.wbr")
    program = (
        "import sys, workbench as wb\n"
        f"print(wb.why_recompiled({str(tmp_path / 'a.wbr')!r}, {str(tmp_path / 'b.wbr')!r}))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert shown.stdout.strip() == (
        "b.wbr was recompiled because the shape of input 1 differs: (8, 4) / (16, 4)."
    )


def test_a_compiled_function_is_compared_with_its_file(tmp_path: Path) -> None:
    args = torch.ones(8, 4), torch.ones(4)
    compiled = wb.aot_compile(scaled, args)
    compiled.save(tmp_path / "scaled.aot")
    why = wb.why_recompiled(compiled, tmp_path / "scaled.aot")
    assert why.text.startswith("scaled and scaled.aot have the same key")
    other = wb.aot_compile(scaled, (torch.ones(2, 4), args[1]))
    assert wb.why_recompiled(compiled, other).a == "a"
    assert wb.why_recompiled(tmp_path / "scaled.aot", other).differences == (
        "the shape of input 1 (x) differs: (8, 4) / (2, 4)",
    )


def test_a_page_shows_what_differs(first: Report) -> None:
    why = wb.why_recompiled(first, record(scaled, torch.ones(16, 4), torch.ones(4)))
    page = why._repr_html_()
    assert "shape (8, 4); dtype float32" in page
    assert "torch&#x27;s sources" not in page  # the same in both


def test_what_has_no_key_is_named(first: Report, tmp_path: Path) -> None:
    with pytest.raises(wb.UsageError, match="has no cache key"):
        wb.why_recompiled(first, Report())
    with pytest.raises(wb.UsageError, match="int is not a report"):
        wb.why_recompiled(7, first)
    with pytest.raises(wb.ArtifactError, match="Cannot open"):
        wb.why_recompiled(tmp_path / "none.aot", first)


def test_the_record_stays_small(first: Report) -> None:
    rows = list(first.tables["cache_parts"])
    assert 20 < len(rows) < 60
    assert all(len(row.value) <= 200 for row in rows)
