"""The configurations of a kernel to try: its own, a given grid, or the usual ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from itertools import product
from math import prod
from typing import Any

from workbench.analysis.kernel_configs.config_space import check_launch_value
from workbench.errors import UsageError, suggest

WARPS, STAGES = "num_warps", "num_stages"
MOST = 2048
"""Configurations of one space: more would take a quarter of an hour to compile."""
Options = Mapping[str, int]
"""One configuration: values of `tl.constexpr` parameters, `num_warps`, `num_stages`."""

_TILES: Mapping[str, tuple[int, ...]] = {
    "M": (16, 32, 64, 128),
    "N": (32, 64, 128, 256),
    "K": (32, 64, 128),
}
_GROUPS = (8,)
_LINES = (256, 512, 1024, 2048, 4096)
_SIDES = (1, 8, 32, 128, 1024)  # of blocks along several axes
_KINDS: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "product": {WARPS: (4, 8), STAGES: (2, 3, 4)},
    "product with scales": {WARPS: (4, 8), STAGES: (2, 3, 4, 5)},
    "reduction": {WARPS: (1, 2, 4, 8, 16), STAGES: (1, 2)},
    "pointwise": {WARPS: (2, 4, 8), STAGES: (1,)},
}
KINDS = tuple(_KINDS)
"""The standard spaces, by what a kernel does."""
_TILE = re.compile(r"(?:BLOCK_(?:SIZE_)?|^B(?:LOCK)?)([MNK])$", re.IGNORECASE)
_GROUP = re.compile(r"GROUP(?:_SIZE)?(?:_M)?$", re.IGNORECASE)
_LANES = 32  # threads of a warp
_LEAST_OF_LANES, _MOST_OF_LANES = 1, 64  # elements of a lane
_LEAST_OF_TILE, _MOST_OF_TILE = 8, 128  # accumulators of a lane


def make_grid(kernel: str, space: Any, known: Sequence[str]) -> list[Any]:
    """Every combination of a grid such as `{"BLOCK_M": [64, 128], "num_warps": [4, 8]}`.

    `known` are the names that it may have. Raises `UsageError` for what is no grid, for a name that
    the kernel lacks, and for too many combinations. A list of whole configurations is one, too:
    each is a `triton.Config`, which is left as it is for its hook, or such values.
    """
    if space is not None and not isinstance(space, str) and isinstance(space, Sized) and not space:
        raise UsageError(
            f"{kernel}: space is {space!r}, which is empty. Pass values by name, such as "
            '{"num_warps": [4, 8]}.'
        )
    if isinstance(space, Mapping):
        choices = {str(name): _read_values(kernel, name, space[name]) for name in space}
        _refuse_unknown(kernel, choices, known)
        whole = prod(len(values) for values in choices.values())
        if whole > MOST:
            raise UsageError(
                f"{kernel}: space has {whole:,} combinations, which exceeds the limit of {MOST:,}. "
                "Pass fewer values, or a list of configurations."
            )
        return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    if isinstance(space, str) or not isinstance(space, Iterable):
        raise UsageError(
            f"{kernel}: space is {space!r:.60}. Pass values by name, such as "
            '{"BLOCK_M": [64, 128]}, a list of configurations, or one of '
            f"{', '.join(KINDS)}."
        )
    configs: list[Any] = []
    for config in space:
        if not hasattr(config, "all_kwargs"):
            if not isinstance(config, Mapping):
                raise UsageError(
                    f"{kernel}: space has {config!r:.60}. Pass triton.Config or values by name."
                )
            _refuse_unknown(kernel, config, known)
        # Triton's own comparison of configurations fails beside another type
        if not any(type(other) is type(config) and other == config for other in configs):
            configs.append(config)
    return configs


def make_standard(
    kernel: str, kind: str, constants: Sequence[str], given: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The usual configurations of a kind of kernel, by the names of its `tl.constexpr` parameters.

    `given` are values of the call. Raises `UsageError` where no parameter is a block.
    """
    axes: dict[str, tuple[int, ...]] = {}
    for name in constants:
        values = _find_usual(kind, name)
        if values:
            axes[name] = values
    if not axes:
        held = ", ".join(constants) or "none"
        raise UsageError(
            f"{kernel} has no parameter with a block's name (BLOCK, BLOCK_M, BLOCK_SIZE_K, "
            f"XBLOCK …). Its tl.constexpr parameters are {held}. Pass space={{"
            f'"{constants[0] if constants else WARPS}": [values]}}.'
        )
    if not kind.startswith("product") and len(axes) > 1:
        axes = dict.fromkeys(axes, _SIDES)
    elif not kind.startswith("product"):
        (name,) = axes
        if kind == "reduction" and type(given.get(name)) is int:
            axes[name] = (int(given[name]),)  # a whole row: another size would be another result
    axes |= _KINDS[kind]
    whole = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    # a block that has to stay as it is may be too small by itself: a row of each program
    return [config for config in whole if _suits(kind, config)] or whole


def find_axis(name: str) -> str | None:
    """The matmul axis of a block, "M", "N" or "K", by its name."""
    match = _TILE.search(name)
    return match[1].upper() if match else None


def is_block(name: str) -> bool:
    """Whether a parameter has the name of a block size."""
    return "BLOCK" in name.upper() or find_axis(name) is not None


def is_group(name: str) -> bool:
    """Whether a parameter has the name of a tile group size, such as GROUP_M."""
    return _GROUP.match(name) is not None


def _find_usual(kind: str, name: str) -> tuple[int, ...]:
    if not kind.startswith("product"):
        return _LINES if is_block(name) else ()
    axis = find_axis(name)
    return _GROUPS if is_group(name) else _TILES[axis] if axis else ()


def _suits(kind: str, config: Options) -> bool:
    """Whether each lane has something to do, and none so much that its registers overflow."""
    lanes = int(config[WARPS]) * _LANES
    if kind.startswith("product"):
        tile = prod(size for name, size in config.items() if find_axis(name) in ("M", "N"))
        return _LEAST_OF_TILE <= tile / lanes <= _MOST_OF_TILE
    elements = prod(size for name, size in config.items() if is_block(name))
    return _LEAST_OF_LANES <= elements / lanes <= _MOST_OF_LANES


def _read_values(kernel: str, name: Any, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = (values,)
    try:
        distinct = tuple(dict.fromkeys(values))
    except TypeError as error:  # a list among them
        raise UsageError(f"{kernel}: {name} has invalid values {values!r:.60}: {error}.") from error
    if not distinct:
        raise UsageError(f"{kernel}: space has no value for {name}.")
    if name in (WARPS, STAGES) and not all(type(v) is int and v > 0 for v in distinct):
        raise UsageError(f"{kernel}: {name} is {list(distinct)}; pass positive integers.")
    if name == WARPS and not all(v & (v - 1) == 0 for v in distinct):
        raise UsageError(f"{kernel}: num_warps is {list(distinct)}; pass powers of two.")
    check_launch_value(name, distinct)
    return distinct


def _refuse_unknown(kernel: str, names: Iterable[str], allowed: Sequence[str]) -> None:
    for name in names:
        if name not in allowed:
            near = suggest(name, allowed) or f" It has {', '.join(allowed)}."
            raise UsageError(f"{kernel}: space has {name}, which is not a parameter.{near}")
