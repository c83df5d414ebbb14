"""Configurations that won on real GPUs, from the files in which vLLM and sglang publish them.

A file is called by its problem and its device, such as
`N=7168,K=2048,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json` for a product and
`E=8,N=14336,device_name=NVIDIA_H100_80GB_HBM3.json` for experts. It holds a configuration for each
number of rows. Nothing of it is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import UsageError

_FACT = re.compile(r"(\w+)=(\[[^\]]*\]|[^,]*)")
_VALUES = {"fp8_w8a8": "fp8", "int8_w8a8": "int8", "int8_w8a16": "w8a16", "int4_w4a16": "w4a16"}
_TILE = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "num_warps", "num_stages")
_MOST_BYTES = 1 << 20  # of a file: the longest that is published has 5 KB
_MOST_SIZE = 1 << 40  # more is no size of a product, and does not fit into a float's exponent


class Tile(NamedTuple):
    """Sizes of a tile, warps of a block and stages of the pipeline."""

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int


@dataclass(frozen=True)
class Problem:
    """What is multiplied: rows x depth times depth x columns, or as many for each of `experts`.

    `values` are those of the operands: "bf16" (float16 too), "fp8", "int8", or "w8a16" for weights
    of fewer bits. For experts `rows` are tokens, and `columns` those that a file names: the inner
    width of an expert; `depth` is 0 there.
    """

    values: str
    rows: int
    columns: int
    depth: int = 0
    experts: int = 0


@dataclass(frozen=True)
class TunedWinner:
    """The configuration that won for a problem on a device, by the device's own name."""

    device: str
    problem: Problem
    tile: Tile


def read_winners(paths: Any) -> list[TunedWinner]:
    """The winners in files and in the files of folders, as vLLM and sglang name and write them.

    Raises `UsageError` where a path is missing, where a file is no such file, and where no file of
    a folder is one.
    """
    sources = [paths] if isinstance(paths, str | PathLike) else paths
    if not isinstance(sources, Iterable):
        raise UsageError(f"prior={paths!r:.60}: expected a file, a folder or a list of them.")
    winners: list[TunedWinner] = []
    for path in sources:
        if not isinstance(path, str | PathLike):
            raise UsageError(f"prior has {path!r:.60}: expected a file or a folder.")
        winners += _read_path(Path(path))
    return winners


def _read_path(path: Path) -> list[TunedWinner]:
    if not path.is_dir():
        return list(_read_file(path, _read_name(path)))
    files = {file: _find_facts(file) for file in sorted(path.rglob("*.json"))}
    named = {file: facts for file, facts in files.items() if "device_name" in facts}
    if not named:
        raise UsageError(
            f"The folder {path} has no file of tuned configs, such as "
            "E=8,N=14336,device_name=NVIDIA_H200.json."
        )
    return [winner for file in named for winner in _read_file(file, _read_name(file))]


def _find_facts(path: Path) -> dict[str, str]:
    return dict(_FACT.findall(path.name.removesuffix(".json")))


def _read_name(path: Path) -> tuple[str, Problem]:
    """The device and the problem that a name tells; of the problem without its rows."""
    facts = _find_facts(path)
    sizes = {
        name: int(value)
        for name in "ENK"
        if (value := facts.get(name, "")).isascii() and value.isdecimal() and len(value) < 10
    }
    own = sizes.keys() & {"N", "E", "K"}
    if (
        "device_name" not in facts
        or not (own >= {"N", "K"} or own >= {"N", "E"})
        or not all(sizes.values())
    ):
        raise UsageError(
            f"The name of {path.name} does not state the sizes or the device. Expected a vLLM or "
            "sglang name, such as N=7168,K=2048,device_name=NVIDIA_H200,dtype=fp8_w8a8.json."
        )
    values = _VALUES.get(facts.get("dtype", ""), facts.get("dtype") or "bf16")
    experts = sizes.get("E", 0)
    depth = 0 if experts else sizes["K"]
    return facts["device_name"], Problem(values, 0, sizes["N"], depth, experts)


def _read_file(path: Path, named: tuple[str, Problem]) -> Iterator[TunedWinner]:
    """A winner for each number of rows; those without a whole tile are passed over."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        rows = json.loads(content) if len(content) <= _MOST_BYTES else None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {str(error)[:80]}.") from error
    if not isinstance(rows, Mapping):
        raise UsageError(f"{path} does not map row counts to configurations.")
    device, problem = named
    for count, config in rows.items():
        if not count.isascii() or not count.isdecimal() or not isinstance(config, Mapping):
            continue  # newer files name the release of Triton beside them
        sizes = [int(count) if len(count) < 12 else 0, *(config.get(name, 0) for name in _TILE)]
        if all(type(size) is int and 0 < size < _MOST_SIZE for size in sizes):
            own = Problem(problem.values, sizes[0], problem.columns, problem.depth, problem.experts)
            yield TunedWinner(device, own, Tile(*sizes[1:]))
