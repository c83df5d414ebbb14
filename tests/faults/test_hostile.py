"""The traps work: harmful pickles do harm where they are run, and the watch sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.hostile import HARMFUL, LEAVING_A_MARK

ROOT = Path(__file__).parents[2]
WATCHED = """
import pickle, sys
from tests.faults.watching import Watch
watch = Watch()
for file in sys.argv[1:]:
    with open(file, "rb") as opened, watch.on() as seen:
        try:
            pickle.loads(opened.read())
        except PermissionError:
            pass
    print(len(seen))
"""


@pytest.mark.parametrize("number", range(LEAVING_A_MARK))
def test_a_harmful_pickle_leaves_its_mark_when_it_is_run(number: int, tmp_path: Path) -> None:
    (tmp_path / "pickle").write_bytes(HARMFUL[number](str(tmp_path / "marker")))
    program = f"import pickle; pickle.loads(open({str(tmp_path / 'pickle')!r}, 'rb').read())"
    subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, timeout=60)
    assert (tmp_path / "marker").exists()


def test_the_watch_sees_and_stops_each_of_them(tmp_path: Path) -> None:
    files = []
    for number, make in enumerate(HARMFUL[:LEAVING_A_MARK]):
        files.append(tmp_path / f"{number}")
        files[-1].write_bytes(make(str(tmp_path / "marker")))
    command = [sys.executable, "-c", WATCHED, *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert "0" not in done.stdout.split()
    assert not (tmp_path / "marker").exists()
