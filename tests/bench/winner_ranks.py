"""Where the configuration that won on a device stands among all that ever won there, by the model.

`python -m tests.bench.winner_ranks CSV` reads tuned winners (not part of the project), fits the
model on the other devices for each device, compares it with what needs no model, and writes
`winner_ranks.json`, the parameters in `workbench/specs/data/product_configs.toml` (fitted to all
devices), what won as the package knows it, and the table of the page.
"""

from __future__ import annotations

import datetime
import json
import math
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from tests.bench.winner_facts import DEVICES, Config, Winner, read_facts, read_winners
from tests.bench.winner_fit import Problems, fit, join, predict_times, read_row
from tests.bench.winner_noise import compare_again, count_groups
from tests.bench.winner_work import list_candidates, make_tile, make_work, to_tile, to_tuned
from workbench.analysis.kernel_time.product_times import FILE
from workbench.analysis.product_configs.prior import FILE as PUBLISHED_FILE
from workbench.analysis.product_configs.prior import (
    OTHER_GENERATION,
    OTHER_VENDOR,
    Prior,
    write_published,
)
from workbench.analysis.product_configs.tuned_files import Problem
from workbench.analysis.tuning.tuned import FILE as ERRORS_FILE
from workbench.specs import Catalogue

ROOT = Path(__file__).parents[2]
ERRORS = ROOT / "workbench" / "specs" / "data" / ERRORS_FILE
PUBLISHED = ROOT / "workbench" / "specs" / "data" / PUBLISHED_FILE
GPU = ROOT / "tests" / "gpu" / "gpu.json"
RECORD = Path(__file__).with_name("winner_ranks.json")
PARAMETERS = ROOT / "workbench" / "specs" / "data" / FILE
PAGE = ROOT / "docs" / "pages" / "about" / "ranked-configurations.md"
BEGIN, END = "<!-- {}: written by tests.bench.winner_ranks -->\n", "<!-- end of {} -->\n"
FEW_ROWS = 256
REACH = {"five": 0.75, "fifth": 0.85}
WAYS = {
    "model": "model",
    "both": "model, prior from other devices",
    "published": "model, prior from other sizes",
    "others": "baseline: other devices",
    "same": "baseline: this device",
}
MODELS = ("model", "both", "published")
SOURCE = "configurations tuned on H100, H200, B200, A100, MI300X, from the wheel of sglang 0.5.23"
SECTIONS = {"gemm": "values", "moe": "experts"}
"""By kind the section of the parameters that were fitted to it."""
_EVERY = {"gemm": 1, "moe": 3}
"""Of which problems a fit takes all or each third: thousands do not change it, but take minutes."""

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
            far = OTHER_GENERATION if is_vendor else OTHER_VENDOR
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


def weigh_prior(bench: Bench, device: str, *, own: bool = False) -> Callable[[Winner], list[float]]:
    """Of each candidate, in logarithms, how much likelier other winners make it.

    They are those of other devices, and with `own` those of this one for other sizes.
    """
    gpus = Catalogue.built_in()

    @cache
    def make(sizes: tuple[int, int, int, int]) -> Prior:
        told = (w for w in bench.winners if w.device != device or (own and _problem(w) != sizes))
        return Prior(map(to_tuned, told), gpus)

    @cache
    def weigh_at(kind: str, problem: Problem, sizes: tuple[int, int, int, int]) -> list[float]:
        tiles = [to_tile(config) for config in bench.candidates[device, kind]]
        return [math.log(each) for each in make(sizes).weigh(gpus[device], problem, tiles)]

    def weigh_for(winner: Winner) -> list[float]:
        sizes = _problem(winner) if own else (0, 0, 0, 0)
        return weigh_at(winner.kind, to_tuned(winner).problem, sizes)

    return weigh_for


@dataclass(frozen=True)
class Place:
    """Where the winner of a problem stands by each way, of how many; its time over the first's."""

    winner: Winner
    candidates: int
    by_way: Mapping[str, int]
    over_first: float


def measure(bench: Bench) -> Iterator[dict[str, Any]]:
    """A row for each device: shares by way of ranking, and by kind where they come from."""
    for device, winners in bench.by_device.items():
        values = fit(bench.gather(weigh(device), _EVERY[bench.kind]))
        with torch.no_grad():
            times = predict_times(bench.gather({device: 1.0}), values)
        prior, others, same = (f(bench, device) for f in (weigh_prior, rank_others, rank_same))
        published = weigh_prior(bench, device, own=True)
        places = []
        for winner, row in zip(winners, times.tolist(), strict=True):
            names = bench.candidates[device, winner.kind]
            won = names.index(winner.config)
            scores = [-values["spread"] * math.log(time) for time in row[: len(names)]]
            both, every = (
                [s + w for s, w in zip(scores, weights(winner), strict=True)]
                for weights in (prior, published)
            )
            by_way = {
                "model": sum(s > scores[won] for s in scores),
                "both": sum(s > both[won] for s in both),
                "published": sum(s > every[won] for s in every),
                "others": others(winner).index(winner.config),
                "same": same(winner).index(winner.config),
            }
            over_first = row[won] / min(row[: len(names)])
            places.append(Place(winner, len(names), by_way, over_first))
        yield {
            "device": device,
            "kind": bench.kind,
            "problems": len(winners),
            "candidates": [f(place.candidates for place in places) for f in (min, max)],
            "shares": {way: share(places, way) for way in WAYS},
            "parts": list(part(places)),
        }


def part(places: Sequence[Place]) -> Iterator[dict[str, Any]]:
    """By kind of kernel: shares with the prior for few and many rows, how near the model's are."""
    by_kind: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        by_kind[place.winner.kind].append(place)
    for kind, own in sorted(by_kind.items()):
        few = [place for place in own if place.winner.m <= FEW_ROWS]
        many = [place for place in own if place.winner.m > FEW_ROWS]
        yield {
            "kind": kind,
            "problems": len(own),
            "candidates": own[0].candidates,
            "few": share(few, "both"),
            "many": share(many, "both"),
            "over_first": round(statistics.median(place.over_first for place in own), 3),
        }


def share(places: Sequence[Place], way: str) -> dict[str, float]:
    """In how many problems the winner is among the first five, and in the first fifth."""
    found = [(place.by_way[way], place.candidates) for place in places]
    five = sum(place < 5 for place, _ in found) / len(found)
    fifth = sum(place < count / 5 for place, count in found) / len(found)
    return {"five": round(five, 3), "fifth": round(fifth, 3)}


def make_table(record: Mapping[str, Any]) -> str:
    """The table of the page; what misses its reach, or a baseline, is bold."""
    heads = ["device", "kernel", "problems", "candidates", *WAYS.values()]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join(['---'] * len(heads))} |"]
    lines.append(f"| *target* | | | | {'≥ 75 % / ≥ 85 % | ' * len(MODELS)} | |")
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


def make_parts(record: Mapping[str, Any]) -> str:
    """The table of where it misses, by kind of kernel."""
    heads = [
        "device",
        "kernel",
        "problems",
        "candidates",
        f"M ≤ {FEW_ROWS}",
        f"M > {FEW_ROWS}",
        "modelled time, winner / top pick",
    ]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join(['---'] * len(heads))} |"]
    for row in record["rows"]:
        for each in row["parts"]:
            few, many = (_say(each[name]) for name in ("few", "many"))
            cells = (
                row["device"],
                each["kind"],
                each["problems"],
                each["candidates"],
                few,
                many,
                f"{each['over_first']:.2f}",
            )
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def make_again(record: Mapping[str, Any]) -> str:
    """The table of devices that were tuned twice."""
    heads = [
        "device",
        "Triton releases",
        "problems",
        "same winner",
        "later winner by nearness",
    ]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join(['---'] * len(heads))} |"]
    for row in record["again"]:
        same = f"{math.floor(row['shares']['same'] * 100 + 1e-6)} %"
        cells = (
            row["device"],
            ", then ".join(row["releases"]),
            row["problems"],
            same,
            _say(row["shares"]),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def _say(shares: Mapping[str, float]) -> str:
    return " / ".join(f"{math.floor(shares[name] * 100 + 1e-6)} %" for name in REACH)


def _tell(way: str, shares: Mapping[str, Mapping[str, float]]) -> str:
    """Both shares of a way; a model's is bold where it misses its reach or is below a baseline."""
    parts = []
    for name, reach in REACH.items():
        value = shares[way][name]
        text = f"{math.floor(value * 100 + 1e-6)} %"  # 74.7 % is not 75
        rivals = [shares[other][name] for other in ("others", "same")]
        is_missed = way in MODELS and (value < reach or value < max(rivals))
        parts.append(f"**{text}**" if is_missed else text)
    return " / ".join(parts)


TABLES = {"ranks": make_table, "parts": make_parts, "again": make_again}
"""By the word in its marks, what makes a table of the page."""


def on_page(page: str, name: str) -> str:
    """What stands between the marks of a page."""
    return page.partition(BEGIN.format(name))[2].partition(END.format(name))[0]


def main(path: Path) -> None:
    winners = list(read_winners(path))
    record = {"source": SOURCE, "date": datetime.date.today().isoformat()}
    rows = []
    fitted = {}
    for kind in _EVERY:
        bench = Bench([winner for winner in winners if winner.kind.startswith(kind)])
        fitted[kind] = fit(bench.gather(dict.fromkeys(bench.by_device, 1.0), _EVERY[kind]))
        for row in measure(bench):
            print(json.dumps(row), flush=True)
            rows.append(row)
    write_parameters(fitted, record, rows)
    PUBLISHED.write_text(write_published(map(to_tuned, winners), SOURCE))
    again, groups = list(compare_again(winners)), count_groups(winners)
    found = {**record, "reach": REACH, "rows": rows, "again": again, "groups": groups}
    RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    page = PAGE.read_text()
    for name, make in TABLES.items():
        before, begin, rest = page.partition(BEGIN.format(name))
        _, end, after = rest.partition(END.format(name))
        page = f"{before}{begin}{make(found)}{end}{after}"
    PAGE.write_text(page)
    ERRORS.write_text(make_errors(found, PAGE.read_text()))


def time_configs(found: Mapping[str, Any]) -> dict[str, Any]:
    """How far the model was off for kernels of Inductor whose configurations a GPU timed each.

    Of configurations that it cannot tell apart the first counts, as they were recorded.
    """
    by_kernel: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in found["tables"]["bounds: configurations"]:
        by_kernel[row["kernel"]].append((row["model_us"], row["measured_us"]))
    first, five = [], []
    for times in by_kernel.values():
        least, order = min(took for _, took in times), sorted(times, key=lambda each: each[0])
        first.append(order[0][1] / least)
        five.append(min(took for _, took in order[:5]) / least)
    return {
        "gpu": found["found"]["device"],
        "kernels": len(by_kernel),
        "first": [round(f(first), 2) for f in (min, max)],
        "five": [round(f(five), 2) for f in (min, max)],
    }


def make_errors(record: Mapping[str, Any], page: str) -> str:
    """The file by which `k.tune` says how far the model is known to be off."""
    inductor = time_configs(json.loads(GPU.read_text()))
    told = re.search(
        r"Over (\d+) problems, .* top pick takes ([\d.]+)× the best time\. In (\d+) of them, the "
        r"best of the top 5 takes at most ([\d.]+)×",
        page,
    )
    assert told
    lines = [
        "# Errors of the GEMM model: written by tests.bench.winner_ranks.",
        f'date = "{record["date"]}"',
        "",
        "[timed]  # on one GPU, every configuration",
        'gpu = "h200"',
        f"problems = {told[1]}",
        f"first = {told[2]}  # times the best time, median",
        f"near = {told[3]}  # problems in which the best of the top 5 is within",
        f"within = {told[4]}  # times the best time",
        "",
        "[generated]  # Inductor kernels, by tests/gpu/gpu.json",
        f'gpu = "{inductor["gpu"]}"',
        f"kernels = {inductor['kernels']}",
        f"first = {inductor['first']}  # times the best time, least and most",
        f"five = {inductor['five']}  # the best of the top 5",
    ]
    for row in record["rows"]:
        shares, published = row["shares"]["model"], row["shares"]["published"]
        lines += [
            "",
            f"[{row['kind']}.{row['device']}]",
            f"problems = {row['problems']}",
            f"five = {shares['five']}",
            f"fifth = {shares['fifth']}",
        ]
        if is_better(row):
            lines.append(
                f"published = {{ five = {published['five']}, fifth = {published['fifth']} }}"
            )
    return "\n".join(lines) + "\n"


def is_better(row: Mapping[str, Any]) -> bool:
    """Whether winners of other sizes rank this device's better than the model alone."""
    shares = row["shares"]
    return sum(shares["published"].values()) > sum(shares["model"].values())


def write_parameters(
    fitted: Mapping[str, Mapping[str, float]],
    record: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
) -> None:
    """The file that the package reads: a section for each kind of kernel."""
    lines = [
        "# Parameters of the model of products by configuration: written by",
        "# tests.bench.winner_ranks. Clocks, shares of a peak, bytes a clock.",
        f'source = "{record["source"]}"',
        f'date = "{record["date"]}"',
    ]
    for kind, values in fitted.items():
        lines += ["", f"[{SECTIONS[kind]}]"]
        lines += [f"{name} = {float(f'{value:.3g}')}" for name, value in sorted(values.items())]
    lines += [
        "",
        "[published]  # GPUs on which winners of other sizes rank better than the model",
    ]
    for kind, section in SECTIONS.items():
        better = [row["device"] for row in rows if row["kind"] == kind and is_better(row)]
        lines.append(f"{section} = {json.dumps(better)}")
    PARAMETERS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
