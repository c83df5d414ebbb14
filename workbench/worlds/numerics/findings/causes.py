"""The class of a deviation, asked in a fixed order, with the option that would change it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf, isfinite

from workbench.number_text import plural
from workbench.worlds.numerics.rows import NumericsOutput

RANDOM = "random numbers are drawn differently"
TF32 = "float32 is multiplied in TF32"
ELIDED = "casts elided by fusion"
SOMETHING_ELSE = "computes something else than its nodes"
REDUCTION = "order of a reduction"
FUNCTION = "another implementation of a function"
ROUNDING = "rounding"
DECIDED = "a comparison that rounding decides"
FORMULA = "changed the formula"
ELSEWHERE = "rounds elsewhere"
UNKNOWN = "not compared"
NO_ROUNDING = (SOMETHING_ELSE, FORMULA, RANDOM)
"""Causes that are no matter of rounding; the worst first."""
ORDER = (
    SOMETHING_ELSE,
    FORMULA,
    RANDOM,
    UNKNOWN,
    DECIDED,
    TF32,
    ELIDED,
    ELSEWHERE,
    REDUCTION,
    FUNCTION,
    ROUNDING,
)
"""All of them in the order in which a reader wants them."""

FORMULA_CHANGED = 1e-9
"""Relative, in float64: more than this is no rounding any more."""
ALIKE = 1.25
"""Errors within this factor of one another are called alike."""
NO_FAULT = 64.0
"""Roundings that may come from rounding alone; more, and more than eager, is a fault."""
_WORSE = 8.0
_DECIDED = 0.01
_REDUCES = frozenset(
    {
        "sum",
        "mean",
        "var",
        "std",
        "prod",
        "softmax",
        "norm",
        "cumsum",
        "logsumexp",
        "attention",
        "mm",
        "addmm",
        "bmm",
        "baddbmm",
        "mv",
        "addmv",
        "dot",
        "vdot",
        "matmul",
        "linear",
        "einsum",
        "convolution",
        "pool",
        "pool2d",
        "pool1d",
        "pool3d",
        "trace",
        "welford",
        "online",
    }
)
_FUNCTIONS = frozenset(
    {
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "tanh",
        "erf",
        "erfc",
        "erfinv",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "asin",
        "acos",
        "atan",
        "atan2",
        "pow",
        "sqrt",
        "rsqrt",
        "sigmoid",
        "gelu",
        "silu",
        "softplus",
        "mish",
        "lgamma",
        "digamma",
    }
)
GRADIENT = "gradient of "
"""What the part of a row begins with that is about the backward of an operator."""
NO_OPTION = ""
FALLBACK_RANDOM = "fallback_random=True"
FULL_PRODUCTS = "float32_matmul_precision='highest'"
EMULATE = "emulate_precision_casts=True"


@dataclass(frozen=True)
class Measured:
    """What was measured of one value of a part; errors in roundings at the scale of the tensor.

    `to_eager` is the distance from eager's nodes, `to_upcast` that from the same nodes with values
    of 16 bits held in float32, `to_tf32` that with factors in TF32 in the `products` inside. `low`
    are the nodes inside whose values eager rounds to 16 bits. Each is about the elements that are
    finite in float64 and on both sides that it compares.

    Of the others, `own_lost` are NaN, infinite or finite otherwise than float64 in the program
    alone, `eager_lost` in eager alone, `both_lost` in each in its own way; `late_lost` are those
    that holding 16 bits in float32 explains. `zeros_off` is how far the program is from a 0 that
    eager and float64 both give; `is_decided` says that floats may decide what is no float.
    """

    operators: tuple[str, ...]
    eager_off: float = 0.0
    own_off: float = 0.0
    to_eager: float = 0.0
    to_upcast: float = inf
    low: tuple[str, ...] = ()
    is_float: bool = True
    differ: float = 0.0
    is_library: bool = False
    to_tf32: float = inf
    products: tuple[str, ...] = ()
    own_lost: int = 0
    eager_lost: int = 0
    both_lost: int = 0
    late_lost: int = 0
    zeros_off: float = 0.0
    noise: float | None = None
    is_decided: bool = True


@dataclass(frozen=True)
class Cause:
    """Why a value departs: its class, what makes it, the option that would change it."""

    name: str
    detail: str = ""
    option: str = NO_OPTION

    @property
    def is_rounding(self) -> bool:
        """Whether it is a matter of rounding."""
        return self.name not in NO_ROUNDING


def classify(found: Measured) -> Cause:
    """The class of a value that a kernel computes otherwise than its nodes."""
    if found.own_lost:
        return _name_lost(found)
    if isfinite(found.to_tf32) and found.to_eager > 0 and found.to_tf32 * _WORSE <= found.to_eager:
        return _name_tf32(found)
    if found.low and _explains(found):
        return Cause(ELIDED, describe_elided(found.low), EMULATE)
    if not found.is_float:
        is_rounded = found.is_decided and found.differ <= _DECIDED
        return Cause(DECIDED if is_rounded else SOMETHING_ELSE)
    if found.own_off > NO_FAULT and found.own_off > _WORSE * found.eager_off:
        return Cause(SOMETHING_ELSE)
    if found.zeros_off > NO_FAULT:
        return Cause(SOMETHING_ELSE, "nonzero where eager and float64 give 0")
    if found.both_lost:
        lost = plural(found.both_lost, "element")
        detail = f"NaN or infinity mismatch in {lost}: the program and eager against float64"
        return Cause(UNKNOWN, detail)
    cause = guess_rounding(found.operators, found.low, is_library=found.is_library)
    if found.eager_lost:
        lost = plural(found.eager_lost, "element")
        return replace(cause, detail=f"{cause.detail}; only eager overflows in {lost}")
    return cause


def _name_lost(measured: Measured) -> Cause:
    """The cause where the program has NaN, infinity or a number, and eager what float64 has."""
    lost = plural(measured.own_lost, "element")
    detail = f"NaN or infinity mismatch in {lost}: the program against eager and float64"
    if measured.noise == inf:  # at the edge of what the type holds rounding may decide it
        return Cause(UNKNOWN, f"{detail}; input noise has the same effect")
    return Cause(SOMETHING_ELSE, detail)


def _name_tf32(measured: Measured) -> Cause:
    names = ", ".join(name.split(".")[1] for name in measured.products)
    how = "a library rounds" if measured.is_library else "the kernel truncates"
    is_convolution = any("convolution" in name for name in measured.products)
    switch = f"; torch.backends.cudnn.allow_tf32 = False changes {names}" if is_convolution else ""
    return Cause(
        TF32,
        f"{how} the inputs of {names} to 10 mantissa bits{switch}",
        NO_OPTION if is_convolution else FULL_PRODUCTS,
    )


def _explains(measured: Measured) -> bool:
    """Whether holding 16 bits in float32 explains the distance from eager."""
    near, far = measured.to_upcast, measured.to_eager
    if measured.both_lost or measured.eager_lost:  # of which it explains none
        return False
    if not far:
        return bool(measured.late_lost) and near <= 1.0
    return near * _WORSE <= far or (near <= 1.0 and near < far)


def guess_rounding(
    operators: Iterable[str], low: tuple[str, ...] = (), *, is_library: bool = False
) -> Cause:
    """What rounding in a part of these operators comes from, by what they are."""
    names = tuple(operators)
    more = f"; partly casts elided by fusion, {describe_elided(low)}" if low else ""
    option = EMULATE if low else NO_OPTION
    if reducing := name_first(names, _REDUCES):
        whose = "a library call" if is_library else "the kernel"
        return Cause(REDUCTION, f"{reducing} in {whose}{more}", option)
    if function := name_first(names, _FUNCTIONS):
        return Cause(FUNCTION, f"{function} from the vector library{more}", option)
    return Cause(ROUNDING, f"a different order of operations, or fused multiply-adds{more}", option)


def describe_elided(low: tuple[str, ...]) -> str:
    """How many values are never rounded, with the names of the first."""
    shown = ", ".join(low[:4]) + (", …" if len(low) > 4 else "")
    return f"{len(low)} {'value' if len(low) == 1 else 'values'} never rounded ({shown})"


def name_first(operators: Iterable[str], words: frozenset[str]) -> str:
    """The first operator that one of these words is a part of, without its namespace; or ""."""
    for operator in operators:
        parts = operator.split(".")
        bare = parts[1] if len(parts) > 1 else operator
        if words & set(bare.split("_")):
            return bare
    return ""


def classify_decomposition(gap: float, operators: tuple[str, ...], *, is_random: bool) -> Cause:
    """The class of an operator that becomes others; `gap` is relative, in float64."""
    if is_random:
        return Cause(RANDOM, "", FALLBACK_RANDOM)
    if gap > FORMULA_CHANGED:
        return Cause(FORMULA, f"{gap:.1e} in float64")
    return Cause(ELSEWHERE, "the same in float64")


def judge(cause: Cause, eager_off: float | None, own_off: float | None, noise: float | None) -> str:
    """The verdict on a deviation, in words."""
    if own_off is None or eager_off is None:
        return "drawn differently" if cause.name == RANDOM else "not checked"
    # at the edge of what a type holds noise is infinite, and no measure
    if noise is not None and own_off <= noise and isfinite(noise):
        return "below the noise"
    if not cause.is_rounding:
        return "something else"
    return "not worse than eager" if own_off <= eager_off * ALIKE else "worse than eager"


def overflows_in_eager(row: NumericsOutput) -> bool:
    """Whether eager gives NaN or infinity where float64 and the program give the same numbers."""
    return row.eager_off == inf and row.own_off is not None and row.own_off <= NO_FAULT
