"""Models of timm, diffusers, PyG, torchmetrics, kornia, e3nn and normflows, from their configs.

Each is compiled, saved, loaded in a fresh process without a compiler and compared with eager, or
refused: by torch itself, or at save with our sentence. `results.json` says which of it, with the
reason; `python -m tests.libraries COLUMN` writes it. A verdict that changes, to the better too,
fails; a model whose column is not in the table yet has to be right or refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.libraries import installed, models
from tests.libraries.__main__ import BATCH, judged, load
from tests.libraries.cells import COLUMNS

ROWS: Mapping[str, Mapping[str, Any]] = load()["models"]
REFUSED = {"refused at save", "torch refuses", "torch differs"}
SAMPLE = ("torch_geometric/gcn", "kornia/blur")
NAMES = tuple(models.BUILDERS)
GROUPS = tuple(NAMES[start : start + BATCH] for start in range(0, len(NAMES), BATCH))
COUNTS = {
    "timm": 25,
    "diffusers": 8,
    "torch_geometric": 8,
    "torchmetrics": 4,
    "kornia": 5,
    "e3nn": 5,
    "normflows": 3,
}


def assert_as_in_the_table(column: str, names: Sequence[str], folder: Path) -> None:
    if not installed.FOLDER.exists():
        pytest.skip("the libraries are not installed: make test and make test-all install them")
    found = judged(column, names, folder)
    assert found.keys() == set(names)
    for name, cell in found.items():
        known = ROWS[name].get(column)
        fits = {known["verdict"]} if known else {"right", *REFUSED}
        assert cell["verdict"] in fits, (name, cell)


def test_each_library_has_its_models() -> None:
    assert Counter(name.partition("/")[0] for name in models.BUILDERS) == COUNTS


def test_every_model_was_captured_and_no_fault_is_ours() -> None:
    assert list(ROWS) == list(models.BUILDERS)
    for name, row in ROWS.items():
        assert "captured" in row, name
        for cell in row.values():
            assert cell["verdict"] in {"right", *REFUSED}, name
            assert cell["verdict"] == "right" or cell["why"], name


def test_a_sample_is_captured_and_loads_in_a_fresh_process(tmp_path: Path) -> None:
    assert_as_in_the_table("captured", SAMPLE, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_a_few_models_are_as_in_the_table(
    names: Sequence[str], column: str, tmp_path: Path
) -> None:
    assert_as_in_the_table(column, names, tmp_path)
