"""Saved and loaded: the file checks what the original checked, and can be compiled again."""

from __future__ import annotations

import functools
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

import workbench as wb

compile_eager = functools.partial(wb.aot_compile, backend="eager")
X = torch.randn(4, 8)
SCALE = 2.0
WEIGHT = torch.randn(8)
LAYER = torch.nn.Linear(8, 8)


def scaled(x: torch.Tensor, flag: bool = True) -> torch.Tensor:
    return x * SCALE if flag else x


def weighted(x: torch.Tensor) -> torch.Tensor:
    return x * WEIGHT


def layered(x: torch.Tensor) -> torch.Tensor:
    y: torch.Tensor = LAYER(x)
    return y + 1


CLASS_OF_A_PROMPT = """
import dataclasses, torch
@dataclasses.dataclass
class Pair:
    low: torch.Tensor
    high: torch.Tensor
def split(x):
    return Pair(x.clamp(max=0), x.clamp(min=0))
"""


class Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(10, 8)
        self.head = torch.nn.Linear(8, 10, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.head(self.embed(ids))
        return y.relu()


def roundtrip(compiled: Any, path: Path, **given: Any) -> Any:
    compiled.save(path)
    return wb.load(path, **given)


def test_a_loaded_function_checks_globals_constants_and_shapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = roundtrip(compile_eager(scaled, (X,)), tmp_path / "a.aot")
    torch.testing.assert_close(loaded(X), X * 2)
    assert set(loaded.check_globals().values()) == {"ok"}
    with pytest.raises(wb.ContractError, match="flag: compiled for True, got False"):
        loaded(X, flag=False)
    with pytest.raises(wb.ContractError, match="expected size 4 at dimension 0, got 2"):
        loaded(X[:2])
    with torch.no_grad(), pytest.raises(wb.ContractError, match="grad mode"):
        loaded(X)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    with pytest.raises(wb.ContractError, match=r"SCALE .* compiled with 2\.0, now 3\.0"):
        loaded(X)
    with pytest.raises(wb.ArtifactError, match=r"SCALE .* compiled with 2\.0, now 3\.0"):
        wb.load(tmp_path / "a.aot")


def test_a_global_that_is_not_reachable_is_said_to_be(tmp_path: Path) -> None:
    module = types.ModuleType("short_lived")
    exec("FACTOR = 2.0\ndef fn(x): return x * FACTOR", module.__dict__)
    sys.modules["short_lived"] = module
    try:
        compile_eager(module.fn, (X,)).save(tmp_path / "a.aot")
    finally:
        del sys.modules["short_lived"]
    loaded = wb.load(tmp_path / "a.aot")
    torch.testing.assert_close(loaded(X), X * 2)
    assert loaded.check_globals() == {
        "FACTOR (global of short_lived)": "not reachable in this process: compiled with 2.0"
    }


def test_tensors_and_modules_in_globals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = roundtrip(compile_eager(weighted, (X,)), tmp_path / "a.aot")
    monkeypatch.setitem(globals(), "WEIGHT", torch.ones(8))
    torch.testing.assert_close(loaded(X), X)

    compiled = compile_eager(layered, (X,))
    loaded = roundtrip(compiled, tmp_path / "b.aot", external_data={"LAYER": LAYER})
    torch.testing.assert_close(loaded(X), layered(X))

    other = torch.nn.Linear(8, 8)  # what is handed over wins over a global of the same name
    loaded = wb.load(tmp_path / "b.aot", external_data={"LAYER": other})
    torch.testing.assert_close(loaded(X), other(X) + 1)


def test_a_class_without_a_module_to_import_it_from(tmp_path: Path) -> None:
    module = types.ModuleType("typed_in")
    exec(CLASS_OF_A_PROMPT, module.__dict__)
    sys.modules["typed_in"] = module
    module.Pair.__module__ = "__main__"
    try:
        compile_eager(module.split, (X,)).save(tmp_path / "a.aot")
        assert isinstance(wb.load(tmp_path / "a.aot")(X), module.Pair)
    finally:
        del sys.modules["typed_in"]
    with pytest.raises(wb.ArtifactError, match=r"reads Pair .* f_globals={'Pair': …}"):
        wb.load(tmp_path / "a.aot")
    loaded = wb.load(tmp_path / "a.aot", f_globals={"Pair": module.Pair})
    torch.testing.assert_close(loaded(X).high, X.clamp(min=0))


def test_declared_dimensions_hold_after_loading(tmp_path: Path) -> None:
    shapes = {"a": {0: Dim("n", min=2, max=9)}, "b": {0: Dim("n", min=2, max=9)}}
    compiled = compile_eager(
        lambda a, b: a.sum(0) + b.sum(0), (X, X.clone()), dynamic_shapes=shapes
    )
    loaded = roundtrip(compiled, tmp_path / "a.aot")
    assert loaded(torch.ones(9, 8), torch.ones(9, 8)).shape == (8,)
    with pytest.raises(wb.ContractError, match="makes n 5, but"):
        loaded(torch.ones(9, 8), torch.ones(5, 8))
    with pytest.raises(wb.ContractError, match=r"outside the declared n in 2\.\.9"):
        loaded(torch.ones(10, 8), torch.ones(10, 8))


@pytest.mark.parametrize("weights", ["later", "inside", "beside", None])
def test_a_module_with_tied_weights(weights: str, tmp_path: Path) -> None:
    model, ids = Tied(), torch.tensor([1, 2, 3])
    compile_eager(model, (ids,)).save(tmp_path / "a.aot", weights=weights)
    if weights != "later":
        loaded = wb.load(tmp_path / "a.aot")
        assert loaded.module is not model
        assert loaded.module.head.weight is loaded.module.embed.weight
        with torch.device("meta"):
            empty = Tied()
        torch.testing.assert_close(wb.load(tmp_path / "a.aot", module=empty)(ids), model(ids))
    else:
        with pytest.raises(wb.ArtifactError, match=r"load\(path, module=model\)"):
            wb.load(tmp_path / "a.aot")
        loaded = wb.load(tmp_path / "a.aot", module=model)
        assert loaded.verify(ids).ok
    torch.testing.assert_close(loaded(ids), model(ids))


def test_gradients_on_parameters_do_not_hinder_saving(tmp_path: Path) -> None:
    model, ids = Tied(), torch.tensor([1, 2, 3])
    model(ids).sum().backward()
    grad = model.embed.weight.grad
    loaded = roundtrip(compile_eager(model, (ids,)), tmp_path / "a.aot", module=model)
    assert model.embed.weight.grad is grad
    torch.testing.assert_close(loaded(ids), model(ids))

    def through(ids: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = model(ids)
        return y + 1

    loaded = roundtrip(
        compile_eager(through, (ids,)), tmp_path / "b.aot", external_data={"model": model}
    )
    assert model.embed.weight.grad is grad
    torch.testing.assert_close(loaded(ids), model(ids) + 1)


def test_builtins_lambdas_and_partials_can_be_saved(tmp_path: Path) -> None:
    shift = functools.partial(torch.add, torch.ones(8))
    for i, fn in enumerate([torch.sin, torch.nn.functional.gelu, lambda x: x + 1, shift]):
        loaded = roundtrip(compile_eager(fn, (X,)), tmp_path / f"{i}.aot")
        torch.testing.assert_close(loaded(X), fn(X))


def test_the_same_request_compiled_again(tmp_path: Path) -> None:
    compiled = wb.aot_compile(
        scaled,
        (X,),
        options={"max_autotune": False},
        grad=False,
        dynamic_shapes={"x": {0: Dim("n", min=2, max=9)}},
    )
    compiled.save(tmp_path / "a.aot")
    again = wb.recompile(tmp_path / "a.aot")
    assert again.report.request.options == compiled.report.request.options
    assert again.enters_no_grad
    torch.testing.assert_close(again(X[:3]), X[:3] * 2)
    with pytest.raises(wb.ContractError):
        again(torch.ones(10, 8))

    model, ids = Tied(), torch.tensor([1, 2, 3])
    compile_eager(model, (ids,)).save(tmp_path / "b.aot")
    with pytest.raises(wb.ArtifactError, match="module=the module or function"):
        wb.recompile(tmp_path / "b.aot")
    torch.testing.assert_close(wb.recompile(tmp_path / "b.aot", model)(ids), model(ids))


def test_a_wrong_word_for_weights(tmp_path: Path) -> None:
    compiled = compile_eager(scaled, (X,))
    with pytest.raises(wb.UsageError, match="expected one of 'inside', 'beside', 'later'"):
        compiled.save(tmp_path / "a.aot", weights="all")
    with pytest.raises(wb.UsageError, match="needs a module; scaled is a function"):
        compiled.save(tmp_path / "a.aot", weights="inside")
    assert list(tmp_path.iterdir()) == []


def test_the_words_of_earlier_releases_for_weights(tmp_path: Path) -> None:
    compiled = compile_eager(Tied(), (torch.tensor([1, 2, 3]),))
    for old, new in (("bundle", "inside"), ("separate", "later")):
        with pytest.warns(DeprecationWarning, match=f"{old}' is weights='{new}' now") as heard:
            compiled.save(tmp_path / f"{old}.aot", weights=old)
        assert [item.filename for item in heard] == [__file__]
    assert wb.load(tmp_path / "bundle.aot").module is not None
    with pytest.raises(wb.ArtifactError, match=r"load\(path, module=model\)"):
        wb.load(tmp_path / "separate.aot")


class Locked(Tied):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def test_a_module_that_cannot_be_stored_is_handed_over_later(tmp_path: Path) -> None:
    model, ids = Locked(), torch.tensor([1, 2, 3])
    compiled = compile_eager(model, (ids,))
    with pytest.warns(UserWarning, match=r"a\.aot is written without weights\. The module cannot"):
        compiled.save(tmp_path / "a.aot")
    torch.testing.assert_close(wb.load(tmp_path / "a.aot", module=model)(ids), model(ids))
    with pytest.raises(wb.ArtifactError, match="Save with weights='later' and pass the module"):
        compiled.save(tmp_path / "b.aot", weights="inside")


def test_the_record_in_a_file_is_read_by_who_looks_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = roundtrip(compile_eager(scaled, (X,)), tmp_path / "a.aot")
    read: list[bytes] = []
    from_bytes = wb.Report.from_bytes
    monkeypatch.setattr(wb.Report, "from_bytes", lambda c: (read.append(c), from_bytes(c))[1])
    loaded(X)
    assert loaded.name == "scaled"
    assert read == []
    assert len(loaded.report.guards) > 0
    assert loaded.report is loaded.report
    assert len(read) == 1
