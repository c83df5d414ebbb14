"""Which functions of the package each test runs: a plugin of pytest, `-p tests.mutants.reach`.

By cProfile, in the process and thread of the test: of what a test runs in other processes nothing
is seen. A row of `REACH_FOLDER/*.jsonl` is a test: its id, seconds and functions as `file:line`.
"""

from __future__ import annotations

import cProfile
import json
import os
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from time import perf_counter
from types import CodeType

import pytest

PACKAGE = Path(__file__).parents[2] / "workbench"
FOLDER = "REACH_FOLDER"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test and write what it called."""
    profiler, start = cProfile.Profile(builtins=False), perf_counter()
    profiler.enable()
    try:
        return (yield)
    finally:
        profiler.disable()
        row = {
            "test": item.nodeid,
            "seconds": round(perf_counter() - start, 2),
            "functions": sorted(_list_functions(profiler)),
        }
        with (Path(os.environ[FOLDER]) / f"{os.getpid()}.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")


def _list_functions(profiler: cProfile.Profile) -> Iterator[str]:
    for entry in profiler.getstats():
        code = entry.code
        if isinstance(code, CodeType) and (path := Path(code.co_filename)).is_relative_to(PACKAGE):
            yield f"{path.relative_to(PACKAGE)}:{code.co_firstlineno}"


def read_reach(folder: Path) -> Mapping[str, Mapping[str, float]]:
    """The tests of each function, with their seconds."""
    found: dict[str, dict[str, float]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            for function in row["functions"]:
                found.setdefault(function, {})[row["test"]] = row["seconds"]
    return found
