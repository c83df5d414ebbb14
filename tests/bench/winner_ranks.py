"""Where the configuration that won on a device stands among all that ever won there, by the model.

`python -m tests.bench.winner_ranks CSV` reads tuned winners (not part of the project), fits the
model on the other devices for each device, compares it with what needs no model, and writes
`winner_ranks.json`, the parameters in `workbench/specs/data/product_configs.toml` (fitted to all
devices), and the table of the page.
"""

from __future__ import annotations

import datetime
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from tests.bench.winner_facts import DEVICES, Config, Winner, read_facts, read_winners
from tests.bench.winner_fit import Problems, fit, join, predict_times, read_row
from tests.bench.winner_work import list_candidates, make_tile, make_work
from workbench.analysis.product_configs.product_model import FILE
from workbench.specs import Catalogue

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("winner_ranks.json")
PARAMETERS = ROOT / "workbench" / "specs" / "data" / FILE
PAGE = ROOT / "docs" / "pages" / "about" / "ranked-configurations.md"
BEGIN, END = "<!-- ranks: written by tests.bench.winner_ranks -->\n", "<!-- end of ranks -->\n"
REACH = {"five": 0.75, "fifth": 0.85}
WAYS = {
    "model": "the model",
    "both": "the model, with winners of other devices as prior",
    "others": "what won most often for this M on other devices",
    "same": "what won most often for this M on this device, other problems",
}
SOURCE = "configurations tuned on H100, H200, B200, A100, MI300X, from the wheel of sglang 0.5.23"
_OTHER_GENERATION, _OTHER_VENDOR = 0.1, 0.02
"""What a device of these counts in a fit, beside one of the same generation."""
_PRIOR = 0.5
_EVERY = {"gemm": 1, "moe": 3}
"""Of which problems a fit takes all or each third: thousands do not change it, but take minutes."""
_NEAR, _FAR, _LESS = 1.6, 0.02, 0.3

Order = Callable[[Winner], list[Config]]


class Bench:
    """All problems, their candidates, and the numbers of both."""

    def __init__(self, winners: Sequence[Winner]) -> None:
        self.winners = winners  # all of one kind of kernel
        self.kind = winners[0].kind.split()[0]
        self.candidates = list_candidates(winners)
        self.facts = read_facts()
        self.by_device = {
            device: [winner for winner in winners if winner.device == device]
            for device in DEVICES.values()
        }
        self.rows = {winner: self._read(winner) for winner in winners}

    def _read(self, winner: Winner) -> list[list[list[float]]]:
        gpu, made = Catalogue.built_in()[winner.device], []
        for config in self.candidates[winner.device, winner.kind]:
            tile = make_tile(self.facts, winner, config)
            works = [] if tile is None else make_work(winner, tile.rows)
            made.append([read_row(gpu, work, tile) for work in works if tile is not None])
        return made

    def gather(self, weights: Mapping[str, float], every: int = 1) -> Problems:
        """Every problem, or each second or third, of some devices, which have a weight each."""
        parts = [self.by_device[device][::every] for device in weights]
        won = [[self.candidates[w.device, w.kind].index(w.config) for w in part] for part in parts]
        return join([[self.rows[w] for w in p] for p in parts], won, list(weights.values()))


def weigh(device: str) -> dict[str, float]:
    """What each other device counts in the fit for a device, which itself counts nothing."""
    gpus, made = Catalogue.built_in(), {}
    for other in DEVICES.values():
        if other != device:
            is_vendor = gpus[other].vendor == gpus[device].vendor
            is_generation = gpus[other].architecture == gpus[device].architecture
            far = _OTHER_GENERATION if is_vendor else _OTHER_VENDOR
            made[other] = 1.0 if is_generation else far
    return made


def rank_others(bench: Bench, device: str) -> Order:
    """By how often a configuration won for this M on the other devices."""
    counts: dict[int, Counter[Config]] = defaultdict(Counter)
    for winner in bench.winners:
        if winner.device != device:
            counts[winner.m][winner.config] += 1

    def order(winner: Winner) -> list[Config]:
        names = bench.candidates[device, winner.kind]
        return sorted(names, key=lambda one: -counts[winner.m][one])

    return order


def rank_same(bench: Bench, device: str) -> Order:
    """By how often a configuration won on this device for other sizes: first for this M."""

    def order(winner: Winner) -> list[Config]:
        others = [
            one
            for one in bench.by_device[device]
            if one.kind == winner.kind and _problem(one) != _problem(winner)
        ]
        here = Counter(one.config for one in others if one.m == winner.m)
        every = Counter(one.config for one in others)
        names = bench.candidates[device, winner.kind]
        return sorted(names, key=lambda one: (-here[one], -every[one]))

    return order


def _problem(winner: Winner) -> tuple[int, int, int, int]:
    return winner.experts, winner.n, winner.k, winner.scale


def weigh_prior(bench: Bench, device: str) -> Callable[[Winner], list[float]]:
    """Of each candidate, in logarithms, how often what is like it won on the other devices.

    Winners for about as many rows count, those of other values and generations less.
    """
    gpus = Catalogue.built_in()
    pool = Counter((w.kind, w.device, w.m, w.config) for w in bench.winners if w.device != device)

    @cache
    def weigh_at(kind: str, m: int) -> list[float]:
        names = bench.candidates[device, kind]
        found = dict.fromkeys(names, 0.0)
        for (of, other, rows, config), count in pool.items():
            near = count * math.exp(-((math.log2(rows / m) / 0.7) ** 2) / 2)
            if near < _FAR:
                continue
            near *= 1.0 if of == kind else _LESS
            near *= 1.0 if gpus[other].architecture == gpus[device].architecture else _LESS
            for one in names:
                found[one] += near * math.exp(-_NEAR * _measure_distance(one, config))
        whole = sum(found.values()) or 1.0
        return [math.log(weight / whole + 0.01) for weight in found.values()]

    return lambda winner: weigh_at(winner.kind, winner.m)


def _measure_distance(one: Config, other: Config) -> float:
    sizes = (one.m / other.m, one.n / other.n, one.k / other.k, one.warps / other.warps)
    return sum(abs(math.log2(ratio)) for ratio in sizes) + 0.7 * abs(one.stages - other.stages)


def measure(bench: Bench) -> Iterator[dict[str, Any]]:
    """A row for each device: shares by way of ranking."""
    for device, winners in bench.by_device.items():
        values = fit(bench.gather(weigh(device), _EVERY[bench.kind]))
        with torch.no_grad():
            times = predict_times(bench.gather({device: 1.0}), values)
        prior, others, same = (f(bench, device) for f in (weigh_prior, rank_others, rank_same))
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for winner, row in zip(winners, times.tolist(), strict=True):
            names = bench.candidates[device, winner.kind]
            won = names.index(winner.config)
            scores = [-values["spread"] * math.log(time) for time in row[: len(names)]]
            both = [s + _PRIOR * w for s, w in zip(scores, prior(winner), strict=True)]
            for way, scored in (("model", scores), ("both", both)):
                places[way].append((sum(s > scored[won] for s in scored), len(names)))
            for way, order in (("others", others), ("same", same)):
                places[way].append((order(winner).index(winner.config), len(names)))
        counts = [count for _, count in places["model"]]
        yield {
            "device": device,
            "kind": bench.kind,
            "problems": len(winners),
            "candidates": [min(counts), max(counts)],
            "shares": {way: share(places[way]) for way in WAYS},
        }


def share(places: Sequence[tuple[int, int]]) -> dict[str, float]:
    """In how many problems the winner is among the first five, and in the first fifth."""
    five = sum(place < 5 for place, _ in places) / len(places)
    fifth = sum(place < count / 5 for place, count in places) / len(places)
    return {"five": round(five, 3), "fifth": round(fifth, 3)}


def make_table(record: Mapping[str, Any]) -> str:
    """The table of the page; what misses its reach, or a baseline, is bold."""
    heads = ["device", "kernel", "problems", "candidates", *WAYS.values()]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join(['---'] * len(heads))} |"]
    lines.append(f"| *to reach* | | | | {'≥ 75 % / ≥ 85 % | ' * 2} | |")
    for row in record["rows"]:
        low, high = row["candidates"]
        shares = row["shares"]
        cells = [
            row["device"],
            row["kind"],
            row["problems"],
            low if low == high else f"{low}–{high}",
        ]
        cells += [_tell(way, shares) for way in WAYS]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def _tell(way: str, shares: Mapping[str, Mapping[str, float]]) -> str:
    """Both shares of a way; a model's is bold where it misses its reach or is below a baseline."""
    parts = []
    for name, reach in REACH.items():
        value = shares[way][name]
        text = f"{math.floor(value * 100 + 1e-6)} %"  # 74.7 % is not 75
        rivals = [shares[other][name] for other in ("others", "same")]
        is_missed = way in ("model", "both") and (value < reach or value < max(rivals))
        parts.append(f"**{text}**" if is_missed else text)
    return " / ".join(parts)


def on_page(page: str) -> str:
    """What stands between the marks of a page."""
    return page.partition(BEGIN)[2].partition(END)[0]


def main(path: Path) -> None:
    winners = list(read_winners(path))
    record = {"source": SOURCE, "date": datetime.date.today().isoformat()}
    rows = []
    for kind in _EVERY:
        bench = Bench([winner for winner in winners if winner.kind.startswith(kind)])
        if kind == "gemm":
            values = fit(bench.gather(dict.fromkeys(bench.by_device, 1.0)))
            write_parameters(values, record)
        for row in measure(bench):
            print(json.dumps(row), flush=True)
            rows.append(row)
    found = {**record, "reach": REACH, "rows": rows}
    RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    page = PAGE.read_text()
    PAGE.write_text(page.replace(on_page(page), make_table(found)))


def write_parameters(values: Mapping[str, float], record: Mapping[str, str]) -> None:
    """The file that the package reads."""
    lines = [
        "# Parameters of the model of products by configuration: written by",
        "# tests.bench.winner_ranks. Clocks, shares of a peak, bytes a clock.",
        f'source = "{record["source"]}"',
        f'date = "{record["date"]}"',
        "",
        "[values]",
        *(f"{name} = {float(f'{value:.3g}')}" for name, value in sorted(values.items())),
    ]
    PARAMETERS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
