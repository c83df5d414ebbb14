"""How far results of a device and of the interpreter are from the same run in double precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite

from tests.gpu.figures import print_figure, print_rows, print_unchecked

WANTED = 40
"""Programs that are compared."""


@dataclass(frozen=True)
class Errors:
    """The largest error of one result against float64, by whom, and whether it is tolerated."""

    program: str
    leaf: str
    dtype: str
    interpreter: float
    device: float
    interpreter_verdict: str
    device_verdict: str
    atol: float
    rtol: float
    reason: str = ""

    @property
    def is_foretold(self) -> bool:
        """Whether the interpreter's verdict is that of the device."""
        return self.interpreter_verdict == self.device_verdict


def tell(rows: Sequence[Errors], left_out: Mapping[str, str]) -> None:
    """Print how many programs agree, and a row for each result."""
    programs = {row.program for row in rows}
    print_figure(
        "interpreter: programs compared with float64",
        len(programs),
        "programs",
        reach=WANTED,
        rule=">=",
        note=f"{len(left_out)} not compared",
    )
    print_rows(
        "not compared with float64", ({"program": n, "reason": w} for n, w in left_out.items())
    )
    print_rows("results", map(asdict, rows))
    if not rows:
        print_unchecked("interpreter: same verdict as the device", "no program was compared")
        return
    for where, verdict in (
        ("in the interpreter", "interpreter_verdict"),
        ("on the device", "device_verdict"),
    ):
        wrong = sorted({row.program for row in rows if getattr(row, verdict) != "passed"})
        print_figure(
            f"share of programs whose results {where} are within tolerance of float64",
            1 - len(wrong) / len(programs),
            "share",
            reach=1.0,
            rule=">=",
            note=f"outside: {', '.join(wrong) or 'none'}",
        )
    other = sorted({row.program for row in rows if not row.is_foretold})
    print_figure(
        "interpreter: same verdict as the device",
        1 - len(other) / len(programs),
        "share",
        reach=1.0,
        rule=">=",
        note=f"differs: {', '.join(other) or 'none'}",
    )
    ratios = [row.device / row.interpreter for row in rows if row.interpreter > 0]
    finite = sorted(ratio for ratio in ratios if isfinite(ratio))
    if finite:
        print_figure(
            "interpreter: median of the device's error over the interpreter's",
            finite[len(finite) // 2],
            "ratio",
            note=f"{len(finite)} results",
        )
