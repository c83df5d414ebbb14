"""Children, parameters and buffers that an attribute hides: refused by name, live and loaded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import workbench as wb
from workbench.compiler.captured_code.inlined_code import find_modules

compile_eager = functools.partial(wb.aot_compile, backend="eager", capture="light")
X = torch.ones(2, 4)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.w = nn.Parameter(torch.ones(4))
        self.register_buffer("b", torch.ones(4))

    def forward(self, x: torch.Tensor) -> Any:
        return self.inner(x) * self.w + self.b


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of a class of its own, which a test may change."""
    owner = type("Own", (Net,), {"__module__": __name__, "__qualname__": "Own"})
    monkeypatch.setitem(globals(), "Own", owner)
    return owner()


def _in_instance(name: str, value: Any) -> Callable[[Any], None]:
    return lambda module: object.__setattr__(module, name, value)


def _in_class(name: str, value: Any) -> Callable[[Any], None]:
    return lambda module: setattr(type(module), name, value)


def _custom_getattr(self: Any, name: str) -> Any:
    return 7.0 if name == "w" else nn.Module.__getattr__(self, name)


def _custom_getattribute(self: Any, name: str) -> Any:
    return 7.0 if name == "w" else object.__getattribute__(self, name)


HIDDEN = {
    "child": (_in_instance("inner", nn.Linear(4, 4)), "Own.inner: an attribute of the object"),
    "parameter": (_in_instance("w", torch.zeros(4)), "shadows the parameter"),
    "buffer": (_in_instance("b", torch.zeros(4)), "shadows the buffer"),
    "vars": (lambda module: module.__dict__.update(w=torch.zeros(4)), "Own.w: an attribute of"),
    "a deeper one": (
        lambda module: object.__setattr__(module.inner, "weight", torch.zeros(4, 4)),
        "Own.inner.weight: an attribute of the object",
    ),
    "property": (_in_class("w", property(lambda _: 7.0)), "an attribute of the class Own shadows"),
    "class attribute": (_in_class("inner", staticmethod(torch.relu)), "shadows the child"),
    "__getattr__": (
        _in_class("__getattr__", _custom_getattr),
        "Own.__getattr__: the class",
    ),
    "__getattribute__": (_in_class("__getattribute__", _custom_getattribute), "__getattribute__"),
}


@pytest.mark.parametrize("where", ["live", "loaded", "hidden before it was loaded"])
@pytest.mark.parametrize("hide", HIDDEN)
def test_a_hidden_name_is_refused(net: Net, hide: str, where: str, tmp_path: Path) -> None:
    change, sentence = HIDDEN[hide]
    compiled: Any = compile_eager(net, (X,))
    compiled.save(tmp_path / "net.aot")
    if where == "loaded":
        compiled = wb.load(tmp_path / "net.aot", module=net, trust=True)
    if where in ("live", "loaded"):
        torch.testing.assert_close(compiled(X), net(X))
    change(net)

    def call() -> None:
        if where == "hidden before it was loaded":
            wb.load(tmp_path / "net.aot", module=net, trust=True)(X)
        compiled(X)

    with pytest.raises((wb.ContractError, wb.ArtifactError)) as caught:
        call()
    assert sentence in str(caught.value)


def test_bases_that_are_others_are_refused(net: Net) -> None:
    compiled = compile_eager(net, (X,))

    type(net).__bases__ = (type("Other", (Net,), {"w": 7.0}),)
    with pytest.raises(wb.ContractError, match="its base classes have changed since compilation"):
        compiled(X)


def test_a_name_that_is_shown_again_is_right(net: Net) -> None:
    compiled = compile_eager(net, (X,))
    vars(net)["w"] = torch.zeros(4)
    with pytest.raises(wb.ContractError, match="shadows the parameter"):
        compiled(X)
    del vars(net)["w"]
    torch.testing.assert_close(compiled(X), net(X))


class Hides(Net):
    """Hides names by itself, before anything is compiled."""

    act = None

    def __init__(self) -> None:
        super().__init__()
        self.act = nn.ReLU()
        object.__setattr__(self, "w", torch.full((4,), 5.0))

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)

    def forward(self, x: torch.Tensor) -> Any:
        return super().forward(x) + self.bias if self.act is None else x


def test_what_is_hidden_when_it_is_compiled_is_right_live_and_loaded(tmp_path: Path) -> None:
    module = Hides()
    compiled = compile_eager(module, (X,))
    torch.testing.assert_close(compiled(X), module(X))
    compiled.save(tmp_path / "hides.aot")
    loaded = wb.load(tmp_path / "hides.aot", module=module, trust=True)
    torch.testing.assert_close(loaded(X), module(X))
    vars(module)["b"] = torch.zeros(4)
    with pytest.raises(wb.ContractError, match=r"Hides\.b: an attribute of the object"):
        loaded(X)


class Holder(nn.Module):
    """Has a module that is not registered in it."""

    held: Any

    def __init__(self, held: Any) -> None:
        super().__init__()
        object.__setattr__(self, "held", held)


class InList(Holder):
    def forward(self, x: torch.Tensor) -> Any:
        return self.held[0](x)


class InDict(Holder):
    def forward(self, x: torch.Tensor) -> Any:
        return self.held["net"](x)


class AsAttribute(Holder):
    def forward(self, x: torch.Tensor) -> Any:
        return self.held(x)


class Plain:
    """No module: its method is compiled."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def run(self, x: torch.Tensor) -> Any:
        return self.held(x)


HOLDERS: dict[str, Callable[[Net], Any]] = {
    "list": lambda net: InList([net]),
    "dict": lambda net: InDict({"net": net}),
    "attribute": AsAttribute,
    "method": lambda net: Plain(net).run,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_module_that_is_held_unregistered(net: Net, holder: str, tmp_path: Path) -> None:
    call = HOLDERS[holder](net)
    live = compile_eager(call, (X,))
    live.save(tmp_path / "held.aot")
    loaded = wb.load(tmp_path / "held.aot", module=getattr(call, "__self__", call), trust=True)
    for compiled in (live, loaded):
        torch.testing.assert_close(compiled(X), call(X))
    handle = net.register_forward_hook(lambda *_: None)
    for compiled in (live, loaded):
        with pytest.raises(wb.ContractError, match="a hook was added"):
            compiled(X)
    handle.remove()
    vars(net)["w"] = torch.zeros(4)
    for compiled in (live, loaded):
        with pytest.raises(wb.ContractError, match="shadows the parameter"):
            compiled(X)


def test_modules_are_found_by_what_the_code_names(net: Net) -> None:
    plain = Plain({"used": net, "unused": Net()})
    vars(plain)["other"] = Net()
    assert find_modules({"plain": plain}, frozenset(("held", "used"))) == {
        "plain.held['used']": net
    }
