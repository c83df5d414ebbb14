"""Rows about numerics: where a compiled program departs from eager, by how much, and why."""

from __future__ import annotations

from dataclasses import dataclass

AFTER_CALL = " after the call"
"""How the output is called that a call leaves in an input: behind the name of the input."""
_NEARER = 1.25
"""Errors within this factor of one another are alike."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A value that one part computes otherwise than eager does from the same inputs.

    Nothing is inherited: the part, and eager's nodes, were given the same numbers. Errors are
    distances from float64 in roundings of the dtype (its eps) at the scale of the whole tensor:
    `eager_off` that of eager's nodes, `own_off` that of the part, `noise` what one unit in the last
    place of the part's own inputs does to the same value, the most of three draws. They are None
    where they were not computed, for which `detail` has the reason. `histogram` counts elements by
    their distance from eager in units in the last place, `exact_histogram` from float64.
    """

    stage: str  # "decompositions", "passes" or "kernels"
    kernel: str | None  # the kernel of the report by its id; none for a stage of graphs
    part: str  # the operator, the passes or the kernel that departs, by its name
    node: str  # the node whose value it is
    graph: str  # the graph that the node is in, by its id
    file: str | None  # the file, from the home folder or from site-packages on; or the cell
    line: int | None  # the line, from 1
    operators: tuple[str, ...]  # what is computed inside of the part for it
    dtype: str  # its dtype
    elements: int  # how many elements the value has
    differ: float | None  # the share of elements that differ from eager's
    max_ulp: int | None  # the largest distance from eager, in units in the last place
    eager_off: float | None  # how far eager is from float64, in roundings
    own_off: float | None  # how far the part or program is from float64, in roundings
    noise: float | None  # what one unit in the last place of input noise does, in roundings
    cause: str  # the class of the cause
    detail: str  # what in the part makes it, or why it was not compared
    option: str  # what would change it; empty where nothing is known
    verdict: str  # "something else", "worse than eager", "not worse", "below the noise", ...
    never_rounded: tuple[str, ...] = ()  # nodes inside whose values eager rounds and this does not
    histogram: tuple[tuple[str, int], ...] = ()  # elements by units from eager
    exact_histogram: tuple[tuple[str, int], ...] = ()  # elements by units from float64
    cone: tuple[str, ...] = ()  # the nodes that are computed for it from what the part is given
    lowerings: tuple[str, ...] = ()  # of a kernel: what lowered these operators, and to what


@dataclass(frozen=True, slots=True)
class NumericsStage:
    """What one stage of the compilation does to the outputs, and by itself.

    `end_off` is how far its outputs are from float64, which it inherits in part; `own_off` the most
    that it departs by itself. Both in roundings at the scale of a tensor, None where not computed.
    """

    stage: str  # "eager", a stage of graphs, or "program"
    end_off: float | None
    differ: float | None  # the share of elements of the outputs that differ from eager's
    max_ulp: int | None  # the largest distance of an output from eager's
    own_off: float | None  # how far the part or program is from float64, in roundings
    deviations: int  # how many values it computes otherwise from the same inputs
    note: str = ""  # why something was not computed


@dataclass(frozen=True, slots=True)
class NumericsOutput:
    """One output of the call, or an input that it writes to: program and eager beside float64.

    `noise` is what one unit in the last place of noise on all inputs and weights of floats does to
    the output of eager: the most of three draws, in roundings. Where the output may be logits (the
    last dimension is the classes), `rows` counts positions, `arg_max` those where the largest is
    another, `top5` those where the set of the five largest is, `kl` is the mean divergence of
    eager's distribution from the program's in nats; the three with `noise_` are the most that the
    noise does.
    """

    output: str  # the output, by its place in what is returned
    dtype: str  # its dtype
    elements: int  # how many elements it has
    differ: float  # the share of elements that differ from eager's
    max_ulp: int  # the largest distance from eager, in units in the last place
    eager_off: float | None  # how far eager is from float64, in roundings
    own_off: float | None  # how far the part or program is from float64, in roundings
    noise: float | None  # what one unit in the last place of input noise does, in roundings
    rows: int | None = None  # positions, where it may be logits
    arg_max: int | None = None  # positions whose largest value is another
    top5: int | None = None  # positions whose five largest are others
    kl: float | None = None  # mean divergence from eager, in nats
    noise_arg_max: int | None = None  # the same for the noise, at the most
    noise_top5: int | None = None  # the same for the noise, at the most
    noise_kl: float | None = None  # the same for the noise, at the most
    rounded: str = ""  # the dtype whose roundings are counted, where it was cast to more bits
    eager_from_zero: float | None = None  # eager's largest number, where float64 gives only 0
    own_from_zero: float | None = None  # the same of the program

    @property
    def vanishes(self) -> bool:
        """Whether float64 gives 0, so that there is no scale to count roundings at."""
        return self.eager_from_zero is not None


@dataclass(frozen=True, slots=True)
class NumericsCure:
    """What one option does to the whole call: what it removes, and what it costs.

    Values before and after; times are medians of calls measured in turn, `is_sure` whether one of
    the two may be called the faster one. None where something was not measured; of a GPU that is
    not here there are bounds by a model only.
    """

    option: str  # what is passed to the compilation
    deviations: int  # how many values deviate as it is
    deviations_after: int  # how many do with the option
    differ: float | None  # the share of elements of the outputs that differ from eager's
    differ_after: float | None  # the same with the option
    own_off: float | None  # how far the worst output is from float64, in roundings
    own_off_after: float | None  # the same with the option
    kernels: int  # how many kernels a call starts
    kernels_after: int  # how many it starts with the option
    bytes: int | None  # what they read and write, by a model
    bytes_after: int | None  # the same with the option
    time_us: float | None  # the median time of a call
    time_us_after: float | None  # the same with the option
    is_sure: bool = False  # whether one of the two may be called the faster one
    bound_us: float | None = None  # the least time of a GPU that is not here, by its roofline
    bound_us_after: float | None = None  # the same with the option

    @property
    def helps(self) -> bool:
        """Whether the outputs agree more with eager, or no less while a part departs less."""
        before, after = self.differ, self.differ_after
        if before is not None and after is not None and after != before:
            return after < before
        is_nearer = False
        if self.own_off is not None and self.own_off_after is not None:
            is_nearer = self.own_off_after * _NEARER < self.own_off
        fewer = self.deviations_after < self.deviations
        return fewer or (is_nearer and self.deviations_after == self.deviations)


@dataclass(frozen=True, slots=True)
class NumericsProof:
    """One kernel's nodes compiled by themselves, as they are and with the option of their cause.

    `differ` are shares of elements that differ from eager's, from the inputs of the call.
    """

    kernel: str
    node: str
    cause: str
    option: str
    differ: float
    differ_after: float
    max_ulp: int
    max_ulp_after: int

    @property
    def is_proved(self) -> bool:
        """Whether the option takes away most of what differs: nine tenths of it."""
        return self.differ > 0 and self.differ_after <= 0.1 * self.differ

    @property
    def sentence(self) -> str:
        """What the option changes, and whether that proves the cause."""
        verdict = "which proves it" if self.is_proved else "which does not prove it"
        return (
            f"{self.kernel}, {self.node}: {self.cause}. With {self.option} {self.differ_after:.1%} "
            f"of the elements differ from eager in place of {self.differ:.1%}, at most "
            f"{self.max_ulp_after} units in the last place in place of {self.max_ulp}, {verdict}."
        )


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One row of a batch in other company, by the same kernels: equal bit for bit, or where not.

    `kernel` and `node` are the first of the program whose part for this row is another one.
    """

    case: str  # "alone", or such as "with zeros behind it" and "in half of the batch"
    rows: int  # how many rows the batch has then
    equal: bool | None  # whether the row is the same bit for bit; none where it was not compared
    kernel: str | None = None
    part: str = ""  # the kernel or library call, by its name
    node: str = ""
    differ: float | None = None  # the share of its elements that differ there
    max_ulp: int | None = None  # the largest distance there, in units in the last place
    reason: str = ""  # why it is another one, or why it was not compared


@dataclass(frozen=True, slots=True)
class CommonValue:
    """A value that two programs write down, from the same call, with all that each inherited.

    `part` and `other_part` are the kernels or library calls that wrote it. `inherited` says that a
    common value which it is computed from differs already; `reason` is why it parts where it is
    the first to.
    """

    node: str  # the node of the captured graph, or of the lowered ones where it has no other name
    file: str | None  # the file, from the home folder or from site-packages on; or the cell
    line: int | None  # the line, from 1
    kernel: str  # the kernel of the one program, by its id
    part: str  # its name
    other_kernel: str  # the kernel of the other program, by its id
    other_part: str  # its name
    dtype: str  # its dtype
    elements: int  # how many elements it has
    differ: float  # the share of elements that differ
    max_ulp: int  # the largest distance between the two, in units in the last place
    inherited: bool = False  # whether something that it is computed from differs already
    reason: str = ""  # why it parts here
