"""What is said of the memory of all layers where the depths of a mesh disagree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.analysis.layers.test_fit import depth, fit
from workbench.errors import UsageError
from workbench.worlds.clusters.compiling import compiled_meshes


def test_depths_that_say_something_else_of_all_layers_tell_no_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled_meshes, "_read_depth", lambda part: part)
    depths = [depth(count, 300, 310) for count in (2, 3, 4)]
    more = [size + 500 for size in depths[2].kinds["temporary"]]
    placed = replace(depths[2], kinds={**depths[2].kinds, "temporary": more})
    told = replace(fit(32, 300, 310), depths=(depths[1], placed))
    found: Any = compiled_meshes.Mesh((depths[0], depths[1], placed), ())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"from 3 and 4 layers, .* from 2 and 4"):
        compiled_meshes._explain_line(told, found)
    straight = replace(told, depths=tuple(depths[1:]))
    assert compiled_meshes._explain_line(straight, found) == ""
