"""The answer of a check of a kernel: in a sentence, as rows, and kept in a report."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.errors import ExpectationError, UsageError
from workbench.number_text import plural
from workbench.report import Report, Table
from workbench.report.machine_rows import NOT_JUDGED as NOT_JUDGED
from workbench.report.machine_rows import CheckedCase, KernelFinding
from workbench.report.presenter import Presented, Viewed, presenter

if TYPE_CHECKING:
    import pandas

UNTRIED = "A missing mask would go unnoticed along"
"""What the remark begins with that says which sizes were not tried: it is part of the answer."""
_ORDER = (
    "out of bounds",
    "race",
    "lanes disagree",
    "uninitialised",
    "differs",
    "unnamed write",
    "assertion",
    "does not end",
    "cannot be run",
    "race, same value",
    "no barrier",
)


@dataclass(frozen=True, repr=False)
class KernelCheck(Viewed, Presented):
    """Hold the errors in kernels, line by line, in the calls that were run.

    It proves nothing for other calls. `cases` has a row for each call that was run, and one for
    another tool's results, marked with `by`, which never make it `ok`. `report` is the report that
    keeps it.
    """

    report: Report
    findings: tuple[KernelFinding, ...]
    cases: tuple[CheckedCase, ...]

    @property
    def ok(self) -> bool | None:
        """False if anything was found; None if nothing, or not every call, could be checked."""
        if any(row.kind != NOT_JUDGED for row in self.findings):
            return False
        verdicts = {case.verdict for case in self.cases if not case.by}
        return True if verdicts == {"passed"} else None

    @property
    def sentence(self) -> str:
        """The worst finding first, in plain words; without one, the calls that were run."""
        faults = self.faults
        if faults:
            kernels = {row.kernel for row in faults}
            more = f" {plural(len(faults) - 1, 'more finding')}." if len(faults) > 1 else ""
            where = f"{faults[0].kernel}: " if len({c.kernel for c in self.cases}) > 1 else ""
            others = f" In {plural(len(kernels), 'kernel')}." if len(kernels) > 1 else ""
            return " ".join((f"{where}{faults[0].text}{more}{others}", *self._say_lost()))
        run = [case for case in self.cases if case.judged and not case.by]
        if not run:
            own = [case for case in self.cases if not case.by]
            reasons = dict.fromkeys(reason for case in own for reason in case.not_judged)
            text = f"Nothing was checked: {'; '.join(reasons) or 'there was no kernel'}."
            return " ".join(
                (text, *(note for case in self.cases if case.by for note in case.notes))
            )
        names = list(dict.fromkeys(case.kernel for case in run))
        who = names[0] if len(names) == 1 else plural(len(names), "kernel")
        calls = plural(len(run), "call that was run", "calls that were run")
        looked = ", ".join(dict.fromkeys(kind for case in run for kind in case.judged))
        notes = dict.fromkeys(note for case in self.cases for note in case.notes)
        lost = list(self._say_lost())
        nothing = "Checked in part: nothing" if lost else "Nothing"
        untried = [note[note.index(UNTRIED) :] for note in notes if UNTRIED in note]
        rest = (note.partition(UNTRIED)[0].strip() for note in notes)
        first = f"{nothing} found in {who}, in {calls}."
        text = " ".join((first, *untried, f"Looked for: {looked}."))
        return " ".join((text, *lost, *filter(None, rest)))

    @property
    def faults(self) -> list[KernelFinding]:
        """The findings without unsupported cases, the worst kind first."""
        judged = [row for row in self.findings if row.kind != NOT_JUDGED]
        return sorted(
            judged,
            key=lambda row: (
                _ORDER.index(row.kind) if row.kind in _ORDER else len(_ORDER),
                row.case != "",
            ),
        )

    @checked
    def frame(self, name: str = "findings") -> pandas.DataFrame:
        """Return the `findings` (worst kind first) or the `cases` that were run, as a DataFrame.

        Raises `UsageError` for another name.
        """
        if name == "findings":
            lost = [row for row in self.findings if row.kind == NOT_JUDGED]
            return presenter().rows_frame([*self.faults, *lost], KernelFinding)
        if name == "cases":
            return presenter().rows_frame(self.cases, CheckedCase)
        raise UsageError(f"Table {name!r} does not exist; choose 'findings' or 'cases'.")

    @checked
    def require(self, *, allow: Collection[str] = ()) -> KernelCheck:
        """Return itself, for CI, if every call was checked and only kinds of `allow` were found.

        `allow=("race, same value", "no barrier")` accepts these kinds. Otherwise, raises
        `ExpectationError` with the findings.
        """
        findings = [row for row in self.faults if row.kind not in allow]
        if findings:
            lines = [f"  {place_of(row)}: {row.text}" for row in findings]
            raise ExpectationError("\n".join((f"{plural(len(findings), 'finding')}:", *lines)))
        lost = [case for case in self.cases if case.verdict == "not checked" and not case.by]
        if lost or not self.cases:
            raise ExpectationError(self.sentence)
        return self

    def __repr__(self) -> str:
        """A short stable summary."""
        names = list(dict.fromkeys(case.kernel for case in self.cases))
        who = names[0] if len(names) == 1 else plural(len(names), "kernel")
        faults = plural(len(self.faults), "finding")
        word = {True: "nothing found", False: faults, None: "not checked"}[self.ok]
        calls = plural(sum(not case.by for case in self.cases), "call")
        return f"KernelCheck({who}, {calls}: {word})"

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence

    def _say_lost(self) -> list[str]:
        lost: dict[str, list[str]] = {}
        for case in self.cases:
            for reason in () if case.by else case.not_judged:
                lost.setdefault(reason, []).append(case.case)
        split = (reason.partition(": ") for reason in lost)
        return [f"Not checked: {what}{f' ({why})' if why else ''}." for what, _, why in split]


def place_of(row: KernelFinding) -> str:
    """Where a finding is: file, line and column, or the kernel."""
    if not row.file or not row.line:
        return row.kernel
    return ":".join(str(part) for part in (PurePath(row.file).name, row.line, row.column) if part)


def add_check(
    report: Report, findings: Sequence[KernelFinding], cases: Sequence[CheckedCase]
) -> Report:
    """The report with the findings, which replace earlier ones of the same kernels."""
    again = {case.kernel for case in cases}
    kept = [row for row in report.kernel_findings if row.kernel not in again]
    known = [row for row in report.checked_cases if row.kernel not in again]
    tables: dict[str, Table[Any]] = {
        "kernel_findings": Table.of(KernelFinding, [*kept, *findings]),
        "checked_cases": Table.of(CheckedCase, [*known, *cases]),
    }
    return replace(report, tables={**report.tables, **tables})


def read_check(report: Report) -> KernelCheck | None:
    """The checks that a report has; None if no kernel was checked."""
    cases = tuple(report.checked_cases)
    return KernelCheck(report, tuple(report.kernel_findings), cases) if cases else None
