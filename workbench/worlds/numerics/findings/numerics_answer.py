"""What was found about numerics, in sentences: nearer to the truth or not, where, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.number_text import number_text, plural
from workbench.worlds.numerics.findings.causes import (
    ALIKE,
    ELIDED,
    GRADIENT,
    NO_ROUNDING,
    ORDER,
    RANDOM,
    UNKNOWN,
)
from workbench.worlds.numerics.rows import AFTER_CALL, Deviation, NumericsOutput

BELOW_NOISE = "below the noise"
_MOST_NAMED = 4  # operators in a sentence; the rows have all


@dataclass(frozen=True)
class Answer:
    """The rows of one call, from which every sentence is made."""

    deviations: Sequence[Deviation]
    outputs: Sequence[NumericsOutput]
    compared: int = 0
    not_compared: Sequence[str] = ()
    unlike: Sequence[str] = ()

    @property
    def first(self) -> Deviation | None:
        """The first row whose own deviation is no rounding and above the noise, or None."""
        return next((row for row in self.deviations if is_no_rounding(row)), None)

    @property
    def most(self) -> Deviation | None:
        """The row of a kernel that is furthest off, whatever the cause; None without one."""
        kernels = [row for row in self.deviations if row.kernel and row.own_off is not None]
        return max(kernels, key=lambda row: row.own_off or 0.0, default=None)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Whether it is nearer to the truth than eager, what departs first, whether it matters."""
        parts = [self._say_nearer(), self.say_first(), self.describe_logits(), self._say_unknown()]
        return tuple(filter(None, parts))

    def _say_nearer(self) -> str:
        rows = [row for row in self.outputs if row.own_off is not None]
        if self.unlike:
            return " ".join(self.unlike)
        if not self.outputs:
            return "The outputs were not compared; each part was checked on its own inputs."
        if all(not row.differ for row in self.outputs):
            return "Bitwise equal to eager."
        if not rows:
            vanishing = [row for row in self.outputs if row.vanishes]
            return (
                self._say_zero(vanishing)
                if vanishing
                else "The error of the outputs against float64 was not computed."
            )
        worst = max(rows, key=lambda row: max(row.own_off or 0.0, row.eager_off or 0.0))
        own, eager = worst.own_off or 0.0, worst.eager_off or 0.0
        why = self._say_reason() if self.first is None else ""
        if worst.dtype in ("float64", "complex128") and not eager:
            return (
                f"The program differs from eager by {format_off(own)}{why}. Eager itself computes "
                "in "
                "float64, so it is unknown which one is more accurate."
            )
        which = "Nearer to float64 than eager"
        if own <= eager * ALIKE and eager <= own * ALIKE:
            which = "As close to float64 as eager"
        elif own > eager:
            which = "Farther from float64 than eager"
            if worst.noise is not None and own <= worst.noise:
                which += ", but below the noise"
        where = f" in {worst.output}" if worst.output.endswith(AFTER_CALL) else ""
        of = f" of {worst.rounded}" if worst.rounded else ""
        offs = f"{format_off(own)}{of}, eager {format_off(eager)}"
        return f"{which}{where} ({offs}){why}."

    def _say_zero(self, rows: Sequence[NumericsOutput]) -> str:
        row = rows[0]
        which = f"{plural(len(rows), 'output')} are" if len(rows) > 1 else f"the {row.output} is"
        return (
            f"In float64, {which} 0 up to rounding, so an error in eps would be meaningless. "
            "Largest "
            f"values: eager {number_text(row.eager_from_zero, 'difference')}, the program "
            f"{number_text(row.own_from_zero, 'difference')}."
        )

    def _say_reason(self) -> str:
        """What most of the deviation of the kernels comes from, where it is rounding."""
        elided = [row for row in self.deviations if row.cause == ELIDED and row.never_rounded]
        if elided:
            row = max(elided, key=lambda row: len(row.never_rounded))
            values = plural(len(row.never_rounded), "value")
            return f": {row.kernel or row.part} keeps {values} in float32 that eager rounds"
        furthest = self.most
        if furthest is None:
            return ""
        return f": largest at {furthest.kernel}, {furthest.node} ({furthest.cause})"

    def say_first(self) -> str:
        """What departs first, and is no rounding; "" without such a row."""
        row = self.first
        if row is None:
            return ""
        place = f"{row.node} ({row.file}:{row.line})" if row.file and row.line else row.node
        if row.cause == RANDOM:
            return (
                f"Random numbers are drawn differently at {place}, so values that depend on them "
                f"cannot be compared. With {row.option}, they are drawn as in eager."
            )
        who = f"{row.kernel} ({row.part})" if row.kernel else f"The {row.part}"
        if row.stage == "decompositions":
            who = f"The decomposition of {'the ' * row.part.startswith(GRADIENT)}{row.part}"
        more = f": {row.detail}" if row.detail else ""
        text = f"{who} {row.cause} at {place}, with an error of {format_off(row.own_off)}{more}."
        lowered = describe_lowerings(row)
        return f"{text} {lowered}" if lowered else text

    def describe_logits(self) -> str:
        """How many positions choose otherwise, and by how much; "" where nothing is logits."""
        rows = [row for row in self.outputs if row.rows and row.differ]
        if not rows:
            return ""
        row = rows[0]
        noise = ""
        if row.noise_arg_max is not None and row.noise_kl is not None:
            counts = f"{row.noise_arg_max} and {row.noise_top5}"
            divergence = number_text(row.noise_kl, "difference")
            noise = f" (with one ULP of input noise {counts}, {divergence})"
        return (
            f"The argmax changes at {row.arg_max or 0} of {plural(row.rows or 0, 'position')}, the "
            f"top-5 set at {row.top5 or 0}. The mean KL divergence is "
            f"{number_text(row.kl, 'difference')} nats{noise}."
        )

    def _say_unknown(self) -> str:
        lost = len(self.not_compared) + sum(row.cause == UNKNOWN for row in self.deviations)
        if not lost:
            return ""
        return f"Not checked: {lost} of {plural(lost + self.compared, 'value')}."


def describe_lowerings(row: Deviation) -> str:
    """After which lowering a deviation of a kernel is there; "" where the record does not know."""
    if not row.lowerings:
        return ""
    lowerings = [text.partition(" by ") for text in row.lowerings]
    if len(lowerings) == 1:
        return f"The difference first appears when {lowerings[0][2]} lowers {lowerings[0][0]}."
    names = ", ".join(operator for operator, _, _ in lowerings[:_MOST_NAMED])
    if len(lowerings) > _MOST_NAMED:
        names += f" and {len(lowerings) - _MOST_NAMED} more operators"
    return f"The difference first appears when {names} are lowered to one kernel."


def is_no_rounding(row: Deviation) -> bool:
    """Whether a deviation is no matter of rounding, and above the noise."""
    return row.cause in NO_ROUNDING and row.verdict != BELOW_NOISE


def sort_worst(rows: Sequence[Deviation]) -> list[Deviation]:
    """The rows by their cause, the worst first, and by how far they are off.

    A cause that only a later release knows comes last.
    """
    places = {cause: place for place, cause in enumerate(ORDER)}
    return sorted(rows, key=lambda row: (places.get(row.cause, len(ORDER)), -(row.own_off or 0.0)))


def format_off(value: float | None) -> str:
    """A distance in roundings, such as `0.31 eps`."""
    return f"{number_text(value, 'difference')} eps"
