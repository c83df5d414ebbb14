"""What would change a deviation: the options that are worth a trial, as changes to try."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.analysis.gpu_model.roofline import compute_roofline
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.number_text import number_text, plural
from workbench.report import Report
from workbench.specs import Gpu
from workbench.worlds.numerics.findings.causes import (
    ELIDED,
    EMULATE,
    FALLBACK_RANDOM,
    FULL_PRODUCTS,
    FUNCTION,
    REDUCTION,
    ROUNDING,
    SOMETHING_ELSE,
    TF32,
)
from workbench.worlds.numerics.findings.numerics_answer import format_off, sort_worst
from workbench.worlds.numerics.rows import Deviation, NumericsCure

UNCONTRACTED = "cpp.enable_floating_point_contract_flag='off'"
UNFUSED = "unfused"
_STRICT = "numerics={!r}"
_TEXTS = {
    EMULATE: "Round to fp16/bf16 wherever eager does. This brings the program closer to eager, not "
    "necessarily to float64.",
    FULL_PRODUCTS: "Compute float32 matmuls in full precision, without TF32: the same kernels, at "
    "the float32 rate.",
    FALLBACK_RANDOM: "Draw random numbers as eager does: with a library call, which is not fused.",
    UNCONTRACTED: "Round between multiply and add in C++ kernels, as eager does: no fused "
    "multiply-adds.",
    _STRICT.format("strict_pointwise"): "Round pointwise operators as eager does: torch's own "
    "setting for casts, divisions and functions.",
    _STRICT.format("strict_reduction"): "Reduce in eager's order, where torch supports it.",
    _STRICT.format("strict"): "Round as eager does wherever torch can: pointwise operators and "
    "reductions.",
}
_OF_STRICT = {
    "strict_pointwise": {ELIDED, FUNCTION, ROUNDING},
    "strict_reduction": {REDUCTION},
    "strict": {ELIDED, FUNCTION, ROUNDING, REDUCTION},
}
"""The causes that a word of the option `numerics` is about."""
_OF_FUSION = (SOMETHING_ELSE, ELIDED, FUNCTION, ROUNDING, REDUCTION)
RULE = "numerics"
"""The rule of a change that was asked for because of the numbers."""


def read_option(option: str) -> tuple[str, Any]:
    """The name and the value of an option as a row has it, such as `fallback_random=True`."""
    name, _, value = option.partition("=")
    return name, ast.literal_eval(value)


def _can_be_tried(option: str) -> bool:
    """Whether a row's option is one that this release can pass; a later one may write others."""
    try:
        return bool(read_option(option)[0])
    except (ValueError, SyntaxError):
        return False


def describe_option(option: str) -> str:
    """What an option does to the numbers, in a sentence."""
    name, _, value = option.partition("=")
    if name == UNFUSED:
        return f"Write the value of every operator in {value[1:-1]} to memory, as eager does."
    return _TEXTS.get(option, f"Compile with {option}.")


def name_option(cure: Opportunity) -> str:
    """The option of a change as a row has it."""
    return ", ".join(f"{name}={value!r}" for name, value in cure.settings)


def name_change(cure: Opportunity) -> str:
    """The same as somebody passes it, or calls it."""
    return cure.action if cure.settings[0][0] == UNFUSED else name_option(cure)


def find_cures(cures: Sequence[Opportunity], row: Deviation) -> list[Opportunity]:
    """The changes that are about a deviation: that of its cause first, then those of its kernel."""
    own = [cure for cure in cures if row.option and name_option(cure) == row.option]
    return own + [cure for cure in cures if row.kernel in cure.kernels and cure not in own]


def list_offers(
    report: Report, rows: Sequence[Deviation], strict: Sequence[str], *, contracts: bool
) -> dict[str, tuple[str, ...]]:
    """The options beside those that a cause names, each with the kernels that it is about.

    `strict` are the words of the option `numerics` that the torch has which compiled, `contracts`
    says that its C++ kernels may hold multiply-adds. Of kernels only the worst is not fused, unless
    it is the order of a reduction.
    """
    kernels = {kernel.id: kernel for kernel in report.kernels if kernel.is_generated}
    own = [row for row in sort_worst(rows) if row.kernel in kernels and row.cause in _OF_FUSION]
    offers: dict[str, tuple[str, ...]] = {}
    for word in strict:
        about = [row for row in own if row.cause in _OF_STRICT.get(word, ())]
        if about and (word != "strict" or len(strict) == 1 or len({r.cause for r in about}) > 1):
            offers[_STRICT.format(word)] = _name_kernels(about)
    contracted = [row for row in own if kernels[row.kernel or ""].language == "cpp"]
    if contracts and contracted:
        offers[UNCONTRACTED] = _name_kernels(contracted)
    # which is added in its own order whether or not others are computed beside it
    apart = (row for row in own if row.cause != REDUCTION)
    fused = next((row.kernel for row in apart if len(row.cone) > 1), None)
    if fused is not None:
        offers[f"{UNFUSED}={fused!r}"] = (fused,)
    return offers


def list_cures(
    rows: Sequence[Deviation], offers: Mapping[str, Sequence[str]] | None = None
) -> tuple[Opportunity, ...]:
    """The changes that rows name, and `offers` besides, each with the kernels that it is about."""
    by_option: dict[str, Sequence[str]] = {}
    for option in dict.fromkeys(row.option for row in rows if row.option):
        by_option[option] = _name_kernels(row for row in rows if row.option == option)
    return tuple(
        Opportunity(
            id=f"n{number}",
            rule=RULE,
            kind="option",
            text=describe_option(option),
            sure="possible",
            source="inferred from the cause; measured when tried",
            kernels=tuple(kernels),
            settings=(read_option(option),),
            changes_numbers=True,
        )
        for number, (option, kernels) in enumerate({**by_option, **(offers or {})}.items())
        if _can_be_tried(option)
    )


def _name_kernels(rows: Iterable[Deviation]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.kernel for row in rows if row.kernel))


def describe_effect(cure: NumericsCure) -> str:
    """What an option removes, counted on the numbers of the call."""
    left = f"{plural(cure.deviations_after, 'differing value')} instead of {cure.deviations}"
    parts = [left]
    if cure.differ is not None and cure.differ_after is not None:
        before, after = (number_text(x, "percent") for x in (cure.differ, cure.differ_after))
        parts.append(f"Output elements that differ from eager: {after} instead of {before}")
    if cure.own_off is not None and cure.own_off_after is not None:
        before, after = format_off(cure.own_off), format_off(cure.own_off_after)
        parts.append(f"The error against float64 is {after} instead of {before}")
    return f"{'. '.join(parts)}."


def describe_price(cure: NumericsCure) -> str:
    """What an option costs a call: time, kernels, bytes, each with where it is from."""
    head = "The call was not timed"
    if cure.bound_us is not None and cure.bound_us_after is not None:
        before, after = (
            number_text(x * 1e-6, "seconds") for x in (cure.bound_us, cure.bound_us_after)
        )
        head = f"A call takes at least {after} on the GPU instead of {before} (modelled)"
    if cure.time_us is not None and cure.time_us_after is not None:
        before, after = (
            number_text(x * 1e-6, "seconds") for x in (cure.time_us, cure.time_us_after)
        )
        verdict = "measured interleaved" if cure.is_sure else "interleaved, too noisy to say"
        head = f"A call takes {after} instead of {before} ({verdict})"
    count, kernels = cure.kernels, plural(cure.kernels_after, "kernel")
    same = ", as before" if count == cure.kernels_after else f" instead of {count}"
    work = f"It runs {kernels}{same} (counted)"
    if cure.bytes is not None and cure.bytes_after is not None:
        before, after = (number_text(x, "bytes") for x in (cure.bytes, cure.bytes_after))
        same = ", as before" if cure.bytes == cure.bytes_after else f" instead of {before}"
        work += f" and moves {after}{same} (modelled)"
    return f"{head}. {work}."


def price_full_products(report: Report, rows: Sequence[Deviation], gpu: Gpu) -> str:
    """What leaving TF32 costs by the roofline of a GPU, in a sentence; "" where nothing took it."""
    kernels = {row.kernel for row in rows if row.cause == TF32}
    modelled = [
        row
        for row in report.own_roofline
        if row.kernel in kernels and row.flops and row.moved_bytes is not None and row.bound_us
    ]
    if not modelled:
        return ""
    before = sum(row.bound_us or 0.0 for row in modelled)
    after = sum(
        compute_roofline(
            gpu, moved_bytes=row.moved_bytes or 0, flops=row.flops or 0, dtype="fp32", matrix=True
        ).time_us
        for row in modelled
    )
    names = ", ".join(row.kernel for row in modelled)
    return (
        "torch.set_float32_matmul_precision('highest') multiplies in full float32. It changes the "
        f"roofline time of {names} on {gpu.title} from {number_text(before / 1e6, 'seconds')} "
        f"to {number_text(after / 1e6, 'seconds')} (modelled)."
    )
