"""Five questions about the numbers of a call: does it matter, where, why, its cure, the cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.analysis.numerics.causes import ALIKE, FORMULA, RANDOM, SOMETHING_ELSE, UNKNOWN
from workbench.analysis.numerics.numerics_answer import (
    Answer,
    describe_lowerings,
    format_off,
    sort_worst,
)
from workbench.analysis.numerics.numerics_cures import (
    describe_effect,
    describe_price,
    find_cures,
    name_change,
    name_option,
)
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.number_text import join_words, plural
from workbench.report.numerics.numerics_rows import Deviation, NumericsCure

QUESTIONS = (
    "Does it matter?", "Where?", "Why?", "What cures it?", "What does that cost?",
)  # fmt: skip
_NOTHING = ("Nothing departs.", "–", "Nothing is to be cured.", "–")
_NO_PRICE = (
    "Not measured: a trial compiles the call with it, compares both, and times them in turn."
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
        known = {one.option: one.helps for one in self.tried}
        able = find_cures(self.cures, self.worst)
        return next((cure for cure in able if known.get(name_option(cure), True)), None)

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
            return "Not decided: other random numbers are drawn, so nothing behind can be compared."
        if first is not None:
            noise = ""
            if first.noise is not None:
                noise = f"; noise in its inputs makes {format_off(first.noise)}"
            return f"Yes: it is no rounding, off by {format_off(first.own_off)}{noise}."
        if self.found.unlike:
            return f"Yes: {self.found.unlike[0]}"
        rows = [row for row in self.found.outputs if row.differ]
        if not rows:
            is_known = self.found.outputs
            return "No: the outputs are eager's." if is_known else "Not checked on the outputs."
        worst = max(rows, key=lambda row: row.own_off or 0.0)
        own, eager, noise_off = worst.own_off, worst.eager_off, worst.noise
        if own is None or eager is None:
            return "Not checked: float64 has no value of the outputs, or 0."
        if noise_off is not None and own <= noise_off:
            said = f"No: off by {format_off(own)}, where noise in the last place of the inputs"
            return f"{said} makes {format_off(noise_off)}.{_say_logits(self.found)}"
        word = "No more than eager" if own <= eager * ALIKE else "Yes"
        floor = "" if noise_off is None else f", the noise floor is {format_off(noise_off)}"
        offs = f"off by {format_off(own)}, eager by {format_off(eager)}{floor}"
        return f"{word}: {offs}.{_say_logits(self.found)}"

    def _say_where(self, row: Deviation) -> str:
        part = f"{row.kernel}, value {row.node}" if row.kernel else f"{row.part}, value {row.node}"
        place = f" ({row.file}:{row.line})" if row.file and row.line else ""
        rest = len(self.found.deviations) - 1
        more = f" {plural(rest, 'other value')} {'departs' if rest == 1 else 'depart'} too."
        lowered = f" {said}" if (said := describe_lowerings(row)) else ""
        return f"{part}{place}.{lowered}{more if rest else ''}"

    def _say_cure(self, row: Deviation) -> str:
        said = {
            SOMETHING_ELSE: "No option: the generated code is wrong there. Its script is what to "
            "report.",
            FORMULA: f"No option: the {row.part} computes another formula, which has to be mended.",
            UNKNOWN: "Not known: it was not compared.",
        }.get(row.cause, "")
        cure = self.cure
        if cure is None:
            return said or self._say_in_vain(row)
        tried = self._find_tried(cure)
        text = cure.text if tried is None else describe_effect(tried)
        change = f"`{name_change(cure)}`: {text[:1].lower()}{text[1:]}"
        if tried is None:
            change = f"not tried yet: {change}"
        return f"{said} Perhaps {change}" if said else f"{change[:1].upper()}{change[1:]}"

    def _say_in_vain(self, row: Deviation) -> str:
        """That nothing is known, with what was tried and changes nothing."""
        tried = {one.option for one in self.tried if not one.helps}
        vain = [name_change(c) for c in find_cures(self.cures, row) if name_option(c) in tried]
        if not vain:
            return "No option is known that rounds there as eager does."
        return f"No option that was tried helps: {join_words([f'`{each}`' for each in vain])}."

    def _say_cost(self) -> str:
        tried = None if self.cure is None else self._find_tried(self.cure)
        return "–" if self.cure is None else describe_price(tried) if tried else _NO_PRICE

    def _find_tried(self, cure: Opportunity) -> NumericsCure | None:
        return next((one for one in self.tried if one.option == name_option(cure)), None)


def _say_why(row: Deviation) -> str:
    return f"{row.cause[:1].upper()}{row.cause[1:]}{f': {row.detail}' if row.detail else ''}."


def _say_logits(found: Answer) -> str:
    said = found.describe_logits()
    return f" {said}" if said else ""
