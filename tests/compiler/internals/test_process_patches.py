from __future__ import annotations

import types

import pytest

from workbench.compiler.internals.process_patches import ProcessPatches


class Base:
    inherited = "base"


class Holder(Base):
    own = "own"


def replace_and_fail(module: types.ModuleType, table: dict[str, int]) -> None:
    with ProcessPatches() as process_patches:
        process_patches.attribute(module, "there", "first")
        process_patches.attribute(module, "there", "second")
        process_patches.attribute(module, "new", "made up")
        process_patches.attribute(Holder, "inherited", "hidden")
        process_patches.entry(table, "kept", 2)
        process_patches.entry(table, "added", 3)
        assert (module.there, module.new, Holder.inherited) == ("second", "made up", "hidden")
        assert table == {"kept": 2, "added": 3}
        raise ZeroDivisionError


def test_everything_is_as_before_after_an_error() -> None:
    module = types.ModuleType("machine")
    module.there = "real"  # type: ignore[attr-defined]
    table = {"kept": 1}
    with pytest.raises(ZeroDivisionError):
        replace_and_fail(module, table)
    assert module.there == "real"
    assert not hasattr(module, "new")
    assert "inherited" not in vars(Holder)
    assert Holder.inherited == "base"
    assert table == {"kept": 1}
