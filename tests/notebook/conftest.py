from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench import api
from workbench.report import Report


class Compiled(SimpleNamespace):
    """Stands in for what the compiler returns; remembers what it was asked."""

    def save(self, path: str) -> None:
        Path(path).write_text("artifact")

    def __repr__(self) -> str:
        return "Compiled(stand-in)"


@pytest.fixture
def compile_calls(monkeypatch: pytest.MonkeyPatch, sample_report: Report) -> list[Any]:
    """The calls that reached the API, which compiles nothing here."""
    calls: list[Any] = []

    def aot_compile(fn: Any, args: Any, kwargs: Any, **rest: Any) -> Compiled:
        rest["progress"]("Dynamo", 0.1)
        calls.append(SimpleNamespace(fn=fn, args=args, kwargs=kwargs, **rest))
        return Compiled(report=sample_report)

    monkeypatch.setattr(api, "aot_compile", aot_compile)
    return calls


@pytest.fixture
def package_calls(monkeypatch: pytest.MonkeyPatch, sample_report: Report) -> list[Any]:
    """The calls of `package` that reached the API, which writes a stand-in here."""
    calls: list[Any] = []

    def package(fn: Any, args: Any, kwargs: Any, **rest: Any) -> Compiled:
        rest["progress"]("package: export", 0.1)
        calls.append(SimpleNamespace(fn=fn, args=args, kwargs=kwargs, **rest))
        Path(rest["path"]).write_text("package")
        return Compiled(report=sample_report)

    monkeypatch.setattr(api, "package", package)
    return calls
