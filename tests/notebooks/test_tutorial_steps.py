"""The synthetic traces of notebook 16: what the script writes, the first with three faults."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.worlds.profiles.reading.synthetic_trace import SyntheticTrace
from tests.worlds.profiles.reading.tutorial_steps import FOLDER, build_after, build_before
from workbench import read_profile


@pytest.mark.parametrize(
    ("name", "made"), [("16_before", build_before()), ("16_after", build_after())]
)
def test_the_files_are_what_the_script_writes(name: str, made: SyntheticTrace) -> None:
    kept = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    how = "python -m tests.worlds.profiles.reading.tutorial_steps"
    assert kept == json.loads(json.dumps(made.to_json())), how


def test_the_first_has_three_things_to_change_and_the_second_none() -> None:
    before, after = (read_profile(FOLDER / f"16_{name}.json.gz") for name in ("before", "after"))
    assert [each.kind for each in before.opportunities] == ["fusion", "sizes", "synchronisation"]
    assert after.opportunities == ()
