"""What is left out and what is kept while a function is compiled for a file."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.internals import torch_private as tp


def helper(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


def three_calls(x: torch.Tensor) -> torch.Tensor:
    return helper(helper(helper(x)))


def test_every_inlined_source_is_kept_and_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class_, _, method = tp.ADD_SOURCE.attribute.rpartition(".")
    holder = getattr(__import__(tp.ADD_SOURCE.module, fromlist=["_"]), class_)
    read: list[str] = []
    kept: list[Any] = []
    inner: Callable[..., None] = getattr(holder, method)

    def add_code(info: Any, code: types.CodeType) -> None:
        read.append(code.co_name)
        inner(info, code)
        kept.append(info)

    monkeypatch.setattr(holder, method, add_code)
    wb.aot_compile(three_calls, (torch.ones(4),))
    assert sorted(read) == ["helper", "three_calls"]
    firsts = {source.firstlineno for source in kept[-1].inlined_sources}
    assert firsts == {f.__code__.co_firstlineno for f in (helper, three_calls)}
