"""The configurations of a Triton kernel: which there could be, and how each divides the work."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod

from workbench.analysis.kernel_configs.triton_source import TritonSource
from workbench.analysis.kernel_time.kernel_time import Division
from workbench.errors import UsageError
from workbench.number_text import number_text
from workbench.specs import Gpu

MOST = 256
"""Configurations of one sweep: each takes a fraction of a second to compile."""

GROUPS = ("GROUP_SIZE_M", "GROUP_M")
"""In what groups of rows a product walks its tiles: no model here knows what that changes."""
_MOST_OF_LAUNCH = {"num_warps": 1024, "num_stages": 64}
"""A block has at most 1,024 threads; of more stages no GPU holds the smallest tiles.

More warps than a GPU takes are discarded there, with the reason."""
_LANES = 32
_LEAST_OF_DOT = 16  # `tl.dot` takes no smaller block
_PER_LANE = 32  # elements; code for more is very long
_TILES = ("BLOCK_M", "BLOCK_N", "BLOCK_K")
_AXES = {"XBLOCK": "x", "YBLOCK": "y", "ZBLOCK": "z", "R0_BLOCK": "r0_", "R1_BLOCK": "r1_"}
_REDUCED = ("r0_", "r1_")
_GRIDS = ("Grid1D", "Grid2D", "Grid2DWithYZOverflow", "Grid3D")
_USUAL: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "pointwise": {
        "XBLOCK": (64, 128, 256, 512, 1024, 2048),
        "YBLOCK": (1, 16, 32, 64, 128),
        "ZBLOCK": (1, 8),
    },
    "reduction": {"XBLOCK": (1, 2, 4, 8, 16), "R0_BLOCK": (256, 512, 1024, 2048, 4096)},
    "reduction of columns": {"XBLOCK": (16, 32, 64, 128), "R0_BLOCK": (8, 16, 64, 256)},
    "persistent_reduction": {"XBLOCK": (1, 2, 4, 8, 16, 32)},
    "template": {"BLOCK_M": (64, 128), "BLOCK_N": (64, 128), "BLOCK_K": (32, 64)},
}


@dataclass(frozen=True)
class Config:
    """One configuration: block sizes by parameter, warps of a block, stages of the pipeline."""

    sizes: tuple[tuple[str, int], ...]
    warps: int
    stages: int

    @property
    def choice(self) -> str:
        """The sizes in words: "XBLOCK=128, R0_BLOCK=64"."""
        return ", ".join(f"{name}={size}" for name, size in self.sizes)


def changed(config: Config, values: Mapping[str, int]) -> Config:
    """The configuration with other sizes, `num_warps` or `num_stages`; names it lacks are left."""
    return Config(
        tuple((name, values.get(name, size)) for name, size in config.sizes),
        values.get("num_warps", config.warps),
        values.get("num_stages", config.stages),
    )


def find_tunable(source: TritonSource, asked: Collection[str] = ()) -> tuple[str, ...]:
    """The parameters that a sweep may change: arguments, and the tile of a template.

    Of a product that the user wrote also those whose values the call gives, by their name; the
    group in which its tiles are walked where it is asked for.
    """
    tile = tuple(name for name in _TILES if name in source.fixed)
    if source.is_user_product:
        tile += tuple(
            name
            for name, size in source.constants.items()
            if (name.startswith("BLOCK") or (name in GROUPS and name in asked))
            and type(size) is int
            and size & (size - 1) == 0
        )
    return (*source.parameters, *tile)


def space(
    source: TritonSource,
    own: Sequence[Config],
    *,
    blocks: Mapping[str, Iterable[int]] | None = None,
    warps: Iterable[int] | None = None,
    stages: Iterable[int] | None = None,
) -> list[Config]:
    """The configurations to try: those of the compilation first, then every combination.

    Sizes that are not given derive from the kernel: powers of two that suit its kind, not above
    its number of elements. Combinations that leave lanes without an element or give one more than
    32 are left out, as those compile for minutes and spill, unless all sizes are given.
    `GROUP_SIZE_M` of a product is only varied where it is given. Raises `UsageError` for a size
    that is none of the kernel's parameters or no power of two, and for too many configurations.
    """
    requested = {name: tuple(sizes) for name, sizes in (blocks or {}).items()}
    names = find_tunable(source, requested)
    _check(source, names, requested)
    choices = {name: requested.get(name) or _sizes(source, name, own) for name in names}
    is_template = source.kind == "template" or source.is_user_product
    threads = tuple(warps) if warps is not None else (4, 8) if is_template else (2, 4, 8, 16)
    mine = (2, 4) if is_template else tuple(config.stages for config in own)[:1] or (1,)
    depth = tuple(stages) if stages is not None else mine
    _check_numbers("warps", threads)
    _check_numbers("stages", depth)
    whole = prod(map(len, choices.values())) * len(threads) * len(depth)
    if whole > MOST * 8:
        raise UsageError(_too_many(whole))
    combinations = [
        Config(tuple(zip(names, sizes, strict=True)), count, stage)
        for sizes in product(*choices.values())
        for count in threads
        for stage in depth
    ]
    is_free = not requested.keys() >= set(names)
    suitable = [config for config in combinations if not is_free or _suits(source, config)]
    first = [] if requested or warps is not None or stages is not None else list(own)
    configs = list(dict.fromkeys([*first, *suitable]))
    if len(configs) > MOST:
        raise UsageError(_too_many(len(configs)))
    check_launch_value("num_warps", threads)
    check_launch_value("num_stages", depth)
    return configs


def find_division(source: TritonSource, config: Config) -> Division | None:
    """How a configuration divides the work; None for a grid that the source does not tell."""
    if source.grid not in _GRIDS or not source.numels:
        return None
    sizes = {**source.fixed, **dict(config.sizes)}
    trips, lanes, grid = 1, 1, dict.fromkeys("xyz", 1)
    for parameter, axis in _AXES.items():
        if axis not in source.numels:
            continue
        size = min(sizes.get(parameter, 1), _power(source.numels[axis]))
        pieces = ceil(source.numels[axis] / size)
        lanes *= pieces * sizes.get(parameter, 1)
        if axis in _REDUCED:
            trips *= pieces
        else:
            grid[axis] = pieces
    inner = "XBLOCK" if source.contiguous == "x" else "R0_BLOCK"
    elements = prod(source.numels.values())
    run = min(sizes.get(inner, 1), source.numels.get(source.contiguous, 1))
    blocks = prod(grid.values())
    if source.grid == "Grid2DWithYZOverflow":  # Inductor itself folds what is too wide
        grid |= {"y": 1, "z": 1}
    padding = lanes / max(elements, 1)
    return Division(blocks, trips, run, padding, (grid["x"], grid["y"], grid["z"]))


def explain_wide_grid(grid: Sequence[int], gpu: Gpu) -> str | None:
    """Why a GPU cannot launch a grid of so many program instances; None if it can."""
    for axis, (size, most) in enumerate(zip(grid, gpu.kind.most_programs, strict=False)):
        if size > most:
            its, limit = (number_text(number, "whole") for number in (size, most))
            return f"axis {axis} of the grid is {its}, but {gpu.name} allows at most {limit}"
    return None


def _check(
    source: TritonSource, names: Sequence[str], requested: Mapping[str, Sequence[int]]
) -> None:
    for name, sizes in requested.items():
        if name not in names:
            known = f"It has {', '.join(names)}." if names else "It has none."
            raise UsageError(f"{source.name} has no block size {name!r}. {known}")
        if not sizes or not all(isinstance(s, int) and s > 0 and s & (s - 1) == 0 for s in sizes):
            raise UsageError(f"{name} is {list(sizes)}: block sizes must be powers of two.")


def _check_numbers(name: str, numbers: Sequence[int]) -> None:
    if not numbers or not all(isinstance(n, int) and n > 0 for n in numbers):
        raise UsageError(f"{name} is {list(numbers)}: expected positive integers, such as (4, 8).")


def check_launch_value(name: str, values: Iterable[int]) -> None:
    """Raise `UsageError` for a `num_warps` or `num_stages` above what any GPU takes."""
    most = _MOST_OF_LAUNCH.get(name)
    if most is not None and (above := [value for value in values if value > most]):
        raise UsageError(f"{name} has {above[0]:,}: pass values from 1 to {most}.")


def _too_many(count: int) -> str:
    return f"{count} configurations exceed the limit of {MOST}. Pass fewer blocks, warps or stages."


def _sizes(source: TritonSource, name: str, own: Sequence[Config]) -> tuple[int, ...]:
    mine = {size for config in own for key, size in config.sizes if key == name}
    is_outer = source.kind == "reduction" and source.contiguous == "x"
    usual = _USUAL.get("reduction of columns" if is_outer else source.kind, {}).get(name)
    if usual is None:  # a parameter of the user: what is around their own values
        least = _LEAST_OF_DOT if source.is_user_product else 1
        near = {near for size in mine for near in (size // 2, size, size * 2) if near >= least}
        if not near:
            raise UsageError(f"No default values are known for {name} of {source.name}: pass some.")
        return tuple(sorted(near))
    most = _power(source.numels.get(_AXES.get(name, ""), max(usual)))
    if name == "BLOCK_K" and "K" in source.fixed:  # whether it divides K is written in the text
        is_even = source.fixed["K"] % source.fixed[name] == 0
        usual = tuple(s for s in usual if (source.fixed["K"] % s == 0) == is_even)
    return tuple(sorted({size for size in (*usual, *mine) if size <= most} or {most}))


def _suits(source: TritonSource, config: Config) -> bool:
    """Whether every lane has something to do and none too much."""
    if source.kind not in ("pointwise", "reduction", "persistent_reduction"):
        return True
    elements = prod(size for _, size in config.sizes)
    if source.kind == "persistent_reduction":
        elements *= source.fixed.get("R0_BLOCK", 1)
    per_lane = elements / (config.warps * _LANES)
    return (per_lane >= 1 or config.warps <= 2) and per_lane <= _PER_LANE


def _power(number: int) -> int:
    """The next power of two."""
    return 1 << max(number - 1, 0).bit_length()
