"""What was found about the numbers of one call, of rows of its batch, of it and another program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.number_text import join_words, number_text, plural
from workbench.report import Report, Table
from workbench.report.presenter import Presented, Viewed, presenter
from workbench.report.tables import read_table
from workbench.worlds.numerics.findings.causes import (
    ALIKE,
    FORMULA,
    RANDOM,
    SOMETHING_ELSE,
    UNKNOWN,
)
from workbench.worlds.numerics.findings.numerics_answer import (
    Answer,
    describe_lowerings,
    format_off,
    is_no_rounding,
    sort_worst,
)
from workbench.worlds.numerics.findings.numerics_cures import (
    describe_effect,
    describe_price,
    find_cures,
    list_cures,
    name_change,
    name_option,
)
from workbench.worlds.numerics.rows import (
    BatchRow,
    CommonValue,
    Deviation,
    NumericsCure,
    NumericsOutput,
    NumericsStage,
)

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

KEPT = "numerics"
"""Where `Report.extra` has what no table holds: what was compared, threads, remarks."""
_TABLES: Mapping[str, type] = {
    "deviations": Deviation,
    "stages": NumericsStage,
    "outputs": NumericsOutput,
}
_CURES = "numerics_cures"
_IN_REPORT = {"deviations": "numerics", "stages": "numerics_stages", "outputs": "numerics_outputs"}


@dataclass(frozen=True, repr=False)
class Numerics(Viewed, Presented):
    """Hold the differences of a compiled call from eager, with their causes and effects.

    `deviations` are values that a part computes differently from the same inputs, in the order of
    the compiler. `compared` counts the compared values, `not_compared` lists the others, and
    `unlike` lists outputs with other sizes or types than eager's. `offers` are options in addition
    to those that a cause names, each with the kernels that it concerns.
    """

    report: Report
    deviations: tuple[Deviation, ...]
    stages: tuple[NumericsStage, ...]
    outputs: tuple[NumericsOutput, ...]
    compared: int = 0
    not_compared: tuple[str, ...] = ()
    threads: int = 0
    notes: tuple[str, ...] = field(default=())
    unlike: tuple[str, ...] = ()
    offers: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """Whether it is closer to float64 than eager, then the differences and their relevance."""
        return " ".join((*self._answer.sentences, *self.notes))

    @property
    def first_sentence(self) -> str:
        """The first difference, its place and its size; "" if all are rounding errors."""
        return self._answer.say_first()

    @property
    def first(self) -> Deviation | None:
        """The first value with a difference beyond rounding and above the noise, or None."""
        return self._answer.first

    @property
    def answers(self) -> dict[str, str]:
        """Five questions with their answers: does it matter, where, why, its fix, the cost."""
        return dict(self.questions.answers)

    @property
    def questions(self) -> FiveQuestions:
        """The basis of the answers, with the row that they are about."""
        return FiveQuestions(self._answer, self.tried, self.opportunities)

    @property
    def sorted(self) -> list[Deviation]:
        """The differing values, the worst cause first."""
        return sort_worst(self.deviations)

    @property
    def tried(self) -> tuple[NumericsCure, ...]:
        """The options that were tried, with the effect and cost of each."""
        return tuple(read_table(self.report, _CURES, NumericsCure))

    @property
    def opportunities(self) -> tuple[Opportunity, ...]:
        """Options that would change differing values, as changes to try."""
        return list_cures(self.deviations, self.offers)

    @property
    def _answer(self) -> Answer:
        return Answer(self.deviations, self.outputs, self.compared, self.not_compared, self.unlike)

    @checked
    def frame(self, name: str = "deviations") -> pandas.DataFrame:
        """Return the `deviations` (worst cause first), `stages` or `outputs` as a DataFrame.

        Raises `UsageError` for another name.
        """
        if name not in _TABLES:
            raise UsageError(f"Numerics has no table {name!r}. It has: {', '.join(_TABLES)}.")
        rows: Sequence[Any] = getattr(self, name)
        if name == "deviations":
            rows = sort_worst(self.deviations)
        return presenter().rows_frame(rows, _TABLES[name])

    @checked
    def histogram(
        self, kernel: str, node: str | None = None, *, against: str = "eager"
    ) -> dict[str, int]:
        """Count the elements of a value by their distance from eager in ulps.

        `kernel` is an id (`k0`) or the name of a part, `node` one of its nodes, by default the
        worst. `against="float64"` counts from the exact values. Raises `UsageError` for a value
        without a difference; the message lists those with one.
        """
        row = self.find(kernel, node)
        if against not in ("eager", "float64"):
            raise UsageError(f"against is {against!r}: expected 'eager' or 'float64'.")
        return dict(row.histogram if against == "eager" else row.exact_histogram)

    def find(self, kernel: str, node: str | None = None) -> Deviation:
        """Return the worst row of a kernel or part, or of one of its nodes; see `histogram`."""
        rows = [r for r in sort_worst(self.deviations) if kernel in (r.kernel, r.part)]
        if node is not None:
            rows = [row for row in rows if row.node == node]
        if not rows:
            known = dict.fromkeys(f"{r.kernel or r.part} {r.node}" for r in self.deviations)
            shown = ", ".join(known) or "none"
            name = kernel if node is None else f"{kernel} {node}"
            raise UsageError(f"{name} does not differ from eager. Values that do: {shown}.")
        return rows[0]

    @checked
    def plot(self) -> matplotlib.figure.Figure:
        """Plot a bar for each stage: its own error, with eager's error and the noise floor."""
        return presenter().plot(self)

    def __repr__(self) -> str:
        """A short stable summary, without measured values."""
        name = self.report.request.name or "?"
        beyond = sum(map(is_no_rounding, self.deviations))
        what = (
            plural(len(self.deviations), "differing value") if self.deviations else "no difference"
        )
        rest = f", {beyond} beyond rounding" if beyond else ", none beyond rounding"
        lost = f", {len(self.not_compared)} not checked" if self.not_compared else ""
        return f"Numerics({name}, {what}{rest if self.deviations else ''}{lost})"

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence


@dataclass(frozen=True, repr=False)
class BatchInvariance:
    """Whether a row of a batch is bitwise equal with different batch contents."""

    row: int
    rows: tuple[BatchRow, ...]

    @property
    def is_invariant(self) -> bool | None:
        """Whether it is in every case; None if a case was not compared and none differs."""
        known = [row.equal for row in self.rows]
        return False if False in known else None if None in known or not known else True

    @property
    def sentence(self) -> str:
        """The batch contents with which the row differs, the first differing kernel, and why."""
        other = [row for row in self.rows if row.equal is False]
        same = [row.case for row in self.rows if row.equal]
        lost = [row for row in self.rows if row.equal is None]
        sentences = [
            f"Row {self.row} {row.case} ({plural(row.rows, 'row')}) first differs at {row.kernel} "
            f"({row.part}, {row.node}): {row.reason}."
            for row in other
        ]
        if same:
            sentences.append(f"Row {self.row} is bitwise equal {join_words(same)}.")
        for reason in dict.fromkeys(row.reason for row in lost):
            cases = join_words([row.case for row in lost if row.reason == reason])
            sentences.append(f"Not checked {cases}: {reason}.")
        return " ".join(sentences)

    def frame(self) -> pandas.DataFrame:
        """Return a row for each tried batch."""
        return presenter().rows_frame(self.rows, BatchRow)

    def __repr__(self) -> str:
        """A short stable summary."""
        word = {True: "invariant", False: "not invariant", None: "not checked in every case"}
        return f"BatchInvariance(row {self.row}: {word[self.is_invariant]})"


@dataclass(frozen=True, repr=False)
class ProgramsApart(Presented):
    """Compare two programs by common values, in the order of the first program.

    `outputs` has a row for each output, `unlike` lists outputs that cannot be paired. `notes`
    describe the environments of both, if they differ.
    """

    name: str
    other: str
    values: tuple[CommonValue, ...]
    outputs: tuple[CommonValue, ...]
    notes: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    @property
    def first(self) -> CommonValue | None:
        """The first value that differs while all its inputs agree; None without one.

        If no common value differs, it is the first output that does.
        """
        own = (row for row in (*self.values, *self.outputs) if row.differ and not row.inherited)
        return next(own, None)

    @property
    def is_equal(self) -> bool | None:
        """Whether everything is bitwise equal; None if no output was compared."""
        if self.unlike or any(row.differ for row in (*self.values, *self.outputs)):
            return False
        return True if self.outputs else None

    @property
    def sentence(self) -> str:
        """The first difference, its reason, and the share of common values that differ."""
        counted = f"{plural(len(self.values), 'value')} and {plural(len(self.outputs), 'output')}"
        row, every = self.first, (*self.values, *self.outputs)
        if row is None:
            verdict = f"{self.name} and {self.other} are bitwise equal in {counted}."
            if not every:
                verdict = f"No value or output of {self.name} and {self.other} could be compared."
            elif self.unlike:
                verdict = f"Everything that could be compared is bitwise equal: {counted}."
            return " ".join((*self.unlike, verdict, *self.notes))
        place = f"{row.node} ({row.file}:{row.line})" if row.file and row.line else row.node
        who = f" by {row.kernel} ({row.part}) and {row.other_kernel} ({row.other_part})"
        why = f" Cause: {row.reason}." if row.reason else ""
        differ = sum(bool(other.differ) for other in every)
        share = number_text(row.differ, "percent")
        verdict = (
            f"They first differ at {place}{who * bool(row.kernel)}: {share} of the elements, by at "
            f"most {plural(row.max_ulp, 'ULP')}.{why} In all, {differ} of {len(every)} differ "
            f"({counted})."
        )
        return " ".join((*self.unlike, verdict, *self.notes))

    @checked
    def frame(self, name: str = "values") -> pandas.DataFrame:
        """Return the `values` that both programs write, or the `outputs`, as a DataFrame.

        Raises `UsageError` for another name.
        """
        if name not in ("values", "outputs"):
            raise UsageError(
                f"A comparison of two programs has no table {name!r}. It has: values, outputs."
            )
        rows = self.values if name == "values" else self.outputs
        return presenter().rows_frame(rows, CommonValue)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a page as text, written to `path` when given."""
        return presenter().page(self, path)

    def __repr__(self) -> str:
        """A short stable summary."""
        word = {True: "equal", False: "not equal", None: "not checked"}[self.is_equal]
        return f"ProgramsApart({self.name}, {self.other}: {word})"

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence


def add_numerics(found: Numerics) -> Report:
    """The report with what was found in it; cures of what was found before are gone."""
    tables = {
        _IN_REPORT[name]: Table.of(row_type, getattr(found, name))
        for name, row_type in _TABLES.items()
    }
    kept = {
        "compared": found.compared,
        "not_compared": list(found.not_compared),
        "threads": found.threads,
        "notes": list(found.notes),
        "unlike": list(found.unlike),
        "offers": {option: list(kernels) for option, kernels in found.offers.items()},
    }
    report = found.report
    known = {name: table for name, table in report.tables.items() if name != _CURES}
    return replace(report, tables={**known, **tables}, extra={**report.extra, KEPT: kept})


def add_cures(report: Report, tried: Sequence[NumericsCure]) -> Report:
    """The report with what became of options; one that was tried before is as it is now."""
    again = {cure.option for cure in tried}
    kept = [cure for cure in read_table(report, _CURES, NumericsCure) if cure.option not in again]
    table = Table.of(NumericsCure, [*kept, *tried])
    return replace(report, tables={**report.tables, _CURES: table})


def read_numerics(report: Report) -> Numerics | None:
    """What a report keeps of its numbers; None where nobody asked for them."""
    kept = report.extra.get(KEPT)
    if not isinstance(kept, Mapping):
        return None
    return Numerics(
        report,
        tuple(read_table(report, "numerics", Deviation)),
        tuple(read_table(report, "numerics_stages", NumericsStage)),
        tuple(read_table(report, "numerics_outputs", NumericsOutput)),
        int(kept.get("compared", 0)),
        tuple(kept.get("not_compared", ())),
        int(kept.get("threads", 0)),
        tuple(kept.get("notes", ())),
        tuple(kept.get("unlike", ())),
        dict(kept.get("offers", {})),
    )


QUESTIONS = (
    "Does it matter?",
    "Where?",
    "Why?",
    "What cures it?",
    "What does that cost?",
)
_NOTHING = ("Nothing differs.", "–", "Nothing to fix.", "–")
_NO_PRICE = (
    "Not measured. Trying the fix recompiles the call with it and times both versions, interleaved."
)


@dataclass(frozen=True)
class FiveQuestions:
    """What was found, from which each question has its answer; `tried` are cures with a price.

    `cures` are the changes that may be tried.
    """

    found: Answer
    tried: Sequence[NumericsCure] = ()
    cures: Sequence[Opportunity] = ()

    @property
    def worst(self) -> Deviation | None:
        """What is asked about: what is no rounding, else what the sentence names."""
        rows = sort_worst(self.found.deviations)
        known = (row for row in rows if row.cause != UNKNOWN)
        return self.found.first or self.found.most or next(known, rows[0] if rows else None)

    @property
    def cure(self) -> Opportunity | None:
        """The change that is proposed for the worst: that of its cause, else one of its kernel.

        What was tried and does not help is none.
        """
        if self.worst is None:
            return None
        helps = {one.option: one.helps for one in self.tried}
        able = find_cures(self.cures, self.worst)
        return next((cure for cure in able if helps.get(name_option(cure), True)), None)

    @property
    def answers(self) -> tuple[tuple[str, str], ...]:
        """Each question with its answer."""
        row = self.worst
        rest = _NOTHING
        if row is not None:
            cure, cost = self._say_cure(row), self._say_cost()
            rest = (self._say_where(row), _say_why(row), cure, cost)
        return tuple(zip(QUESTIONS, (self._say_matter(), *rest), strict=True))

    def _say_matter(self) -> str:
        first = self.found.first
        if first is not None and first.cause == RANDOM:
            return "Unknown: random numbers are drawn differently. Later values were not compared."
        if first is not None:
            noise = ""
            if first.noise is not None:
                noise = f"; input noise causes {format_off(first.noise)}"
            return f"Yes: an error of {format_off(first.own_off)}, more than rounding{noise}."
        if self.found.unlike:
            return f"Yes: {self.found.unlike[0]}"
        rows = [row for row in self.found.outputs if row.differ]
        if not rows:
            is_known = self.found.outputs
            return "No: the outputs equal eager's." if is_known else "Outputs not compared."
        worst = max(rows, key=lambda row: row.own_off or 0.0)
        own, eager, noise_off = worst.own_off, worst.eager_off, worst.noise
        if own is None or eager is None:
            return "Unknown: float64 gives no outputs, or only zeros."
        if noise_off is not None and own <= noise_off:
            text = f"No: the error is {format_off(own)}, and one ULP of input noise causes"
            return f"{text} {format_off(noise_off)}.{_say_logits(self.found)}"
        word = "Not more than eager" if own <= eager * ALIKE else "Yes"
        floor = "" if noise_off is None else f", noise floor {format_off(noise_off)}"
        offs = f"error {format_off(own)}, eager's {format_off(eager)}{floor}"
        return f"{word}: {offs}.{_say_logits(self.found)}"

    def _say_where(self, row: Deviation) -> str:
        part = f"{row.kernel}, value {row.node}" if row.kernel else f"{row.part}, value {row.node}"
        place = f" ({row.file}:{row.line})" if row.file and row.line else ""
        rest = len(self.found.deviations) - 1
        more = f" {plural(rest, 'other value')} {'differs' if rest == 1 else 'differ'}, too."
        lowered = f" {text}" if (text := describe_lowerings(row)) else ""
        return f"{part}{place}.{lowered}{more if rest else ''}"

    def _say_cure(self, row: Deviation) -> str:
        advice = {
            SOMETHING_ELSE: (
                "No option: the generated code is wrong. Report the kernel's script as a bug."
            ),
            FORMULA: f"No option: the {row.part} computes a different formula. Fix the formula.",
            UNKNOWN: "Unknown: this part was not compared.",
        }.get(row.cause, "")
        cure = self.cure
        if cure is None:
            return advice or self._say_in_vain(row)
        tried = self._find_tried(cure)
        text = cure.text if tried is None else describe_effect(tried)
        change = f"`{name_change(cure)}`: {text[:1].lower()}{text[1:]}"
        if tried is None:
            change = f"not tried yet: {change}"
        return f"{advice} Perhaps {change}" if advice else f"{change[:1].upper()}{change[1:]}"

    def _say_in_vain(self, row: Deviation) -> str:
        """That nothing is known, with what was tried and changes nothing."""
        tried = {one.option for one in self.tried if not one.helps}
        vain = [name_change(c) for c in find_cures(self.cures, row) if name_option(c) in tried]
        if not vain:
            return "No known option makes this part round as eager does."
        return f"No tried option helps: {join_words([f'`{name}`' for name in vain])}."

    def _say_cost(self) -> str:
        tried = None if self.cure is None else self._find_tried(self.cure)
        return "–" if self.cure is None else describe_price(tried) if tried else _NO_PRICE

    def _find_tried(self, cure: Opportunity) -> NumericsCure | None:
        return next((one for one in self.tried if one.option == name_option(cure)), None)


def _say_why(row: Deviation) -> str:
    return f"{row.cause[:1].upper()}{row.cause[1:]}{f': {row.detail}' if row.detail else ''}."


def _say_logits(answer: Answer) -> str:
    text = answer.describe_logits()
    return f" {text}" if text else ""
