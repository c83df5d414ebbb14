"""Classes and functions of the user are the same objects under their names in the worker."""

from __future__ import annotations

import enum
import importlib
import pickle
import sys
from pathlib import Path

import pytest
import torch

from tests.compiler.virtual_gpu.jobs import job
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.processes.shipping.shipped_values import import_sent_modules
from workbench.report import Report


class Kind(enum.Enum):
    PLAIN = 1
    SCALED = 2


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
        self.kind = Kind.SCALED

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x).relu()
        return x * 2 if self.kind is Kind.SCALED else x


def kept(report: Report) -> list[tuple[str, str]]:
    return sorted((guard.kind, guard.source) for guard in report.guards if guard.kept)


def test_a_module_of_the_user_keeps_the_guards_that_it_has_here(worker: CrossCompiler) -> None:
    model, x = Layer(), torch.randn(4, 16)
    there = worker.compiled(job(model, x)).report
    here = compile_ahead(CompileRequest(model, (x,)))
    assert len(kept(here.report)) > 12
    assert kept(there) == kept(here.report)


def test_what_was_sent_is_found_by_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "layers_of_a_user.py").write_text(
        "A = 1\nREST = 2\nclass Box:\n    def __init__(self): self.a = A\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    first = importlib.import_module("layers_of_a_user")
    monkeypatch.delitem(sys.modules, "layers_of_a_user")
    with import_sent_modules([("layers_of_a_user", "Box", first.Box)]):
        found = importlib.import_module("layers_of_a_user")
        assert found is not first
        assert found.Box is first.Box
        assert found.A == 1  # a global of its methods
        assert found.REST == 2  # not sent: imported when it was asked for
        assert pickle.loads(pickle.dumps(first.Box)) is first.Box
        with pytest.raises(AttributeError, match="has no attribute 'missing'"):
            _ = found.missing
    assert "layers_of_a_user" not in sys.modules


def test_the_rest_of_a_module_is_looked_for_in_its_package_that_nobody_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not on the path under the last part of its name, where a folder of that name may be."""
    (tmp_path / "outer_of_a_user" / "inner").mkdir(parents=True)
    (tmp_path / "outer_of_a_user" / "inner" / "layers.py").write_text("REST = 2\n")
    (tmp_path / "layers").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    name = "outer_of_a_user.inner.layers"
    with import_sent_modules([(name, "Kind", Kind)]):
        assert sys.modules[name].Kind is Kind
        assert sys.modules[name].REST == 2
    with import_sent_modules([("outer_of_a_user.missing.layers", "Kind", Kind)]):
        assert sys.modules["outer_of_a_user.missing.layers"].Kind is Kind


def test_names_of_a_notebook_are_found_in_main() -> None:
    with import_sent_modules([("__main__", "Kind", Kind)]):
        assert sys.modules["__main__"].Kind is Kind
    assert not hasattr(sys.modules["__main__"], "Kind")
