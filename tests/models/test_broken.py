"""Models with a print in their midst are saved with variants and load without compiling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fresh_process import run_fresh
from tests.models import zoo

# of the others a part takes none in the loss, so that its backward never runs: they are refused
LEARNING = ("gpt2+gradients", "llama+gradients", "convnext+gradients")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*zoo.BUILDERS, *LEARNING])
def test_a_model_with_a_print_loads_in_a_fresh_process(name: str, tmp_path: Path) -> None:
    file = str(tmp_path / "model.aotv")
    run_fresh(tmp_path, "tests.models.saving", "broken", name, file, compiler=True)
    told = run_fresh(tmp_path, "tests.models.broken_loads", f"{name}={file}")
    assert json.loads(told) == [name, None]
