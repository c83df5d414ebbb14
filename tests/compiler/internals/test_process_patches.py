from __future__ import annotations

import types

import pytest

from workbench.compiler.internals.process_patches import StandIns


class Base:
    inherited = "base"


class Holder(Base):
    own = "own"


def replace_and_fail(module: types.ModuleType, table: dict[str, int]) -> None:
    with StandIns() as stand_ins:
        stand_ins.attribute(module, "there", "first")
        stand_ins.attribute(module, "there", "second")
        stand_ins.attribute(module, "new", "made up")
        stand_ins.attribute(Holder, "inherited", "hidden")
        stand_ins.entry(table, "kept", 2)
        stand_ins.entry(table, "added", 3)
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
