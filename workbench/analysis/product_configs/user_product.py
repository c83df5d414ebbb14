"""A product of matrices that the user wrote in Triton: its sizes, its tile, its work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from workbench.analysis.kernel_configs.config_space import Config
from workbench.analysis.kernel_configs.triton_source import TritonSource
from workbench.analysis.product_configs.inner_loop import find_inner_loop
from workbench.analysis.product_configs.product_model import (
    ProductTile,
    ProductTime,
    ProductWork,
    estimate_product,
)
from workbench.artifacts.programs import Call, flatten, read_functions
from workbench.specs import Gpu

_BLOCK = re.compile(r"BLOCK_(?:SIZE_)?([MNK])$")
_OPERANDS = 2
_RATES = {"bf16": "bf16", "fp16": "fp16", "fp32": "tf32", "i8": "int8"}
_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}
NO_SIZES = (
    "The model of products needs arguments named M, N and K that are numbers, and blocks named "
    "BLOCK_M, BLOCK_N and BLOCK_K or BLOCK_SIZE_M and so on: ordered by spills and occupancy."
)
NO_LOOP = "There is no loop of matrix instructions in its code: ordered by spills and occupancy."


def read_product(source: TritonSource, kernel: str, wrappers: Iterable[str]) -> Mapping[str, int]:
    """M, N and K of the first call of a kernel in generated programs; empty if one is unknown."""
    names = [name for name, kind in source.signature.items() if kind != "constexpr"]
    for text in wrappers:
        for function in read_functions(text):
            for event in flatten(function.events):
                if isinstance(event, Call) and event.kernel == kernel:
                    given = dict(zip(names, event.split_arguments(), strict=False))
                    sizes = {**source.constants, **given}
                    found = {name: str(sizes.get(name, "")).strip() for name in "MNK"}
                    if all(value.isdecimal() for value in found.values()):
                        return {name: int(value) for name, value in found.items()}
    return {}


def estimate_user_product(
    gpu: Gpu,
    source: TritonSource,
    sizes: Mapping[str, int],
    config: Config,
    *,
    resident: int,
    code: str | None,
) -> ProductTime | str:
    """The model's time of a configuration, or why there is none.

    `sizes` are M, N and K, `code` the SASS or AMD assembly of the configuration, `resident` the
    blocks of it that fit on a multiprocessor. The first two arguments of the kernel that point to
    memory are taken as what is multiplied, the third as the result.
    """
    values = {**source.constants, **dict(config.sizes)}
    tile = {match[1]: size for name, size in values.items() if (match := _BLOCK.search(name))}
    kinds = source.pointers
    if len(sizes) < len("MNK") or len(tile) < len("MNK") or len(kinds) < _OPERANDS:
        return NO_SIZES
    loop = None if code is None else find_inner_loop(code)
    if loop is None:
        return NO_LOOP
    left, right = (_BYTES.get(kind, 1) for kind in kinds[:_OPERANDS])
    out = _BYTES.get(kinds[_OPERANDS], 2) if len(kinds) > _OPERANDS else max(left, right)
    m, n, k = (sizes[name] for name in "MNK")
    rate = gpu.matrix.of(_RATES.get(kinds[0], "fp8")) or gpu.matrix.of("fp16")
    if not rate:
        return f"The rate of the matrix units of {gpu.title} for {kinds[0]} is not known."
    work = ProductWork(
        row_tiles=-(-m // tile["M"]),
        columns=n,
        depth=k,
        loaded=m * k * left + n * k * right,
        stored=m * n * out,
        left_bytes=left,
        right_bytes=right,
        tflops=rate,
    )
    made = ProductTile(tile["M"], tile["N"], tile["K"], config.warps, config.stages, resident, loop)
    return estimate_product(gpu, work, made)
