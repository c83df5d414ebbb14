"""Which kernels of a report can be compiled again, in which configuration; what builds are."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from workbench.analysis.kernel_time.inner_loop import InnerLoop
from workbench.compiler.kernels.kernel_variants import OwnSource
from workbench.compiler.memory_layouts.laid_tensors import LaidKernel
from workbench.errors import UsageError
from workbench.processes.shipping.caller_context import CallerContext
from workbench.report import Kernel, Report
from workbench.report.machine_rows import Assembly, Resources, Runs
from workbench.specs.device import Device


@dataclass(frozen=True)
class Chosen:
    """One kernel in one configuration; `values` are its block sizes.

    `source` is Triton source, `ttir` what it became, with its lines in the source.
    """

    kernel: str
    row: Resources
    source: str | None
    ttir: str | None
    ttir_lines: Runs = ()
    values: Mapping[str, Any] = field(default_factory=dict)


def list_triton_kernels(report: Report) -> list[Kernel]:
    """The kernels that Triton compiled; raises `UsageError`, which says why, if there is none."""
    measured = set(report.resources.columns.get("kernel", ()))
    kernels = [kernel for kernel in report.kernels if kernel.id in measured]
    if kernels:
        return kernels
    name = report.request.name or "This compilation"
    if not len(report.kernels):
        raise UsageError(f"{name} has no kernels: nothing can be compiled for another GPU.")
    languages = set(report.kernels.columns.get("language", ()))
    if languages == {"extern"}:
        raise UsageError(
            f"{name} has only library calls, no Triton kernels. Compile it with "
            'options={"max_autotune": True, "max_autotune_gemm_backends": "TRITON"} to get matmuls '
            "as kernels."
        )
    if "triton" in languages:
        why = report.why_missing("assembly") or "its code was not recorded"
        raise UsageError(f"The Triton kernels of {name} cannot be recompiled: {why}.")
    raise UsageError(
        f"{name} was compiled for the CPU and has no Triton kernels. Compile it for a GPU with "
        'wb.aot_compile(fn, args, target="h100"), or call wb.matrix(fn, args).'
    )


def find_kernel(report: Report, name: str) -> Kernel:
    """The Triton kernel of this id or name; raises `UsageError`, which lists them, if none is."""
    kernels = list_triton_kernels(report)
    for kernel in kernels:
        if name in (kernel.id, kernel.name):
            return kernel
    names = ", ".join(f"{kernel.id} ({kernel.name})" for kernel in kernels)
    raise UsageError(
        f"{name!r} is not a Triton kernel of this compilation: expected one of {names}."
    )


def chosen(report: Report, kernels: Sequence[Kernel], configs: Mapping[str, str]) -> list[Chosen]:
    """Each kernel in its first configuration, or the one that `configs` has for its id.

    Raises `UsageError` when a kernel or configuration in `configs` does not exist.
    """
    by_kernel: dict[str, dict[str, Resources]] = {}
    for row in report.resources:
        by_kernel.setdefault(row.kernel, {})[row.config] = row
    config_of = {find_kernel(report, name).id: config for name, config in configs.items()}
    ttir = {row.config: row for row in report.assembly if row.stage == "ttir"}
    choices = []
    for kernel in kernels:
        rows = by_kernel[kernel.id]
        config = config_of.get(kernel.id, next(iter(rows)))
        if config not in rows:
            names = ", ".join(f"{row.config} {row.choice}".strip() for row in rows.values())
            raise UsageError(f"{kernel.id} has no configuration {config!r}. It has {names}.")
        code, source = ttir.get(config), report.texts.get(kernel.text or "")
        text = None if code is None else report.texts.get(code.text or "")
        lines = () if code is None else code.lines
        values = values_of(rows[config].choice)
        choices.append(Chosen(kernel.id, rows[config], source, text, lines, values))
    return choices


def values_of(choice: str) -> dict[str, Any]:
    """The values of a choice in words: "XBLOCK=128, R0_BLOCK=64"."""
    by_name = {}
    for name, sign, value in (part.partition("=") for part in choice.split(", ")):
        if sign:
            try:
                by_name[name] = ast.literal_eval(value)
            except (ValueError, SyntaxError):
                by_name[name] = value
    return by_name


@dataclass(frozen=True)
class Build:
    """One kernel to be compiled in one configuration for one GPU.

    `source` is Triton source whose function is run through Triton's compiler, which only a source
    that this process generated, or that is trusted, may be; or TTIR, which is data. `values` are
    those of the block sizes. With `with_code` False only resources are wanted, and with `with_loop`
    the loop of its matrix instructions besides. `ttir_lines` are the lines of TTIR by line of the
    Triton source. With `own` it is a call of a kernel that a user wrote, in the place of a source.
    `with_layouts` asks which thread holds which element, too.
    """

    id: str  # "k0:a100"
    kernel: str
    gpu: Device
    source: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    choice: str = ""
    warps: int = 4
    stages: int = 1
    is_ttir: bool = False
    ttir_lines: Runs = ()
    with_code: bool = True
    own: OwnSource | None = None
    with_loop: bool = False
    with_layouts: bool = False


@dataclass(frozen=True)
class BuildJob:
    """Kernels to be compiled, `at_once` at the same time, each at most `limit_s` seconds."""

    builds: tuple[Build, ...]
    context: CallerContext
    at_once: int = 2
    limit_s: float = inf


@dataclass(frozen=True)
class Built:
    """What became of one build; `note` says why there is no code.

    `texts` are those that `assembly` names, by content hash. With `is_late` it is still compiled
    where it was asked for, and nothing but the end of that process stops it.
    """

    id: str
    resources: Resources | None
    assembly: tuple[Assembly, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None
    loop: InnerLoop | None = None
    laid: LaidKernel | None = None
    is_late: bool = False
