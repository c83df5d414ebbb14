"""How many tests passed and were skipped, as figures of a run: `pytest -p tests.gpu.counting`."""

from __future__ import annotations

from typing import Any

from tests.gpu.figures import print_figure


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A skipped test has checked nothing: none may be."""
    counts = {kind: len(terminalreporter.stats.get(kind, ())) for kind in ("passed", "skipped")}
    terminalreporter.write_line("")
    print_figure("tests that passed", counts["passed"], "tests", reach=1, rule=">=")
    reasons = {str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", ())}
    note = "; ".join(sorted(reasons))
    print_figure("tests that were skipped", counts["skipped"], "tests", reach=0, note=note)
