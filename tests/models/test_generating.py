"""Decoding with a static cache: prefill and the steps come from one file, without compiling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fresh_process import run_fresh
from tests.models import generating


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt2", "qwen2"])
def test_a_static_cache_is_filled_and_used_from_the_file(name: str, tmp_path: Path) -> None:
    generating.save(name, str(tmp_path / "model.aotv"))
    told = run_fresh(tmp_path, "tests.models.generating", f"{name}={tmp_path / 'model.aotv'}")
    assert json.loads(told) == [name, None]
