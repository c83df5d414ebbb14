from __future__ import annotations

import pytest
from torch.export import Dim

from workbench.errors import UsageError
from workbench.notebook.dynamic import dynamic_shapes


def test_a_range_becomes_a_dim() -> None:
    shapes = dynamic_shapes(["x:0=batch[1..64]", "y:-1=n[..8]", "z:2=m", "z:1"])
    assert shapes is not None
    batch = shapes["x"][0]
    assert (batch.__name__, batch.min, batch.max) == ("batch", 1, 64)
    assert (shapes["y"][-1].__name__, shapes["y"][-1].max) == ("n", 8)
    assert shapes["z"][1] is Dim.AUTO


def test_one_name_is_one_dim() -> None:
    shapes = dynamic_shapes(["x:0=batch[2..64]", "y:0=batch"])
    assert shapes is not None
    assert shapes["x"][0] is shapes["y"][0]


def test_nothing_is_nothing() -> None:
    assert dynamic_shapes([]) is None


@pytest.mark.parametrize(
    "specs", [["x"], ["x:a"], ["x:0=b[1-2]"], ["x:0=b[1..2]", "y:0=b[1..3]"], ["0:x=b"]]
)
def test_another_form_is_refused(specs: list[str]) -> None:
    with pytest.raises(UsageError, match="-d"):
        dynamic_shapes(specs)
