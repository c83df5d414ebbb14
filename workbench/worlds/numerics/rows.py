"""Rows about numerics: where a compiled program departs from eager, by how much, and why."""

from __future__ import annotations

from dataclasses import dataclass

AFTER_CALL = " after the call"
"""How the output is called that a call leaves in an input: behind the name of the input."""
_NEARER = 1.25
"""Errors within this factor of one another are alike."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A value that one part computes differently from eager, given the same inputs.

    Inherited errors are excluded: the part and eager's nodes had the same inputs. Errors are
    distances from float64 in eps of the dtype, at the scale of the whole tensor. `eager_off` is the
    error of eager's nodes, `own_off` that of the part. `noise` is the effect of one ulp in the
    part's own inputs on the same value, the maximum of three draws. Errors that were not computed
    are None; `detail` has the reason. `histogram` counts elements by their distance from eager in
    ulps, `exact_histogram` from float64.
    """

    stage: str  # "decompositions", "passes" or "kernels"
    kernel: str | None  # the id of its kernel in the report; None for a stage of graphs
    part: str  # the name of the operator, passes or kernel that differs
    node: str  # the node that computes the value
    graph: str  # the id of the node's graph
    file: str | None  # the file, from the home folder or from site-packages on; or the cell
    line: int | None  # the line, from 1
    operators: tuple[str, ...]  # the operators that the part computes for it
    dtype: str  # its dtype
    elements: int  # number of elements
    differ: float | None  # the share of elements that differ from eager's
    max_ulp: int | None  # the largest distance from eager, in ULPs
    eager_off: float | None  # eager's error against float64, in eps
    own_off: float | None  # the error of the part or program against float64, in eps
    noise: float | None  # the effect of one ULP of input noise, in eps
    cause: str  # the class of the cause
    detail: str  # what in the part causes it, or why it was not compared
    option: str  # the option that would change it; empty if none is known
    verdict: str  # "something else", "worse than eager", "not worse", "below the noise", ...
    never_rounded: tuple[str, ...] = ()  # nodes inside that eager rounds and this does not
    histogram: tuple[tuple[str, int], ...] = ()  # elements by ULPs from eager
    exact_histogram: tuple[tuple[str, int], ...] = ()  # elements by ULPs from float64
    cone: tuple[str, ...] = ()  # the nodes that compute it from the part's inputs
    lowerings: tuple[str, ...] = ()  # for a kernel: what lowered these operators, and to what


@dataclass(frozen=True, slots=True)
class NumericsStage:
    """The effect of one compilation stage on the outputs, inherited and its own.

    `end_off` is the distance of its outputs from float64, in part inherited. `own_off` is the
    largest error of its own. `end_off` and `own_off` are in eps at the scale of a tensor, None if
    not computed.
    """

    stage: str  # "eager", a stage of graphs, or "program"
    end_off: float | None
    differ: float | None  # the share of output elements that differ from eager's
    max_ulp: int | None  # the largest distance of an output from eager's
    own_off: float | None  # the error of the part or program against float64, in eps
    deviations: int  # how many values it computes differently from the same inputs
    note: str = ""  # why something was not computed


@dataclass(frozen=True, slots=True)
class NumericsOutput:
    """One output of the call, or an input that it writes to: program and eager against float64.

    `noise` is the effect on eager's output of one ulp of noise on all float inputs and weights: the
    maximum of three draws, in eps. `rows`, `arg_max`, `top5` and `kl` are for outputs that may be
    logits (the last dimension is the classes). `rows` counts positions. `arg_max` counts positions
    with another largest value, `top5` those with another top-5 set. `kl` is the mean divergence of
    eager's distribution from the program's in nats. The three with `noise_` are the maxima under
    the noise.
    """

    output: str  # the output, by its position in the returned value
    dtype: str  # its dtype
    elements: int  # number of elements
    differ: float  # the share of elements that differ from eager's
    max_ulp: int  # the largest distance from eager, in ULPs
    eager_off: float | None  # eager's error against float64, in eps
    own_off: float | None  # the error of the part or program against float64, in eps
    noise: float | None  # the effect of one ULP of input noise, in eps
    rows: int | None = None  # positions, if it may be logits
    arg_max: int | None = None  # positions whose argmax differs
    top5: int | None = None  # positions whose top-5 set differs
    kl: float | None = None  # mean KL divergence from eager, in nats
    noise_arg_max: int | None = None  # its maximum under the noise
    noise_top5: int | None = None  # its maximum under the noise
    noise_kl: float | None = None  # its maximum under the noise
    rounded: str = ""  # the dtype that eps refers to, if the output was cast to a wider one
    eager_from_zero: float | None = None  # eager's largest value, if float64 gives only 0
    own_from_zero: float | None = None  # the program's largest value, if float64 gives only 0

    @property
    def vanishes(self) -> bool:
        """Whether float64 gives 0: eps then has no scale."""
        return self.eager_from_zero is not None


@dataclass(frozen=True, slots=True)
class NumericsCure:
    """The effect of one option on the whole call: what it removes, and its cost.

    Values are before and after. Times are medians of interleaved calls; `is_sure` says whether one
    of the two is faster beyond the noise. Values that were not measured are None. For a GPU that is
    not here, there are only modelled bounds.
    """

    option: str  # the option that is passed to the compilation
    deviations: int  # how many values differ without the option
    deviations_after: int  # how many differ with the option
    differ: float | None  # the share of output elements that differ from eager's
    differ_after: float | None  # the same with the option
    own_off: float | None  # the worst output's error against float64, in eps
    own_off_after: float | None  # the same with the option
    kernels: int  # how many kernels a call launches
    kernels_after: int  # how many it launches with the option
    bytes: int | None  # bytes that they read and write, modelled
    bytes_after: int | None  # the same with the option
    time_us: float | None  # the median time of a call
    time_us_after: float | None  # the same with the option
    is_sure: bool = False  # whether one of the two is faster beyond the noise
    bound_us: float | None = None  # the roofline time on a GPU that is not here
    bound_us_after: float | None = None  # the same with the option

    @property
    def helps(self) -> bool:
        """Whether outputs agree more with eager, or equally with fewer or smaller errors."""
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
    """One kernel's nodes compiled separately, with and without the option of their cause.

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
        """Whether the option removes at least nine tenths of the differences."""
        return self.differ > 0 and self.differ_after <= 0.1 * self.differ

    @property
    def sentence(self) -> str:
        """The effect of the option, and whether it proves the cause."""
        verdict = "This proves it" if self.is_proved else "This does not prove it"
        return (
            f"{self.kernel}, {self.node}: {self.cause}. With {self.option}, "
            f"{self.differ_after:.1%} of the elements differ from eager instead of "
            f"{self.differ:.1%}, by at most {self.max_ulp_after} instead of {self.max_ulp} ULPs. "
            f"{verdict}."
        )


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One row of a batch with different batch contents: bitwise equal, or the first difference.

    The kernels are the same. `kernel` and `node` are the first of the program whose part for this
    row differs.
    """

    case: str  # "alone", or such as "with zeros behind it" and "in half of the batch"
    rows: int  # number of rows in that batch
    equal: bool | None  # whether the row is bitwise equal; None if it was not compared
    kernel: str | None = None
    part: str = ""  # the kernel or library call, by its name
    node: str = ""
    differ: float | None = None  # the share of its elements that differ there
    max_ulp: int | None = None  # the largest distance there, in ULPs
    reason: str = ""  # why it differs, or why it was not compared


@dataclass(frozen=True, slots=True)
class CommonValue:
    """A value that two programs write, from the same call, including inherited errors.

    `part` and `other_part` are the kernels or library calls that wrote it. `inherited` says that
    one of its inputs differs already, among the common values. `reason` explains the first
    difference.
    """

    node: str  # the node of the captured graph, or of the lowered graphs if only they have it
    file: str | None  # the file, from the home folder or from site-packages on; or the cell
    line: int | None  # the line, from 1
    kernel: str  # the id of the first program's kernel
    part: str  # its name
    other_kernel: str  # the id of the other program's kernel
    other_part: str  # its name
    dtype: str  # its dtype
    elements: int  # number of elements
    differ: float  # the share of elements that differ
    max_ulp: int  # the largest distance between the two, in ULPs
    inherited: bool = False  # whether one of its inputs differs already
    reason: str = ""  # why it differs here
