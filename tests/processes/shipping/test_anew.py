"""Locks, context variables, weak references and hooks are made anew in the other process."""

from __future__ import annotations

import importlib
import io
import pickle
import subprocess
import sys
import threading
import types
import weakref
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
import torch

from tests.lazy_annotations import lazily_annotated
from workbench.processes.shipping.anew import AnewPickler


def packed(value: Any) -> bytes:
    buffer = io.BytesIO()
    AnewPickler(buffer).dump(value)
    return buffer.getvalue()


FACTOR: ContextVar[int] = ContextVar("factor", default=3)


class Holder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lock, self.again = threading.Lock(), threading.RLock()
        self.factor: ContextVar[int] = ContextVar("own", default=2)
        self.part = torch.nn.ReLU()
        self.parts = weakref.WeakValueDictionary({"part": self.part})
        self.seen, self.gone = weakref.ref(self.part), weakref.ref(torch.nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with self.lock, self.again:
            return self.part(x) * self.factor.get()


def test_what_a_module_holds() -> None:
    holder = Holder()
    holder.factor.set(5)
    arrived = pickle.loads(packed(holder))
    assert arrived(torch.ones(2)).tolist() == [5.0, 5.0]
    assert arrived.seen() is arrived.parts["part"] is arrived.part
    assert arrived.gone() is None


def test_code_keeps_its_file_whatever_cloudpickle_makes_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = cloudpickle.Pickler.dispatch_table[types.CodeType]

    def without_file(code: types.CodeType) -> Any:  # as releases from 3.1.3 on do
        make, values = own(code)
        return make, tuple("<dynamic-code>" if v == code.co_filename else v for v in values)

    monkeypatch.setitem(cloudpickle.Pickler.dispatch_table, types.CodeType, without_file)

    def outer(x: int) -> Any:
        return lambda: x

    arrived = pickle.loads(packed(outer))
    files = {arrived.__code__.co_filename, arrived(1).__code__.co_filename}
    assert files == {outer.__code__.co_filename} == {__file__}


def test_a_local_class_keeps_its_whole_name() -> None:
    class Local:
        pass

    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).__qualname__)"
    ran = subprocess.run(
        [sys.executable, "-c", code], input=packed(Local), capture_output=True, check=True
    )
    whole = "test_a_local_class_keeps_its_whole_name.<locals>.Local"
    assert ran.stdout.decode().strip() == whole


def test_a_context_variable_of_the_users_module_has_its_value() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * FACTOR.get()

    assert pickle.loads(packed(scaled))(torch.ones(1)).tolist() == [3.0]


LIBRARY = """
import threading
import types

LOCK = threading.Lock()
KNOWN = {}
state = []

def hooked(module):
    KNOWN[type(module).__name__] = 2.0
    def hook(_module, _args, output):
        state.append(1)
        return output * KNOWN[type(_module).__name__]
    hook.itself = hook
    module.register_forward_hook(hook)
    return module
"""


def test_a_hook_of_an_installed_module_has_the_variables_of_that_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "hooking_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(installed))
    importlib.invalidate_caches()
    library: Any = importlib.import_module("hooking_library")
    try:
        data = packed(library.hooked(torch.nn.ReLU()))
        library.KNOWN.clear()  # as in a process that never made such a module
        arrived = pickle.loads(data)
        hook = next(iter(arrived._forward_hooks.values()))
        assert hook.itself is hook
        assert hook.__globals__ is vars(library)
        assert arrived(torch.ones(1)).tolist() == [2.0]
        assert library.state == [1]
    finally:
        sys.modules.pop("hooking_library")


def test_a_function_of_a_module_that_no_import_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("made_here")
    monkeypatch.setitem(sys.modules, "made_here", module)
    exec("K = 2\ndef outer():\n    def inner(x): return x * K\n    return inner", vars(module))
    data = packed(module.outer())
    monkeypatch.delitem(sys.modules, "made_here")
    assert pickle.loads(data)(torch.ones(1)).tolist() == [2.0]


def test_a_function_whose_annotations_name_what_is_not_there() -> None:
    arrived = pickle.loads(packed(lazily_annotated()))
    assert arrived(1) == 3
    assert arrived.__annotations__["x"] == "Missing"
