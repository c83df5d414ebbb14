"""The model of products beside timed configurations: `python -m tests.bench.timed_configs`.

Reads `tests/gpu/product_configs_h200.csv`, which `python -m tests.gpu.product_configs` measured on
an H200, and `timed_facts.csv`, what compilers say of each configuration; it is made where it is
missing. Writes the table of the page of ranked configurations.
"""

from __future__ import annotations

import csv
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.bench.kernel_fit import correlate_ranks
from tests.bench.winner_facts import COLUMNS, Config, Winner, compile_all
from tests.bench.winner_ranks import PAGE, ROOT
from tests.bench.winner_work import make_tile, make_work
from workbench.analysis.kernel_time.product_times import time_product
from workbench.specs import Catalogue

MEASURED = ROOT / "tests" / "gpu" / "product_configs_h200.csv"
FACTS = Path(__file__).with_name("timed_facts.csv")
BEGIN, END = "<!-- timed: written by tests.bench.timed_configs -->\n", "<!-- end of timed -->\n"
KIND, BUILT_FOR, SCALE, GROUP = "gemm fp8 blocks", "h100", 128, 8
FEW = 5
REACH = {"five": 1.05, "rank": 0.8}
Problem = tuple[int, int, int]


@dataclass(frozen=True)
class Ranked:
    """One problem, and what the model's order makes of it."""

    problem: Problem
    configurations: int
    rank: float  # Spearman's correlation
    first: float  # the time of the model's first over that of the fastest
    five: float  # of the best of its first five
    place: int  # of the fastest


def read_times() -> dict[Problem, dict[Config, float]]:
    """By problem the microseconds of every configuration, its inputs in the cache."""
    found: dict[Problem, dict[Config, float]] = defaultdict(dict)
    with MEASURED.open() as file:
        for row in csv.DictReader(file):
            if row["warm_us"]:
                config = Config(*(int(row[n]) for n in ("m", "n", "k", "warps", "stages")))
                problem = (int(row["rows"]), int(row["columns"]), int(row["depth"]))
                found[problem][config] = float(row["warm_us"])
    return found


def write_facts(configs: Sequence[Config]) -> None:
    """Compile each configuration and keep what is said of it."""
    with FACTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(compile_all((KIND, BUILT_FOR, config) for config in configs))


def read_facts() -> dict[tuple[str, str, Config], Mapping[str, str]]:
    """The rows as `winner_facts` has them."""
    with FACTS.open() as file:
        rows = list(csv.DictReader(file))
    return {(r["kind"], r["gpu"], Config(*(int(r[c]) for c in COLUMNS[2:7]))): r for r in rows}


def rank_problem(problem: Problem, times: Mapping[Config, float], facts: Any) -> Ranked:
    """The model's order of the configurations of one problem."""
    gpu, (m, n, k) = Catalogue.built_in()["h200"], problem
    pairs = []
    for config, us in times.items():
        winner = Winner("h200", KIND, 0, n, k, SCALE, m, config, GROUP)
        tile = make_tile(facts, winner, config)
        if tile is not None:
            told = sum(time_product(w, tile, gpu).us or 0 for w in make_work(winner, config.m))
            pairs.append((told, us))
    pairs.sort()
    taken = [us for _, us in pairs]
    best = min(taken)
    return Ranked(
        problem,
        len(pairs),
        correlate_ranks(pairs),
        taken[0] / best,
        min(taken[:FEW]) / best,
        taken.index(best) + 1,
    )


def make_table(rows: Sequence[Ranked]) -> str:
    """A sentence over all problems, and a row for each M with its worst problem."""
    near = sum(row.five <= REACH["five"] for row in rows)
    lines = [
        f"Over {len(rows)} problems, the median Spearman ρ is "
        f"{statistics.median(row.rank for row in rows):.2f} and the median top pick takes "
        f"{statistics.median(row.first for row in rows):.2f}× the best time. In {near} of them, "
        f"the best of the top 5 takes at most {REACH['five']:.2f}×.",
        "",
        "| M | problems | configurations | Spearman ρ | top pick | best of top 5 "
        "| position of the best |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for m, own in groupby(rows, lambda row: row.problem[0]):
        each = list(own)
        least, most = min(row.rank for row in each), max(row.five for row in each)
        rank = _mark(least, REACH["rank"], least >= REACH["rank"])
        five = _mark(most, REACH["five"], most <= REACH["five"], "×")
        first, place = max(row.first for row in each), max(row.place for row in each)
        lines.append(
            f"| {m} | {len(each)} | {each[0].configurations} | {rank} | {first:.2f}× | {five} "
            f"| {place} |"
        )
    return "\n".join(lines) + "\n"


def _mark(value: float, reach: float, is_reached: bool, unit: str = "") -> str:
    """Two digits, bold where it misses; three where two would show what it misses."""
    digits = 2 if is_reached or f"{value:.2f}" != f"{reach:.2f}" else 3
    return f"{value:.{digits}f}{unit}" if is_reached else f"**{value:.{digits}f}{unit}**"


def main() -> int:
    """Rank every problem and write the table."""
    times = read_times()
    if not FACTS.exists():
        write_facts(sorted({config for each in times.values() for config in each}))
    facts = read_facts()
    table = make_table([rank_problem(p, each, facts) for p, each in sorted(times.items())])
    print(table)
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + table + END + rest.split(END)[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
