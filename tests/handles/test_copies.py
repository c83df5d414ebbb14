"""Handles copied and pickled: they work, or one sentence says what to do."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.captured_graphs.program_parts import NoProgram
from workbench.handles.cross_compiled import CrossCompiled
from workbench.specs import Catalogue

X = torch.ones(4)


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class Scale:
    def __init__(self) -> None:
        self.k = 2.0

    def times(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.k


class Model(torch.nn.Module):
    def __init__(self, act: Callable[..., Any]) -> None:
        super().__init__()
        self.linear, self.act = torch.nn.Linear(4, 4), act

    def forward(self, x: torch.Tensor) -> Any:
        return self.act(self.linear(x))


def test_a_compiled_function_is_copied_as_a_function_is(tmp_path: Path) -> None:
    compiled = wb.aot_compile(doubled, (X,), backend="eager", grad=False)
    compiled.save(tmp_path / "a.aot")
    for handle in (compiled, wb.load(tmp_path / "a.aot")):
        assert copy.copy(handle) is handle
        model = Model(handle)
        with torch.no_grad():
            assert torch.equal(copy.deepcopy(model)(X), model(X))
        with pytest.raises(wb.WorkbenchError, match=r"doubled \(Compiled\) lives.*save"):
            pickle.dumps(handle)


def test_what_is_called_on_an_object_is_refused() -> None:
    method = wb.aot_compile(Scale().times, (X,), backend="eager", grad=False)
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(wb.WorkbenchError, match="lives in this process"):
            way(method)


@pytest.mark.parametrize("part", ["inlined", "live", "specialized"])
def test_a_part_of_a_plan_says_what_to_do(part: str) -> None:
    held = getattr(wb.aot_compile(doubled, (X,), backend="eager", grad=False).plan, part)
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(wb.WorkbenchError, match=r"lives in this process.*Save its compilation"):
            way(held)


def test_sessions_and_jobs_say_what_to_do() -> None:
    with wb.session() as session:
        torch.compile(doubled, backend="eager")(X)
    job = wb.compile_async(doubled, (X,), backend="eager")
    for way in (copy.deepcopy, pickle.dumps):
        with pytest.raises(wb.WorkbenchError, match=r"LiveSession.*\.save"):
            way(session)
        with pytest.raises(wb.WorkbenchError, match=r"Job.*result\(\)"):
            way(job)
    job.result()


def test_an_explanation_is_its_own_copy_and_names_its_record() -> None:
    found = wb.explain(doubled, (X,))
    assert copy.deepcopy(found) is found
    with pytest.raises(wb.WorkbenchError, match=r"Explanation.*\.report\.save"):
        pickle.dumps(found)


def test_records_are_pickled_and_copied_whole(tmp_path: Path) -> None:
    """Also the parts that are made, or read from a file, when they are first asked for."""
    report = wb.aot_compile(doubled, (X,), backend="eager", grad=False).report
    report.save(tmp_path / "a.wbr")
    opened = wb.Report.load(tmp_path / "a.wbr")
    for record in (report, opened, wb.diff(report, opened)):
        for again in (pickle.loads(pickle.dumps(record)), copy.deepcopy(record)):
            assert repr(again) == repr(record)
    for one in (report, opened):
        again = pickle.loads(pickle.dumps(one))
        assert dict(again.texts) == dict(report.texts)
        assert again.to_json()["tables"] == report.to_json()["tables"]


def test_variants_and_code_for_a_gpu_elsewhere_are_refused() -> None:
    torch.compiler.reset()
    variants = wb.variants(doubled, [(X,)])
    compiled = wb.aot_compile(doubled, (X,), backend="eager", grad=False)
    gpu = Catalogue.built_in()["h100"]
    there = CrossCompiled(compiled.report, gpu, doubled, NoProgram("It was not compiled."))
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        for handle in (variants, there):
            with pytest.raises(wb.WorkbenchError, match=r"doubled .*lives in this.*\.save"):
                way(handle)
    assert pickle.loads(pickle.dumps(gpu)) == gpu


def test_what_belongs_to_a_handle_is_saved_with_it(tmp_path: Path) -> None:
    compiled = wb.aot_compile(doubled, (X,), backend="eager", grad=False)
    package = wb.package({"a": doubled}, {"a": (X,)}, path=tmp_path / "a.pt2")
    parts = [
        compiled.guard_sandbox,
        compiled.plan,
        compiled.recipe,
        compiled.retarget,
        compiled.live_budgets,
        package["a"].weights,
    ]
    for part in parts:
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(wb.WorkbenchError, match="Save its compilation"):
                way(part)
    for way in (copy.deepcopy, pickle.dumps):
        with pytest.raises(wb.WorkbenchError, match=r"Shown lives.*\.report\.save"):
            way(wb.show(compiled))


def test_the_record_of_a_session_is_pickled_with_its_reports() -> None:
    torch.compiler.reset()
    record = wb.variants(doubled, [(X,)]).session
    for again in (pickle.loads(pickle.dumps(record)), copy.deepcopy(record)):
        assert repr(again) == repr(record)
        assert repr(again.report(0)) == repr(record.report(0))


@pytest.mark.parametrize("is_loaded", [False, True], ids=["compiled", "loaded"])
def test_compiled_code_and_its_weights_go_with_the_last_reference(
    is_loaded: bool, tmp_path: Path
) -> None:
    """A circle would keep them until a garbage collection, on a GPU too."""
    x, model = torch.ones(2, 4), torch.nn.Linear(4, 4).eval()
    compiled = wb.aot_compile(model, (x,), backend="eager")
    if is_loaded:
        compiled.save(tmp_path / "linear.aot")
        compiled = wb.load(tmp_path / "linear.aot", module=model)
    compiled(x)
    gc.collect()  # torch's compiler leaves circles of its own
    gc.disable()
    try:
        handle, weight = weakref.ref(compiled), weakref.ref(model.weight)
        del compiled, model
        assert (handle(), weight()) == (None, None)
    finally:
        gc.enable()
