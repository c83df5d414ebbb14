"""What a thread prints silently is kept; what another one prints meanwhile appears."""

from __future__ import annotations

import sys
import threading

import pytest

from workbench.compiler.measuring.silence import silent


def test_only_the_thread_itself_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with silent() as kept:
        print("mine")
        print("mine, too", file=sys.stderr)
        other = threading.Thread(target=lambda: print("theirs"))
        other.start()
        other.join()
    assert kept.getvalue() == "mine\nmine, too\n"
    assert capsys.readouterr() == ("theirs\n", "")
    assert sys.stdout is before
