"""Twenty models: compiled, saved, loaded in a fresh process without a compiler, compared.

Some also with what they keep of keys and values, as an output and as an input, or with gradients.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import workbench as wb
from tests.fresh_process import run_fresh
from tests.models import zoo

SAMPLE = ("gpt2@1+gradients",)
REST = tuple(name for name in zoo.names() if name not in SAMPLE)


def save(name: str, folder: Path) -> Path:
    case = zoo.build(name)
    compiled = wb.aot_compile(case.model, (), dict(case.inputs), grad=case.learns)
    path = folder / f"{name}.aot"
    compiled.save(path)
    return path


def assert_they_load(names: tuple[str, ...], folder: Path) -> None:
    saved = [f"{name}={save(name, folder)}" for name in names]
    lines = run_fresh(folder, "tests.models.loads", *saved).splitlines()
    found = dict(json.loads(line) for line in lines)
    assert found == dict.fromkeys(names)


def test_the_zoo_has_twenty_models():
    assert len(zoo.BUILDERS) == 20


def test_a_sample_loads_in_a_fresh_process(tmp_path):
    assert_they_load(SAMPLE, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", REST)
def test_every_model_loads_in_a_fresh_process(name, tmp_path):
    assert_they_load((name,), tmp_path)
