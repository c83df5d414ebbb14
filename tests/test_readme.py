"""The README: short, its listing runs, what it names is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
READ = re.sub(r"<!--.*?-->", "", TEXT, flags=re.DOTALL)
TARGETS = re.findall(
    r"^    make ([\w-]+)|`make ([\w-]+)",
    TEXT + (ROOT / "CONTRIBUTING.md").read_text(),
    re.MULTILINE,
)
(LISTING,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
MOST_LINES, MOST_BYTES = 170, 10_000


def test_it_is_read_in_five_minutes() -> None:
    assert READ.count("\n") <= MOST_LINES
    assert len(READ.encode()) <= MOST_BYTES


def test_its_listing_runs_and_the_report_is_the_promised_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "listing.py").write_text(LISTING)
    names: dict[str, object] = {"__name__": "listing"}
    exec(compile(LISTING, "listing.py", "exec"), names)
    promised = re.search(r"compiled\.report  # (.*)", LISTING)
    assert promised is not None
    assert repr(names["compiled"].report) == promised[1]  # type: ignore[attr-defined]


def test_the_releases_of_torch_and_the_name_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (asked,) = (text for text in project["dependencies"] if text.startswith("torch"))
    first, last = re.findall(r"torch 2\.(\d+) to 2\.(\d+)", TEXT)[0]
    assert asked == f"torch>=2.{first},<2.{int(last) + 1}"
    assert f"The distribution is `{project['name']}`" in TEXT


def test_every_target_that_it_or_the_contributors_page_names_is_in_the_makefile() -> None:
    rules = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = {indented or quoted for indented, quoted in TARGETS}
    assert {"lab", "test-notebooks", "test-gpu"} <= named
    assert named - {*rules, "snapshot-2"} == set()


def test_what_it_says_of_eleven_capabilities_has_a_link_each() -> None:
    numbered = re.findall(r"^\d+\. (.*?)(?=^\d+\. |\n\n)", TEXT, re.DOTALL | re.MULTILINE)
    assert len(numbered) == 11
    assert [text for text in numbered if "](docs/pages/" not in text] == []
