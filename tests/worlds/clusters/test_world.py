"""A call without a process group runs nothing of the world of clusters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import inspect, sys, threading
import torch
import workbench as wb

entered = set()


def watch(frame, event, argument):
    code = frame.f_code
    is_function = code.co_flags & inspect.CO_OPTIMIZED  # not the body of a module or class
    if event == "call" and is_function and "/worlds/clusters/" in code.co_filename:
        entered.add(code.co_qualname)


def call(x):
    return torch.relu(x @ x).sum()


threading.setprofile(watch)
sys.setprofile(watch)
compiled = wb.aot_compile(call, (torch.randn(8, 8),))
compiled(torch.randn(8, 8))
assert compiled.verify(torch.randn(8, 8)).ok
compiled.save(sys.argv[1])
sys.setprofile(None)
print(sorted(entered))
print([name for name in sys.modules if name.startswith("workbench.worlds.clusters.")])
"""


def test_a_call_without_a_process_group_enters_nothing_of_it(tmp_path: Path) -> None:
    """It is compiled, run, verified and saved; the world itself is imported as every other is."""
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "call.aot")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    entered, imported = said.splitlines()
    assert entered == "[]"
    assert imported in ("[]", "['workbench.worlds.clusters.world']")
