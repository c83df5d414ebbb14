"""Dicts in which a library notes things down are guarded by what is read of them, no more."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import tests.variant_samples as samples
import workbench as wb
from tests.variant_samples import Own, batch, noting
from workbench.compiler.aot_files.variants.registries import Registries, is_registry
from workbench.compiler.captured_code import specialized_values
from workbench.compiler.internals import torch_private as tp
from workbench.errors import ArtifactError

LIBRARY = "class Noted(dict): pass\nNOTED = Noted({'other': 1, 'scale': {'by': 2}})\n"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module that counts as installed."""
    (tmp_path / "noting_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    installed = (*specialized_values._INSTALLED, str(tmp_path))
    monkeypatch.setattr(specialized_values, "_INSTALLED", installed)
    found = importlib.import_module("noting_library")
    monkeypatch.setattr(samples, "LIBRARY", found)
    monkeypatch.setattr(samples, "OWN", Own(a=1, b=2))
    yield found
    del sys.modules["noting_library"]


def test_a_library_may_note_down_more_and_the_user_may_not(library: Any, tmp_path: Path) -> None:
    with torch.no_grad():
        recorded = wb.variants(noting, [(batch(4),)])
        dropped = recorded.frame("guards").query("why.str.contains('noting_library')")
        assert set(dropped.kind) == {"SEQUENCE_LENGTH", "CONSTANT_MATCH"}
        assert dropped.name.str.contains("NOTED").all()
        recorded.save(tmp_path / "f.aotv")
        library.NOTED.clear()
        library.NOTED.update({"new": 0, "scale": {"by": 2}, "other": 3})
        loaded = wb.load(tmp_path / "f.aotv", noting, on_miss="error")
        torch.testing.assert_close(loaded(batch(4)), noting(batch(4)))
        library.NOTED["scale"]["by"] = 3
        with pytest.raises(ArtifactError, match="No variant of noting"):
            loaded(batch(4))
        library.NOTED["scale"]["by"] = 2
        samples.OWN["c"] = 3
        with pytest.raises(ArtifactError, match=r"No variant of noting.*OWN"):
            loaded(batch(4))
        loaded.close()
        del library.NOTED["scale"]
        with pytest.raises(
            ArtifactError, match=r"reads 'scale' of noting_library\.NOTED, which is"
        ):
            wb.load(tmp_path / "f.aotv", noting)


def looped(x: torch.Tensor) -> torch.Tensor:
    """All keys in turn."""
    for key in samples.LIBRARY.NOTED:
        x = x + len(key)
    return x


ALL_KEYS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    looped,
    lambda x: x + len(samples.LIBRARY.NOTED),
    lambda x: x + 1 if samples.LIBRARY.NOTED else x,
    lambda x: x + len({**samples.LIBRARY.NOTED}),
    lambda x: x + len(list(samples.LIBRARY.NOTED.values())),
)
SOME_KEYS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda x: x + samples.LIBRARY.NOTED["scale"]["by"],
    lambda x: x + 1 if samples.LIBRARY.NOTED.get("nothing") is None else x,
    lambda x: x + 1 if "other" in samples.LIBRARY.NOTED else x,
)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("code", "is_order_needed"),
    [*((code, True) for code in ALL_KEYS), *((code, False) for code in SOME_KEYS)],
)
def test_code_that_asks_for_all_keys_keeps_its_guards(
    code: Callable[[torch.Tensor], torch.Tensor], is_order_needed: bool
) -> None:
    found, needless = Registries(), list[str]()

    def kept(guards: Any) -> list[bool]:
        needless.extend(found.needless(guards).values())
        return [True] * len(guards)

    with found.read_by_key():
        tp.OPTIMIZE.get()(backend="eager", guard_filter_fn=kept)(code)(batch(2))
    assert (not needless) is is_order_needed


def test_only_a_global_of_an_installed_module_is_a_registry(library: Any) -> None:
    assert is_registry(library.NOTED)
    assert not is_registry(library.Noted())  # somebody else's object of the library's class
    assert not is_registry(Own())
    assert not is_registry({"a": 1})
    library.NOTED[int] = 1  # what a file cannot name
    assert not is_registry(library.NOTED)
