"""Objects that are collected, and what of torch's guards a file goes on with as it was."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import functools
import gc
import gzip
import math
import os
import types
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.call_plan.live_guards import LiveGuards
from workbench.compiler.guards.guard_policy import Decisions
from workbench.handles.compiled import Compiled
from workbench.report.texts import HIDDEN
from workbench.views.pages.redaction import redact

compile_eager = functools.partial(wb.aot_compile, backend="eager")
X = torch.ones(3)


class Thing:
    """Something that only its identity tells from another."""


def looked_at(value: object) -> Decisions:
    """One live guard on the identity of an object."""
    entry = types.SimpleNamespace(
        guard_type="ID_MATCH",
        derived_guard_types=(),
        has_value=True,
        value=value,
        orig_guard=types.SimpleNamespace(name="G['thing']", create_fn=None),
    )
    return Decisions(entries=[entry], reasons=["an identity"], live=[True])


def test_a_call_is_refused_once_an_object_is_gone_that_was_compiled_in() -> None:
    thing = Thing()
    live = LiveGuards.of(looked_at(thing), {})
    compiled = compile_eager(lambda x: x + 1, (X,))
    plan = dataclasses.replace(compiled.plan, live=live)
    handle = Compiled(compiled.aot_fn, plan, compiled.report)
    torch.testing.assert_close(handle(X), X + 1)
    del thing
    gc.collect()
    with pytest.raises(
        wb.ContractError,
        match=r"thing: recompile, because the object at compilation no longer exists",
    ):
        handle(X)


def test_an_object_that_cannot_be_watched_is_held() -> None:
    live = LiveGuards.of(looked_at((thing := Thing(), 1)), {})
    held = [value for value in live.watched if isinstance(value, tuple)]
    assert held[0][0] is thing
    assert live.mismatches() == []


TABLE = {"f": lambda x: x * 2, "g": 3.0}
MODULE = math
LOCAL = type("Local", (), {"__qualname__": "made.<locals>.Local", "k": 2.0})()


def of_state(x: torch.Tensor) -> torch.Tensor:
    return TABLE["f"](x) * TABLE["g"] * MODULE.pi + LOCAL.k  # type: ignore[operator, attr-defined]


def of_environment(x: torch.Tensor) -> torch.Tensor:
    if os.environ.get("WB_TEST_MISSING") is None and os.environ["WB_TEST_TOKEN"] == "token-41":
        return x + 1
    return x + 2


def loaded(compiled: Any, tmp_path: Path) -> Any:
    compiled.save(tmp_path / "f.aot")
    return wb.load(tmp_path / "f.aot", trust=True)


def test_what_no_check_of_a_file_replaces_is_listed_with_its_value(tmp_path: Path) -> None:
    compiled = compile_eager(of_state, (X,))
    rows = compiled.report.frame("guards")
    frozen = {row.source: row.frozen for row in rows[rows.frozen.notna()].itertuples()}
    here = f"an object of {__name__}.made.<locals>.Local"
    assert frozen == {"G['LOCAL']": here}  # of all the others a file compares what was there
    assert "frozen at capture" not in " ".join(compiled.check_globals().values())

    handle = loaded(compiled, tmp_path)
    verdicts = handle.check_globals()
    assert verdicts["LOCAL"] == f"frozen at capture: {here}"
    assert verdicts[f"TABLE['g'] (global of {__name__})"] == "ok"
    facts = {row.name: row.value for row in handle.report.artifact}
    assert f"LOCAL ({here})" in facts["Frozen at capture"]
    report = wb.inspect(tmp_path / "f.aot")
    assert here in [row.frozen for row in report.guards]
    assert str(report).count(f"G['LOCAL']: {here}") == 1


def wrapped(function: Any) -> Any:
    """A decorator: what it wraps is in a cell."""

    @functools.wraps(function)
    def call(x: torch.Tensor) -> torch.Tensor:
        return function(x)  # type: ignore[no-any-return]

    return call


class Settings:
    """State that only the class has."""

    scale = torch.ones(3)
    act = torch.nn.functional.relu


OF_CLASS = Settings()
DOUBLE = wrapped(lambda x: x * 2)
WORDS = collections.Counter("aab")
ACTS = {"act": torch.nn.functional.relu}


def of_places(x: torch.Tensor) -> torch.Tensor:
    size = OF_CLASS.scale.shape[0]
    made: torch.Tensor = TABLE["f"](x) + DOUBLE(x) + WORDS["a"] + ACTS["act"](x) + size  # type: ignore[operator]
    return made + divmod(7, 2)[0]


@pytest.mark.parametrize(
    ("holder", "name", "value", "words"),
    [
        (TABLE, "f", lambda x: x * 3, r"TABLE\['f'\] .*: its code has changed since compilation"),
        (
            globals(),
            "DOUBLE",
            wrapped(lambda x: x * 4),
            r"DOUBLE.*cell_contents .*: its code has changed since compilation",
        ),
        (Settings, "scale", torch.ones(1), r"'scale'\] .*a tensor, float32\[3\].*float32\[1\]"),
        (Settings, "scale", torch.ones(6)[::2], "with strides"),
        (WORDS, "a", 3, r"WORDS\['a'\] .*: compiled with 2, now 3"),
        (WORDS, "c", 3, "WORDS .*compiled with"),
        (ACTS, "act", torch.nn.functional.softsign, r"ACTS\['act'\]"),
        (builtins, "divmod", lambda a, b: (5, 0), "divmod"),
    ],
)
def test_a_file_compares_what_lies_in_containers_cells_and_classes(
    holder: Any, name: str, value: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = loaded(compile_eager(of_places, (X,)), tmp_path)
    torch.testing.assert_close(handle(X), of_places(X))
    assert set(handle.check_globals().values()) == {"ok"}
    (monkeypatch.setitem if isinstance(holder, dict) else monkeypatch.setattr)(holder, name, value)
    with pytest.raises(wb.ContractError, match=words):
        handle(X)
    assert "changed" in " ".join(handle.check_globals().values())


def of_builtins(x: torch.Tensor) -> torch.Tensor:
    return x * sum(TABLE.keys() == {"f", "g"} for _ in range(2))


def test_what_torch_puts_among_the_globals_is_not_listed(tmp_path: Path) -> None:
    verdicts = loaded(compile_eager(of_builtins, (X,)), tmp_path).check_globals()
    assert not any(how.startswith("frozen") for how in verdicts.values()), verdicts


SHARED = torch.ones(3)


def of_tensor(x: torch.Tensor) -> torch.Tensor:
    return x + SHARED


def test_a_file_names_the_tensor_that_its_own_guards_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = loaded(compile_eager(of_tensor, (X,)), tmp_path)
    monkeypatch.setitem(globals(), "SHARED", torch.ones(3, dtype=torch.float64))
    with pytest.raises(wb.ContractError, match=r"SHARED .*float64"):
        handle(X)
    assert "float64" in handle.check_globals()[f"SHARED (global of {__name__})"]


KEPT = [1.0]


def of_default(x: torch.Tensor, factors: list[float] = KEPT, power: int = 2) -> torch.Tensor:
    return x * factors[0] ** power


def test_a_default_that_can_be_changed_is_listed(tmp_path: Path) -> None:
    verdicts = loaded(compile_eager(of_default, (X,)), tmp_path).check_globals()
    listed = {name: how for name, how in verdicts.items() if how.startswith("frozen")}
    assert listed == {"factors (default of of_default)": "frozen at capture: [1.0]"}


@pytest.mark.parametrize("kept", [False, True], ids=["read at the call", "in globals"])
def test_no_file_has_a_value_of_the_environment(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = f"sesame{40 + 1}"  # as it stands nowhere in the source, which is in the file
    state = {"TOKEN": token, "TOKENS": (token, "b"), "SET": {token}}
    monkeypatch.setenv("WB_TEST_TOKEN", token)
    for name, value in state.items():
        monkeypatch.setitem(globals(), name, value)
    compiled = compile_eager(of_tokens if kept else of_environment, (X,))
    handle = loaded(compiled, tmp_path)
    with zipfile.ZipFile(tmp_path / "f.aot") as archive:
        members = [archive.read(name) for name in archive.namelist()]
    unpacked = [gzip.decompress(m) if m.startswith(b"\x1f\x8b") else m for m in members]
    assert not any(token.encode() in member for member in unpacked)
    assert token not in compiled.report.frame("guards").to_string()
    assert "salted hash" in wb.inspect(tmp_path / "f.aot").frame("guards").to_string()
    handle(X)
    monkeypatch.setenv("WB_TEST_TOKEN", "another")
    monkeypatch.setitem(globals(), "TOKENS", ("another", "b"))
    with pytest.raises(wb.ContractError, match="a different value of an environment") as had:
        handle(X)
    assert token not in str(had.value)


def of_tokens(x: torch.Tensor) -> torch.Tensor:
    factor = 2.0 if TOKEN == "b" or "b" in SET else 3.0  # type: ignore[name-defined]  # noqa: F821
    return x * factor * (1.0 if TOKENS[0] == "b" else 4.0)  # type: ignore[name-defined]  # noqa: F821


def test_a_global_that_is_another_module_is_refused_after_loading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = loaded(compile_eager(of_state, (X,)), tmp_path)
    torch.testing.assert_close(handle(X), of_state(X))
    monkeypatch.setitem(globals(), "MODULE", types.SimpleNamespace(pi=math.pi))
    with pytest.raises(wb.ContractError, match=r"MODULE .*: compiled with module math, now"):
        handle(X)


def test_a_variable_that_is_not_set_is_listed_and_no_other_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WB_TEST_TOKEN", "token-41")
    monkeypatch.delenv("WB_TEST_MISSING", raising=False)
    handle = loaded(compile_eager(of_environment, (X,)), tmp_path)
    frozen = {n: v for n, v in handle.check_globals().items() if v.startswith("frozen")}
    assert frozen == {"os.environ['WB_TEST_MISSING']": "frozen at capture: not set"}
    monkeypatch.setenv("WB_TEST_TOKEN", "another")
    with pytest.raises(wb.ContractError, match="WB_TEST_TOKEN"):
        handle(X)


def test_a_redacted_record_has_none_of_the_values() -> None:
    shown, _ = redact(compile_eager(of_state, (X,)).report)
    assert {row.frozen for row in shown.guards} == {None, HIDDEN}


COUNT = 0


def count() -> None:
    global COUNT
    COUNT += 1


def counted(x: torch.Tensor) -> torch.Tensor:
    count()
    return x * 2


def test_a_new_value_for_a_global_is_refused_when_it_is_compiled() -> None:
    with pytest.raises(wb.CaptureError, match="assigns to the global COUNT"):
        compile_eager(counted, (X,))
    assert COUNT == 0


def test_a_new_value_for_a_variable_of_another_module_reaches_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = types.ModuleType("wb_test_counts")
    other.n = 0  # type: ignore[attr-defined]
    monkeypatch.setitem(globals(), "OTHER", other)

    def steps(x: torch.Tensor) -> torch.Tensor:
        OTHER.n += 1  # type: ignore[name-defined]  # noqa: F821
        return x * 2

    compiled = compile_eager(steps, (X,))
    compiled(X)
    assert other.n == 1  # type: ignore[attr-defined]
    with pytest.raises(wb.ContractError, match=r"OTHER\.n .*: compiled with 0, now 1"):
        compiled(X)


SHARED = torch.ones(3)
PARTS = [torch.ones(3)]
LAYER = torch.nn.Linear(3, 3)
SETTINGS = types.SimpleNamespace(scale=3.0)


class Holder(torch.nn.Module):
    """Keeps the layer that is a global, too, and the settings."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.settings = LAYER, SETTINGS

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.inner(x) * self.settings.scale + LAYER(x)
        return y


class Scaled(torch.nn.Module):
    """Reads its settings by two names."""

    def __init__(self) -> None:
        super().__init__()
        self.settings = SETTINGS

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.settings.scale + SETTINGS.scale


@pytest.mark.parametrize(
    ("function", "same", "other", "words"),
    [
        (lambda a: a + SHARED, SHARED, X + 1, "a and SHARED must be one tensor"),
        (lambda a: SHARED * 2 + a, SHARED, X + 1, "SHARED and a must be one tensor"),
        (lambda a: a + PARTS[0], PARTS[0], X + 1, r"a and PARTS\[0\] must be one tensor"),
        (lambda a: a[0] + PARTS[0], PARTS, [X + 1], "a and PARTS must be one list"),
        (lambda a: a(X) + LAYER(X), LAYER, torch.nn.Linear(3, 3), "LAYER must be one module"),
    ],
)
def test_an_argument_that_was_a_global_has_to_be_it_again(
    function: Any, same: Any, other: Any, words: str, tmp_path: Path
) -> None:
    """Torch itself makes no such guard: it reads the argument for both."""
    compiled = compile_eager(function, (same,), grad=False)
    torch.testing.assert_close(compiled(same), function(same))
    with pytest.raises(wb.ContractError, match=words):
        compiled(other)
    with pytest.raises(wb.ArtifactError, match="which a file cannot check"):
        compiled.save(tmp_path / "a.aot")


def test_a_part_of_a_module_that_was_a_global_has_to_be_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = compile_eager(Holder(), (X,), grad=False)
    compiled(X)
    with pytest.raises(
        wb.ArtifactError, match=r"the global LAYER and self\.inner were the same object"
    ):
        compiled.save(tmp_path / "a.aot")
    monkeypatch.setitem(globals(), "LAYER", torch.nn.Linear(3, 3))
    with pytest.raises(wb.ContractError, match=r"self\.inner and LAYER must be one module"):
        compiled(X)


def test_settings_that_are_a_global_too_are_frozen_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = compile_eager(Scaled(), (X,), grad=False)
    compiled.save(tmp_path / "a.aot")
    loaded = wb.load(tmp_path / "a.aot", trust=True)
    torch.testing.assert_close(loaded(X), compiled(X))
    assert "SETTINGS" in dict(loaded.plan.frozen())
    monkeypatch.setitem(globals(), "SETTINGS", types.SimpleNamespace(scale=5.0))
    with pytest.raises(wb.ContractError, match=r"self\.settings and SETTINGS must be one"):
        compiled(X)
