"""What code finds around it travels: where it imports from, lines of no file, cells."""

from __future__ import annotations

import linecache
import os
import pickle
import sys
from pathlib import Path

import pytest

from workbench.compiler.sources.sources import CELLS, Places
from workbench.processes.shipping.caller_context import CallerContext, collect_unfiled_lines

ENTRY = (6, None, ["x = 1\n"], "<cell>")


def test_lines_that_are_in_no_file_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    linecache.getlines(__file__)
    monkeypatch.setitem(linecache.cache, "<cell>", ENTRY)
    found = collect_unfiled_lines()
    assert found["<cell>"] == ENTRY
    assert __file__ not in found


def test_another_process_can_work_as_if_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as there:
        there.setitem(linecache.cache, "<cell>", ENTRY)
        there.syspath_prepend(tmp_path)
        there.chdir(tmp_path)
        token = CELLS.set({"<cell>": 7})
        context = pickle.loads(pickle.dumps(CallerContext.current()))
        CELLS.reset(token)
    before = os.getcwd(), list(sys.path)
    with context.entered():
        assert os.getcwd() == str(tmp_path)
        assert str(tmp_path) in sys.path
        assert linecache.getline("<cell>", 1) == "x = 1\n"
        assert Places().shown("<cell>") == "cell 7"
    assert (os.getcwd(), sys.path) == before
    assert "<cell>" not in linecache.cache


def test_a_folder_that_is_not_here_does_not_matter() -> None:
    with CallerContext(tuple(sys.path), "/no/such/folder").entered():
        assert os.getcwd()
