"""The listings in the README run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "README.md").read_text()
LISTINGS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def run(listings: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.chdir(folder)
    names: dict[str, object] = {"__name__": "listing"}
    for number, listing in enumerate(listings):
        file = folder / f"listing_{number}.py"
        file.write_text(listing)
        exec(compile(listing, str(file), "exec"), names)
    return names


def test_the_first_listing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run(LISTINGS[:1], tmp_path, monkeypatch)
    promised = re.search(r"compiled\.report  # (.*)", LISTINGS[0])
    assert promised is not None
    assert repr(names["compiled"].report) == promised[1]  # type: ignore[attr-defined]


@pytest.mark.slow
def test_every_listing_runs_after_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = run(LISTINGS, tmp_path, monkeypatch)
    assert len(names["matrix"].frame()) == 4  # type: ignore[attr-defined]
    assert (tmp_path / "matrix.html").exists()
