"""The listing in the README runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def test_the_listing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text()
    (listing,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    file = tmp_path / "listing.py"
    file.write_text(listing)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "listing"}
    exec(compile(listing, str(file), "exec"), names)
    promised = re.search(r"compiled\.report  # (.*)", listing)
    assert promised is not None
    assert repr(names["compiled"].report) == promised[1]  # type: ignore[attr-defined]
