"""Whether the short part of the tests finds what all of them find: `python -m tests.mutants`.

    REACH_FOLDER=FOLDER python -m pytest -p tests.mutants.reach -m 'not slow and not gpu' tests
    python -m tests.mutants choose FOLDER  # one fault in each of 50 rooms, in mutants.json
    python -m tests.mutants judge FOLDER   # runs the tests that reach them, the short part first
    python -m tests.mutants                # what was found, as it is kept

The kept list was judged at commit 9204f1c7b: a fault in a line that changed since fits no more. A
fault is in a function that a test reaches, and 150 at most: leaves, which few tests see.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.mutants.mutant import Mutant, list_mutants
from tests.mutants.reach import PACKAGE, read_reach

KEPT = Path(__file__).parent / "mutants.json"
MOST_ROOMS = 50
MOST_TESTS = 150
LIMIT_S = 600
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
Row = dict[str, object]


def choose(reach: Mapping[str, Mapping[str, float]]) -> Iterator[Mutant]:
    """One fault in each room, the same ones for the same source and tests."""
    generator = random.Random(0)
    rooms: dict[str, list[Mutant]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        file = str(path.relative_to(PACKAGE))
        for mutant in list_mutants(file, path.read_text()):
            if 0 < len(reach.get(mutant.function, ())) <= MOST_TESTS:
                rooms.setdefault(str(path.parent.relative_to(PACKAGE)), []).append(mutant)
    for room in sorted(generator.sample(sorted(rooms), min(MOST_ROOMS, len(rooms)))):
        yield generator.choice(rooms[room])


def judge(mutant: Mutant, tests: Mapping[str, float], short: Collection[str], root: Path) -> Row:
    """The first test of each part that finds a fault in a copy of the project, or None.

    `short` are the tests of the short part.
    """
    names = sorted(tests, key=lambda test: tests[test])  # the quickest first
    path = root / "workbench" / mutant.file
    source = path.read_text()
    path.write_text(mutant.change(source))
    try:
        found = run(root, [name for name in names if name in short])
        rest = None if found else run(root, [name for name in names if name not in short])
        row: Row = {**asdict(mutant), "tests": len(tests), "short": found, "rest": rest}
    finally:
        path.write_text(source)
    return row


def list_short(root: Path) -> frozenset[str]:
    """The tests of the short part, of all that there are."""
    command = [*PYTEST, "--collect-only", "--part", "short", "-m", "not slow and not gpu", "tests"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return frozenset(line for line in done.stdout.splitlines() if "::" in line)


def run(root: Path, names: Sequence[str]) -> str | None:
    """The first of the tests that fails; raises `RuntimeError` where they could not be run."""
    if not names:
        return None
    try:
        done = subprocess.run(
            [*PYTEST, "-x", *names],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it does not end"
    if done.returncode == 0:
        return None
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode != 1 and not failed:
        raise RuntimeError(f"pytest ends with {done.returncode}: {done.stderr[-500:]}")
    return failed[0].split(" ")[1] if failed else f"pytest ends with {done.returncode}"


def say(rows: list[Row]) -> str:
    """How many are found by the short part, of those that are found at all."""
    found = [row for row in rows if row["short"] or row["rest"]]
    short = [row for row in rows if row["short"]]
    return (
        f"{len(rows)} mutants in {len(rows)} rooms: all tests find {len(found)}, the short part "
        f"{len(short)} of them ({100 * len(short) / max(len(found), 1):.0f} %)."
    )


def main(words: list[str]) -> None:
    """Choose, judge or show."""
    if not words:
        known = KEPT.exists()
        print(say(json.loads(KEPT.read_text())) if known else f"Nothing was judged yet. {__doc__}")
        return
    step, folder = words
    reach = read_reach(Path(folder))
    if step == "choose":
        KEPT.write_text(json.dumps([asdict(one) for one in choose(reach)], indent=1) + "\n")
        return
    rows = json.loads(KEPT.read_text())
    with tempfile.TemporaryDirectory() as kept:
        root = Path(kept) / "project"
        ignored = shutil.ignore_patterns(".venv*", "node_modules", ".git", "out")
        shutil.copytree(PACKAGE.parent, root, ignore=ignored)
        (root / ".venv").symlink_to(PACKAGE.parent / ".venv")
        short = list_short(root)
        for at, row in enumerate(rows):
            mutant = Mutant(**{name: row[name] for name in Mutant.__dataclass_fields__})
            rows[at] = judge(mutant, reach[mutant.function], short, root)
            KEPT.write_text(json.dumps(rows, indent=1) + "\n")
            print(at + 1, mutant.file, rows[at]["short"], rows[at]["rest"], flush=True)
    print(say(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
