"""What the process of a part hands to the run: figures, rows, and reasons why there is none."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

MARK = "figure: "
TABLE = "table: "
_LONGEST = 400  # letters of a reason
Step = Callable[[], object]


def print_figure(name: str, value: float, unit: str, **more: str | float) -> None:
    """Hand one figure to the run, at once; one that is no number was not checked."""
    if not math.isfinite(value):
        print_unchecked(name, f"it is {value}: {more.get('note', 'no reason is known')}")
        return
    print(MARK + json.dumps({"name": name, "value": value, "unit": unit, **more}), flush=True)


def print_unchecked(name: str, reason: str) -> None:
    """Say why there is no figure of this name."""
    row = {"name": name, "value": None, "unit": "", "note": reason, "source": "not measured"}
    print(MARK + json.dumps(row), flush=True)


def print_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Hand over what figures were computed from: each row is a dict of plain values."""
    for row in rows:
        print(TABLE + json.dumps({"name": name, "row": dict(row)}), flush=True)


def run_steps(steps: Mapping[str, Step]) -> int:
    """Run each step whatever became of the others; the exit code is 1 where one has failed."""
    failed = False
    for name, step in steps.items():
        try:
            step()
        except Exception as error:  # the next steps are measured all the same
            traceback.print_exc()
            print_unchecked(name, f"failed: {reason(error)}")
            failed = True
    return int(failed)


def reason(error: BaseException) -> str:
    """The kind of an error and its message in one line, cut where it is long."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST]
