"""A matmul that the user wrote in Triton: its sizes, its tile, its work."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.analysis.kernel_configs.config_space import Config
from workbench.analysis.kernel_configs.triton_source import TritonSource
from workbench.analysis.kernel_time.inner_loop import InnerLoop
from workbench.analysis.kernel_time.product_times import (
    ProductTile,
    ProductWork,
    count_tiles,
    load_parameters,
)
from workbench.analysis.product_configs.prior import (
    Prior,
    is_published_better,
    read_published,
    weigh_time,
)
from workbench.analysis.product_configs.tuned_files import (
    Problem,
    Tile,
    TunedWinner,
    read_winners,
)
from workbench.artifacts.programs import Call, flatten, read_functions
from workbench.errors import UsageError
from workbench.specs import Gpu

_BLOCK = re.compile(r"(?:BLOCK_(?:SIZE_)?|^B(?:LOCK)?)([MNK])$")
_SCALE = re.compile(r"(?!.*stride)(?:\w*_)?(?:scale|group|quant)_?k$", re.IGNORECASE)
_OPERANDS = 2
_RATES = {"bf16": "bf16", "fp16": "fp16", "fp32": "tf32", "i8": "int8"}
_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}
_WIDE = ("bf16", "fp16")
_LEAST_ALIKE = 0.01  # winners, or parts of one, from which on a prior says something
Placing = Callable[[Sequence[Config], Sequence[float | None]], list[float | None] | str]
SIZES = {
    "M": "rows, or tokens of an MoE",
    "N": "columns",
    "K": "depth",
    "E": "experts",
    "TOP": "experts per token",
    "SCALE_K": "elements along K that share a scale",
}
"""The sizes of a matmul, from a call or the user."""
NO_SIZES = (
    "Not modelled, ordered by spills and occupancy. The GEMM model needs numeric arguments M, N "
    'and K, or sizes={"M": …, "N": …, "K": …}, and blocks named BLOCK_M, BLOCK_SIZE_M, BM and so '
    "on."
)
NO_LIKE = "the prior has no best config for a similar problem, so it changes nothing"
NO_LOOP = (
    "Not modelled, ordered by spills and occupancy: the kernel has no loop of MMA instructions."
)


def read_product(source: TritonSource, kernel: str, wrappers: Iterable[str]) -> dict[str, int]:
    """Which of `SIZES` the first call of a kernel in generated programs gives as numbers."""
    names = [name for name, kind in source.signature.items() if kind != "constexpr"]
    for text in wrappers:
        for function in read_functions(text):
            for event in flatten(function.events):
                if isinstance(event, Call) and event.kernel == kernel:
                    arguments = dict(zip(names, event.split_arguments(), strict=False))
                    return read_sizes({**source.constants, **arguments})
    return {}


def read_sizes(given: Mapping[str, object]) -> dict[str, int]:
    """Those of `SIZES` that the arguments of a call have as numbers, by their names."""
    sizes = {}
    for argument, value in given.items():
        name = "SCALE_K" if _SCALE.match(argument) else argument
        text = str(value).strip()
        if name in ("M", "N", "K", "SCALE_K") and text.isdecimal():
            sizes[name] = int(text)
    return sizes


def check_sizes(sizes: Mapping[str, int]) -> None:
    """Raises `UsageError` for a name that is not in `SIZES`, and for a value that is not a size."""
    for name, size in sizes.items():
        if name not in SIZES:
            names = ", ".join(f"{size_name} ({words})" for size_name, words in SIZES.items())
            raise UsageError(f"A matmul has no size {name!r}. It has {names}.")
        if type(size) is not int or size <= 0:
            raise UsageError(f"{name} is {size!r:.40}: expected a positive integer.")
    if sizes.get("TOP", 1) > sizes.get("E", sizes.get("TOP", 1)):
        raise UsageError(f"TOP is {sizes['TOP']}, but there are only {sizes['E']} experts (E).")
    if ("E" in sizes) != ("TOP" in sizes):
        raise UsageError("An MoE needs both E, its experts, and TOP, the experts per token.")


def explain_no_step(source: TritonSource, sizes: Mapping[str, int], config: Config) -> str | None:
    """Why the kernel would use wrong scales with this BLOCK_K; None if it would not."""
    tile, scale = _read_tile(source, config), sizes.get("SCALE_K")
    if scale is None or "K" not in tile or scale % tile["K"] == 0:
        return None
    return f"BLOCK_K {tile['K']} spans several scale blocks of {scale}"


def _read_tile(source: TritonSource, config: Config) -> dict[str, int]:
    values = {**source.constants, **dict(config.sizes)}
    return {match[1]: size for name, size in values.items() if (match := _BLOCK.search(name))}


def describe_product(
    gpu: Gpu,
    source: TritonSource,
    sizes: Mapping[str, int],
    config: Config,
    *,
    resident: int,
    loop: InnerLoop | None,
) -> tuple[ProductWork, ProductTile] | str:
    """The work of a product and one configuration of it, or why no model knows it.

    `sizes` are those of `SIZES`, `loop` that of the matrix instructions in the configuration's
    code, `resident` the blocks of it that fit on a multiprocessor. The first two arguments of the
    kernel that point to memory are taken as what is multiplied, the third as the result; tokens
    choose their experts at random.
    """
    tile, kinds = _read_tile(source, config), source.pointers
    if not sizes.keys() >= set("MNK") or len(tile) < len("MNK") or len(kinds) < _OPERANDS:
        return NO_SIZES
    if loop is None:
        return NO_LOOP
    left, right = (_BYTES.get(kind, 1) for kind in kinds[:_OPERANDS])
    out = _BYTES.get(kinds[_OPERANDS], 2) if len(kinds) > _OPERANDS else max(left, right)
    m, n, k = (sizes[name] for name in "MNK")
    rate = gpu.matrix.of(_RATES.get(kinds[0], "fp8")) or gpu.matrix.of("fp16")
    if not rate:
        return f"The peak {kinds[0]} rate of {gpu.title} is not known."
    tiles, busy, top = float(-(-m // tile["M"])), 1.0, sizes.get("TOP", 1)
    if "E" in sizes:
        tiles, busy = count_tiles(sizes["E"], top, m, tile["M"])
    work = ProductWork(
        row_tiles=tiles,
        columns=n,
        depth=k,
        loaded=m * k * left + busy * n * k * right,
        stored=m * top * n * out,
        left_bytes=left,
        right_bytes=right,
        tflops=rate,
        operations=2.0 * m * top * n * k,
    )
    return work, ProductTile(
        tile["M"], tile["N"], tile["K"], config.warps, config.stages, resident, loop, "E" in sizes
    )


def read_prior(
    paths: Any, gpus: Iterable[Gpu], gpu: Gpu, source: TritonSource, sizes: Mapping[str, int]
) -> Placing | None:
    """What won on these GPUs, by files: it gives the µs by which configurations are placed.

    It takes configurations with their modelled µs, and answers with a sentence where it knows of
    no problem like this. Where `paths` is None, the published winners are taken if they are known
    to rank better than the model alone; an empty list takes none. Raises `UsageError` for what is
    no file or folder of winners.
    """
    if paths is None:
        if not is_published_better(gpu.name, experts="E" in sizes, scaled="SCALE_K" in sizes):
            return None
        winners: Iterable[TunedWinner] = read_published()
    else:
        winners = read_winners(paths)
        if not winners:
            return None
    prior = Prior(winners, gpus)

    def place(configs: Sequence[Config], times: Sequence[float | None]) -> list[float | None] | str:
        weights = weigh_user_product(gpu, source, sizes, configs, prior)
        if isinstance(weights, str):
            return [None] * len(configs) if paths is None else weights
        pairs = zip(times, weights, strict=True)
        spread = load_parameters(experts="E" in sizes)["spread"]
        return [None if us is None else weigh_time(us, weight, spread) for us, weight in pairs]

    return place


def weigh_user_product(
    gpu: Gpu,
    source: TritonSource,
    sizes: Mapping[str, int],
    configs: Sequence[Config],
    prior: Prior,
) -> list[float] | str:
    """How many times likelier than by chance each configuration wins, or why that is not known.

    Files of experts name their inner width: half the columns of the first product, the depth of
    the second; what more winners are alike to is taken.
    """
    tiles = [_read_tile(source, config) for config in configs]
    if not sizes.keys() >= set("MNK") or not all(tile.keys() >= set("MNK") for tile in tiles):
        return NO_SIZES
    kinds = source.pointers[:_OPERANDS]
    values = "bf16" if kinds[0] in _WIDE else "int8" if kinds[0] == "i8" else kinds[0][:3]
    if values == "bf16" and kinds[-1] not in _WIDE:
        values = "w8a16"
    m, n, k, experts = (sizes.get(name, 0) for name in "MNKE")
    problem = Problem(values, m, n, k)
    if experts:
        widths = (max(n // 2, 1), k)
        likely = [Problem(values, m, width, experts=experts) for width in widths]
        problem = max(likely, key=lambda candidate: prior.count(gpu, candidate))
    if prior.count(gpu, problem) < _LEAST_ALIKE:
        return NO_LIKE
    chosen = [
        Tile(tile["M"], tile["N"], tile["K"], config.warps, config.stages)
        for tile, config in zip(tiles, configs, strict=True)
    ]
    return prior.weigh(gpu, problem, chosen)
