"""Configurations that are known to have won on real GPUs, which the package has.

A line of the file is a problem without its rows: device, values, experts, columns, depth, then for
each number of rows the tile that won, such as `16:16x64x128w4s3`.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from workbench.analysis.kernel_time.product_times import FILE as PARAMETERS
from workbench.analysis.product_configs.tuned_files import Problem, Tile, TunedWinner
from workbench.plain_data import parse_toml

FILE = "published_winners.csv"
"""Where they stand, in the data of `workbench.specs`; a part of `tests.bench` writes it."""
_TILE = re.compile(r"(\d+):(\d+)x(\d+)x(\d+)w(\d+)s(\d+)")


@cache
def read_published() -> tuple[TunedWinner, ...]:
    """The winners that the package has; devices have their own names."""
    text = resources.files("workbench.specs").joinpath("data", FILE).read_text()
    found = []
    for device, values, *sizes, tiles in csv.reader(
        line for line in text.splitlines() if not line.startswith("#")
    ):
        experts, columns, depth = map(int, sizes)
        for rows, *tile in (map(int, match.groups()) for match in _TILE.finditer(tiles)):
            problem = Problem(values, rows, columns, depth, experts)
            found.append(TunedWinner(device, problem, Tile(*tile)))
    return tuple(found)


def is_published_better(gpu: str, *, experts: bool, scaled: bool) -> bool:
    """Whether these winners were seen to rank configurations for a GPU better than the model alone.

    Of products without scales, and without experts, no winners are published.
    """
    content = resources.files("workbench.specs").joinpath("data", PARAMETERS).read_bytes()
    known = parse_toml(content)["published"]
    return gpu in (known["experts"] if experts else known["values"] if scaled else ())


def write_published(winners: Iterable[TunedWinner], source: str) -> str:
    """The text of the file: a line for each problem, the same winner of two releases once."""
    lines: dict[tuple[Any, ...], dict[str, None]] = defaultdict(dict)
    for one in winners:
        its, tile = one.problem, one.tile
        told = f"{its.rows}:{tile.rows}x{tile.columns}x{tile.depth}w{tile.warps}s{tile.stages}"
        lines[one.device, its.values, its.experts, its.columns, its.depth][told] = None
    file = io.StringIO()
    file.write(f"# {source[:1].upper()}{source[1:]}: written by tests.bench.winner_ranks.\n")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([*named, " ".join(told)] for named, told in sorted(lines.items()))
    return file.getvalue()
