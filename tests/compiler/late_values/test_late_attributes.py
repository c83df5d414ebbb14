"""Modules that set attributes of their own late: a new one is asked, or a sentence says what to do.

Each was called before it was compiled; its file is loaded with a module that never was.
"""

from __future__ import annotations

import functools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

import workbench as wb
from workbench.compiler.internals import torch_private as tp

X = torch.ones(2, 3)


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        nn.init.ones_(self.linear.weight)
        nn.init.ones_(self.linear.bias)

    def gain(self) -> Any:
        return 2.0

    def forward(self, x: torch.Tensor) -> Any:
        return self.linear(x) * self.gain()


class ByMethod(Scaled):
    def gain(self) -> Any:
        if not hasattr(self, "_gain"):
            self._gain = 2.0
        return self._gain


class ByTry(Scaled):
    def gain(self) -> Any:
        try:
            return self._late
        except AttributeError:
            self._late = 2.0
            return self._late


class ByPlace(Scaled):
    """Keeps the device, as transformers' models and schedulers of diffusers do."""

    @property
    def place(self) -> torch.device:
        if not hasattr(self, "_place"):
            self._place = self.linear.weight.device
        return self._place

    def gain(self) -> Any:
        return 2.0 if self.place.type == "cpu" else 3.0


class ByCachedProperty(Scaled):
    @functools.cached_property
    def factor(self) -> float:
        return 2.0

    def gain(self) -> Any:
        return self.factor


class ByTensor(Scaled):
    def __init__(self) -> None:
        super().__init__()
        self._table: torch.Tensor | None = None

    def gain(self) -> Any:
        if self._table is None:
            self._table = torch.arange(3.0)
        return self._table


class ByBuffer(Scaled):
    def gain(self) -> Any:
        if not hasattr(self, "mask"):
            self.register_buffer("mask", torch.ones(3), persistent=False)
        return self.mask


class ByList(Scaled):
    def __init__(self) -> None:
        super().__init__()
        self.items: list[float] = []

    def gain(self) -> Any:
        if not self.items:
            self.items.append(2.0)
        return self.items[0]


class ByModule(Scaled):
    def gain(self) -> Any:
        if getattr(self, "extra", None) is None:
            self.extra = nn.Identity()
        return self.extra(torch.ones(3))


class Inside(Scaled):
    """Sets it in the call itself, which nobody can ask without its arguments."""

    def forward(self, x: torch.Tensor) -> Any:
        if not hasattr(self, "_ready"):
            self._ready = True
        return self.linear(x)


class OfPart(Scaled):
    def forward(self, x: torch.Tensor) -> Any:
        if not getattr(self.linear, "_is_initialized", False):
            self.linear._is_initialized = True
        return self.linear(x)


class OfConfig(Scaled):
    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace()

    def forward(self, x: torch.Tensor) -> Any:
        if not hasattr(self.config, "_kind"):
            self.config._kind = "sdpa"
        return self.linear(x) * (2 if self.config._kind == "sdpa" else 3)


class WithKey(Scaled):
    def __init__(self) -> None:
        super().__init__()
        self.tables: dict[int, torch.Tensor] = {}

    def table(self, size: int) -> torch.Tensor:
        if size not in self.tables:
            self.tables[size] = torch.ones(size)
        return self.tables[size]

    def forward(self, x: torch.Tensor) -> Any:
        return self.linear(x) * self.table(x.shape[-1])


class OfClass(Scaled):
    def forward(self, x: torch.Tensor) -> Any:
        if "_warm" not in vars(type(self)):
            type(self)._warm = 2.0
        return self.linear(x) * type(self)._warm


class Failing(Scaled):
    broken = False

    def gain(self) -> Any:
        if not hasattr(self, "_gain"):
            if self.broken:
                raise RuntimeError("no driver")
            self._gain = 2.0
        return self._gain


class Counting(Scaled):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> Any:
        self.calls += 1
        return self.linear(x)


def compiled(module: nn.Module, *, called: bool = True) -> Any:
    torch.compiler.reset()
    if called:
        module(X)
    return wb.aot_compile(module, (X,), backend="eager", grad=False)


def saved(kind: type[Scaled], folder: Path) -> Path:
    path = folder / f"{kind.__name__}.aot"
    compiled(kind()).save(path, weights="later")
    return path


@pytest.mark.parametrize(
    "kind",
    [ByMethod, ByTry, ByPlace, ByCachedProperty, ByTensor, ByBuffer, ByList, ByModule],
)
def test_what_a_method_or_property_sets_is_asked_for(kind: type[Scaled], tmp_path: Path) -> None:
    loaded = wb.load(saved(kind, tmp_path), module=kind())
    expected = kind()(X)
    assert torch.equal(loaded(X), expected)
    assert torch.equal(loaded(X), expected)


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        (Inside, "self._ready"),
        (OfPart, "self.linear._is_initialized"),
        (OfConfig, "self.config._kind"),
        (WithKey, "self.tables"),
    ],
)
def test_what_only_the_call_sets_is_named_with_what_to_do(
    kind: type[Scaled], place: str, tmp_path: Path
) -> None:
    module = kind()
    loaded = wb.load(saved(kind, tmp_path), module=module)
    with pytest.raises(wb.ContractError) as refused:
        loaded(X)
    said = str(refused.value)
    assert f"sets {place} in its first call, which came before the compilation" in said
    assert "Call the module once before loading, or save it with weights='inside'." in said
    module(X)
    assert torch.equal(loaded(X), kind()(X))


def test_a_setter_that_fails_here_is_said(tmp_path: Path, monkeypatch: Any) -> None:
    path = saved(Failing, tmp_path)
    loaded = wb.load(path, module=Failing())
    monkeypatch.setattr(Failing, "broken", True)
    with pytest.raises(wb.ContractError, match=r"self\._gain was set .*Error\): no driver"):
        loaded(X)


def test_a_class_that_lacks_what_it_was_given_late_is_named(tmp_path: Path) -> None:
    path = saved(OfClass, tmp_path)
    del OfClass._warm  # type: ignore[attr-defined]
    with pytest.raises(wb.ArtifactError, match=r"needs _warm, which OfClass does not have yet"):
        wb.load(path, module=OfClass())


@pytest.mark.parametrize(
    ("kind", "place"),
    [(Inside, "self._ready"), (ByTensor, "self._table"), (Counting, "self.calls")],
)
def test_code_that_fits_its_first_call_alone_says_so_and_is_not_saved_after_it(
    kind: type[Scaled], place: str, tmp_path: Path
) -> None:
    """Compiled before the first call, which sets what the code was compiled without."""
    once = compiled(kind(), called=False)
    once(X)
    with pytest.raises(
        wb.ContractError, match=f"sets {place} itself.*once in eager before compiling"
    ):
        once(X)
    for weights in ("inside", "later"):
        with pytest.raises(
            wb.ArtifactError, match=f"cannot be saved: it no longer accepts any call.*{place}"
        ):
            once.save(tmp_path / "a.aot", weights=weights)
    assert not (tmp_path / "a.aot").exists()


class Deep(Scaled):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Scaled() for _ in range(4))

    def forward(self, x: torch.Tensor) -> Any:
        for part in self.parts:
            x = part(x)
        return x


def test_the_tensors_in_guards_are_read_with_one_fake_mode(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """Torch makes one for each of the eight, with the whole stack; one more is for the code."""
    path = saved(Deep, tmp_path)
    kind, made = tp.FAKE_TENSOR_MODE.get(), []
    start = kind.__init__

    def count(self: Any, *args: Any, **kwargs: Any) -> None:
        made.append(self)
        start(self, *args, **kwargs)

    monkeypatch.setattr(kind, "__init__", count)
    loaded = wb.load(path, module=Deep())
    assert len(made) <= 2
    with pytest.raises(wb.ContractError, match=r"self\.parts.*weight: expected dtype float32"):
        wb.load(path, module=Deep().double())(X)
    assert torch.equal(loaded(X), Deep()(X))
