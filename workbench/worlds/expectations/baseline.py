"""Compares a record with an earlier one of the same test: nothing may have become more."""

from __future__ import annotations

from pathlib import Path

from workbench.analysis.diff.report_comparison import compare
from workbench.analysis.quantities.quantities import QUANTITIES, Quantity, Record, read_quantity
from workbench.errors import ExpectationError, UsageError
from workbench.report import Report
from workbench.report.presenter import presenter
from workbench.report.program.program_record import require_program_records

_NAMES = ("baseline", "now")
_TIMES = ("compile_s",)  # another machine's time is no limit
_SLACK = 0.01  # of bytes: alignment differs between machines


def get_suffix(record: Record) -> str:
    """The suffix of the file of a record."""
    return "wbr" if isinstance(record, Report) else "wbs"


def check_baseline(record: Record, path: Path) -> None:
    """Raise `ExpectationError` where a number is above that of the baseline, with what differs.

    Raises `UsageError` where there is no baseline.
    """
    if not path.exists():
        raise UsageError(
            f"The baseline {path.parent.name}/{path.name} does not exist: run pytest once with "
            "--compiles-update and commit the file."
        )
    is_report = isinstance(record, Report)
    before = Report.load(path) if is_report else require_program_records(str(path)).load(path)
    pairs = [
        (read_quantity(before, name), read_quantity(record, name))
        for name in QUANTITIES
        if name not in _TIMES
    ]
    wrong = [sentence for old, new in pairs if (sentence := _sentence(old, new))]
    if wrong:
        head = f"Exceeds its baseline ({path.name}):"
        differs = [f"  {line}" for line in _differences(before, record)]
        raise ExpectationError("\n".join([head, *wrong, "Differences:", *differs]))


def _sentence(old: Quantity, new: Quantity) -> str:
    """What became more, or is not known any more."""
    if old.value is None:
        return ""
    if new.value is None:
        return f"  {new.name} is unknown now: {new.why}."
    slack = _SLACK if new.unit == "bytes" else 0.0
    if new.value <= old.value * (1 + slack):
        return ""
    return f"  {new.name}: {new.value:,.0f}, baseline {old.value:,.0f}"


def _differences(before: Record, now: Record) -> list[str]:
    if isinstance(before, Report) and isinstance(now, Report):
        return list(presenter().sentences(compare(before, now, _NAMES)))
    return repr(presenter().compare(before, now, _NAMES)).splitlines()[1:]
