"""What a program reads is changed after it was compiled: the answer is eager's, or a refusal."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.states import running
from tests.states.programs import HOLDERS, SPECIALS, VALUES, Program, held, programs, special

ROOT = Path(__file__).parents[2]
SEED = 34


@pytest.mark.parametrize(
    "count", [24, pytest.param(1000, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_a_change_of_state_is_answered_as_by_eager_or_refused(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    logging.disable(logging.WARNING)
    try:
        found = [running.live(program, tmp_path) for program in programs(SEED, count)]
    finally:
        logging.disable(logging.NOTSET)
        torch.compiler.reset()
    assert [f"{one.program.kind}: {one.fault}" for one in found if one.fault] == []
    # else the programs would be none that can be compiled, or none that read what is changed
    assert sum(one.captured for one in found) >= 0.9 * count
    assert sum(one.refused for one in found) >= 0.7 * count

    command = [sys.executable, "-m", "tests.states.running", str(tmp_path), str(SEED), str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == []
    assert len(list(tmp_path.glob("*.aot"))) >= 0.8 * count


KEYS = [special(way, f"k{i}") for i, way in enumerate(SPECIALS) if way.kind.endswith(" key")]
HELD = [
    held(holder, value, f"l{i}")
    for i, value in enumerate(VALUES)
    for holder in HOLDERS
    if value.kind == "TENSOR requires grad" and holder.kind == "local class"
]
OTHERS = [
    special(way, f"o{i}")
    for i, way in enumerate(SPECIALS)
    if way.kind in ("ellipsis", "module made by hand")
]


@pytest.mark.parametrize("program", [*KEYS, *HELD, *OTHERS], ids=lambda program: program.kind)
def test_a_file_refuses_what_it_can_name(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values behind keys that are no text, and tensors of which a file holds no guard."""
    monkeypatch.syspath_prepend(str(tmp_path))
    assert running.live(program, tmp_path).refused
    assert running.loaded(program, tmp_path) is None
    assert (tmp_path / f"{running.name_of(program)}.aot").exists()
