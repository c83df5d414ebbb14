"""What the suite gave with each Python and torch, as it stands in results.json."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

PATH = Path(__file__).parent / "results.json"


@dataclass(frozen=True)
class Row:
    """One run: `python` and `torch` in full, `build` as torch names it, `part` as it was asked for.

    `missing` are private names that the release does not have, `failures` the ids of tests.
    """

    python: str
    torch: str
    build: str
    triton: str
    date: str
    part: str
    passed: int
    failed: int
    errors: int
    skipped: int
    missing: tuple[str, ...]
    failures: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """The minor releases of Python and torch: one row is kept of each pair."""
        return minor(self.python), minor(self.torch)


def minor(version: str) -> str:
    """The minor release of a version, such as 2.13 of 2.13.0+cpu."""
    return ".".join(version.split(".")[:2])


def load(path: Path = PATH) -> list[Row]:
    """Every row, the older releases first."""
    rows = json.loads(path.read_text()) if path.exists() else []
    return [
        Row(**{**row, "missing": (*row["missing"],), "failures": (*row["failures"],)})
        for row in rows
    ]


def keep(row: Row, path: Path = PATH) -> None:
    """Write a row in place of the one of the same minor releases."""
    rows = {one.key: one for one in (*load(path), row)}
    ordered = sorted(rows.values(), key=lambda one: _numbers(one.key))
    path.write_text(json.dumps([asdict(one) for one in ordered], indent=1) + "\n")


def _numbers(key: tuple[str, str]) -> list[list[int]]:
    return [[int(part) for part in version.split(".")] for version in key]


def counted(junit: Path) -> tuple[dict[str, int], tuple[str, ...]]:
    """Passed, failed, errors and skipped of a run that pytest wrote as JUnit XML, and what failed.

    Raises `ValueError` where no test ran.
    """
    root = ElementTree.parse(junit).getroot()
    counts = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
    failures = []
    kinds = {"failure": "failed", "error": "errors", "skipped": "skipped"}
    for case in root.iter("testcase"):
        kind = next((kinds[child.tag] for child in case if child.tag in kinds), "passed")
        counts[kind] += 1
        if kind in ("failed", "errors"):
            failures.append(f"{case.get('classname')}::{case.get('name')}")
    if not sum(counts.values()):
        raise ValueError("no test ran")
    return counts, tuple(failures)
