"""Each call that names no store has an empty one, and none of them is the user's."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from workbench.worlds.own_kernels.handles import tuning


@pytest.fixture(scope="module", autouse=True)
def own_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder, numbers = tmp_path_factory.mktemp("stores"), count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "store_path", lambda: folder / f"{next(numbers)}.sqlite")
        yield
