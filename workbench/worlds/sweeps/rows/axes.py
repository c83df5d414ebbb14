"""What a sweep looks for, how, and the axes that choose something inside of a kernel.

`max_autotune_gemm_backends` and its relatives name the families of templates that Inductor's
autotuner may take, `template` the choices themselves by a regular expression, and the parameters of
Triton kernels (`XBLOCK`, `num_warps`, `num_stages`, …) their configuration on a virtual GPU:
`XBLOCK` of every kernel that has it, `k0.XBLOCK` of one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from workbench.errors import UsageError

AXES = ("mode", "backend", "dtype", "threads", "dynamic", "target")
"""Axes of how a call is compiled and run."""
OBJECTIVES = ("latency", "throughput", "first_call", "memory")
STRATEGIES = ("grid", "random", "halving", "tpe")
"""Ways through the settings of a sweep."""

BACKENDS = ("ATEN", "TRITON", "CPP", "CUTLASS", "CUTEDSL", "NVGEMM", "CK", "CKTILE")
BACKEND_OPTIONS = (
    "max_autotune_gemm_backends",
    "max_autotune_conv_backends",
    "max_autotune_conv_bwd_weight_backends",
)
TEMPLATE = "template"
CHOICE_NAMES = "test_configs.autotune_choice_name_regex"
"""Inductor's option behind `template`: choices whose name it is not found in are left out."""
TUNED_BY = (*BACKEND_OPTIONS, TEMPLATE)
"""Axes that mean something only while the autotuner runs."""
SIZES = ("XBLOCK", "YBLOCK", "ZBLOCK", "R0_BLOCK", "R1_BLOCK", "BLOCK_M", "BLOCK_N", "BLOCK_K")
COUNTS = {"num_warps": 32, "num_stages": 8}  # with the most that is taken
PARAMETERS = (*SIZES, *COUNTS)
_OWN_SIZE = re.compile(r"[A-Z][A-Z0-9_]*")  # of a user's kernel; Inductor's options are lower case


def is_kernel_axis(name: str) -> bool:
    """Whether a name is a parameter of Triton kernels: "XBLOCK", "k0.num_warps"."""
    kernel, parameter = split_parameter(name)
    return parameter in PARAMETERS or bool(kernel and _OWN_SIZE.fullmatch(parameter))


def split_parameter(name: str) -> tuple[str | None, str]:
    """The kernel that an axis is for, None for every one, and the parameter."""
    kernel, _, parameter = name.rpartition(".")
    return kernel or None, parameter


def join_backends(name: str, value: Any) -> str:
    """Backends as Inductor writes them, "ATEN,CPP"; a line of a magic joins them by "+".

    Raises `UsageError` for one that there is not, with the nearest match.
    """
    if not isinstance(value, str):
        raise UsageError(
            f'over[{name!r}] contains {value!r}: expected a string such as "ATEN,CPP".'
        )
    parts = [part.strip().upper() for part in value.replace("+", ",").split(",")]
    for part in parts:
        if part not in BACKENDS:
            hint = nearest(part, BACKENDS)
            expected = ", ".join(BACKENDS)
            raise UsageError(f"over[{name!r}] contains {part!r}: expected {expected}.{hint}")
    return ",".join(parts)


def check_template(value: Any) -> None:
    """Raise `UsageError` for what is no regular expression."""
    try:
        re.compile(value)
    except (re.error, TypeError) as error:
        raise UsageError(
            f"over['template'] contains {value!r}: expected a regular expression for names of "
            f"choices, such as 'CppMicroGemm' or '^bmm$' ({error})."
        ) from error


def check_parameter(name: str, value: Any) -> None:
    """Raise `UsageError` for a block size that is no power of two, or too many warps or stages."""
    _, parameter = split_parameter(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"over[{name!r}] contains {value!r}: expected positive integers.")
    most = COUNTS.get(parameter)
    if most is not None and value > most:
        raise UsageError(f"over[{name!r}] contains {value}: the maximum is {most}.")
    if parameter != "num_stages" and value & (value - 1):
        near = min(
            (1 << value.bit_length() - 1, 1 << value.bit_length()), key=lambda p: abs(p - value)
        )
        raise UsageError(
            f"over[{name!r}] contains {value}: powers of two only. Did you mean {near}?"
        )


def nearest(name: str, known: Sequence[str]) -> str:
    """The question whether the nearest match was meant, or nothing."""
    matches = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {matches[0]!r}?" if matches else ""
