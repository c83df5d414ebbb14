"""Fits the calibrated model and says how well it tells kernels that it has not seen.

`python -m tests.bench.kernel_times FOLDER` reads traces of torch's profiler there besides our own,
writes the parameters into `workbench/specs/data/calibration.toml`, how far off they were into
`tests/bench/kernel_times.json`, and the table of that into the page of modelled times.
"""

from __future__ import annotations

import datetime
import json
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from tests.bench.kernel_fit import START, Sample, fit_values, predict, score
from tests.bench.trace_rows import OURS, ROOT, KernelRow, group_rows, read_rows
from workbench.analysis.kernel_time.calibration import Calibration
from workbench.analysis.kernel_time.library_choice import choose_library_kernel, name_values
from workbench.analysis.kernel_time.library_times import name_kind
from workbench.analysis.library_kernels.kernel_bounds import bound_kernel
from workbench.analysis.library_kernels.kernel_names import read_kernel_name
from workbench.analysis.library_kernels.operator_work import OperatorCall, estimate_work
from workbench.specs import Catalogue

PARAMETERS = ROOT / "workbench" / "specs" / "data" / "calibration.toml"
RECORD = Path(__file__).with_name("kernel_times.json")
PAGE = ROOT / "docs" / "pages" / "about" / "modelled-times.md"
BEGIN, END = "<!-- errors: written by tests.bench.kernel_times -->\n", "<!-- end of errors -->\n"
REACH = {"products": 0.10, "movers": 0.15, "sum": 0.15, "modelled": 0.90, "rank": 0.95}
"""What a trace that was not fitted has to reach: median errors, sum, share of the time, ranks."""
SOURCES = {
    "Hopper": "traces and calls in tests/gpu (2026-11-26, -27); H100 traces of TraceLens' tests",
    "CDNA 3": "MI300X traces of TraceLens' tests (AMD-AGI/TraceLens, 2026-08-21)",
}
WORKLOADS = {
    "clicks": "clicks",
    "decode": "decode",
    "patches": "patches",
    "pictures_step": "pictures, training",
    "pictures": "pictures",
    "qwen": "Qwen",
    "sglang": "sglang",
    "timesformer": "TimeSformer",
    "resnet": "ResNet",
    "torch_compile_block": "block, compiled",
    "vllm": "vLLM",
    "prefill": "prefill",
    "operators": "operators",
    "alone": "decode",
    "long": "prefill",
    **{name: name for name in ("denoiser", "experts", "messages", "mixer", "speech")},
    **{name: name for name in ("translator", "video", "words")},
}
"""By a part of the name of a trace which program it is; all traces of one are left out at once."""


@dataclass(frozen=True)
class Measured:
    """The kernels of a trace, and how long all that ran with a known call took, in µs."""

    name: str
    samples: list[Sample]
    total_us: float

    @property
    def generation(self) -> str:
        """The architecture of its device."""
        return self.samples[0].gpu.architecture

    @property
    def workload(self) -> str:
        """Which program it is of."""
        plain = self.name.rpartition("/")[2]
        return next((w for part, w in WORKLOADS.items() if part in plain), "training of a block")


def measure(folders: Sequence[Path]) -> list[Measured]:
    """Every trace, ours and those of the folders, and the single calls."""
    paths = [path for folder in folders for path in sorted(folder.glob("*.json.gz"))] + OURS
    found = [made for path in paths if (made := _read_trace(path)) is not None]
    return [*found, *(_read_operators(name) for name in ("operators", "operators_h200"))]


def _read_trace(path: Path) -> Measured | None:
    rows = [row for row in read_rows(path) if _counts(row)]
    if not rows:
        return None
    samples = []
    for group in group_rows(rows).values():
        first = group[0]
        gpu = Catalogue.built_in()[first.target or "mi300x"]  # ROCm leaves names empty
        assert first.call is not None
        work = estimate_work(first.call, first.kernel, launches=first.launches)
        if work.bytes is None:
            continue
        blocks = first.kernel.count_blocks(first.grid, first.block)
        us = statistics.median(row.us for row in group)
        samples.append(Sample(first.trace, first.kernel, work, gpu, us, len(group), blocks))
    return Measured(rows[0].trace, samples, sum(row.us for row in rows))


def _counts(row: KernelRow) -> bool:
    """Kernels whose call is known; what goes to or from the host waits for the bus."""
    is_of_host = row.kernel.library == "driver" and "DtoD" not in row.kernel.name
    is_of_host = is_of_host and "Memset" not in row.kernel.name
    return row.call is not None and row.kernel.kind != "collective" and not is_of_host


def _read_operators(name: str) -> Measured:
    """Single calls, run again and again: the cache holds what fits."""
    data = json.loads((ROOT / "tests" / "gpu" / f"{name}.json").read_text())
    gpu = Catalogue.built_in()["h200" if "H200" in data["device"] else "h100"]
    samples = []
    for row in data["rows"]:
        ran = [one for one in row.get("kernels", ()) if not _is_beside(one["name"])]
        if len(ran) != 1 or (row["op"], row["dtype"]) == (
            "mm",
            "float32",
        ):  # split, nobody says how
            continue
        kernel = read_kernel_name(ran[0]["name"])
        work = estimate_work(make_call(row["op"], row["dtype"], row["shape"]), kernel)
        if work.bytes is not None:
            us = ran[0]["warm_us"]
            samples.append(Sample(name, kernel, work, gpu, us, 1, None, is_warm=True))
    return Measured(name, samples, sum(sample.us for sample in samples))


def _is_beside(name: str) -> bool:
    return "Memset" in name or read_kernel_name(name).is_helper


_PROFILED = {"bfloat16": "c10::BFloat16", "float16": "c10::Half", "float32": "float"}
_OPERATORS = {
    "copy": "clone",
    "row_sum": "sum",
    "column_sum": "sum",
    "softmax": "_softmax",
    "layer_norm": "native_layer_norm",
    "transpose_copy": "copy_",
    "sdpa": "_scaled_dot_product_flash_attention",
}


def make_call(op: str, dtype: str, shape: list[int]) -> OperatorCall:
    """The call of a row of `operators.json`, as a profile would have it."""
    shapes = [shape] * {"add": 2, "sdpa": 3, "transpose_copy": 2}.get(op, 1)
    if op in ("mm", "bmm"):
        *batch, m, n, k = shape
        shapes = [[*batch, m, k], [*batch, k, n]]
    concrete = {
        "row_sum": ["", "[-1]"],
        "column_sum": ["", "[0]"],
        "softmax": ["", "-1", "False"],
        "sdpa": ["", "", "", "0.", "True"],
    }.get(op, ())
    strides: list[Any] = []
    if op == "transpose_copy":
        shapes, strides = [shape[::-1]] * 2, [[shape[0], 1], [1, shape[1]]]
    name, dtypes = f"aten::{_OPERATORS.get(op, op)}", [_PROFILED[dtype]] * len(shapes)
    return OperatorCall(name, shapes, dtypes, strides, concrete)


def leave_out(
    measured: Sequence[Measured], prior: Prior, generation: str, workload: str
) -> list[dict[str, Any]]:
    """How well traces of one program are told by a fit to all others of the generation."""
    own = [one for one in measured if one.generation == generation]
    samples = [s for one in own if one.workload != workload for s in one.samples]
    values, kernels = prior.fit(samples), list_kernels(samples)
    rows = []
    for one in own:
        if one.workload == workload:
            row = judge(one, values, "others")
            row["errors"] |= judge_choices(one.samples, values, kernels)
            rows.append(row)
    return rows


@dataclass(frozen=True)
class Prior:
    """What other generations needed for families of movers: to begin with, and where none asks."""

    first: Mapping[str, float]
    last: Mapping[str, float]

    def fit(self, samples: Sequence[Sample]) -> dict[str, float]:
        """The values of a generation by these samples of its own."""
        return {**self.last, **fit_values(samples, START, self.first)}


def find_priors(measured: Sequence[Measured]) -> dict[str, Prior]:
    """By generation what its families begin with: those of the one with the most samples.

    That one begins with nothing, and has those of the others only where it has no kernel.
    """
    counts = Counter(one.generation for one in measured for _ in one.samples)
    most = counts.most_common(1)[0][0]
    parts = {True: _fit_families(measured, {most})}
    parts[False] = _fit_families(measured, counts.keys() - {most})
    return {
        generation: Prior({}, parts[False]) if generation == most else Prior(parts[True], {})
        for generation in counts
    }


def _fit_families(measured: Sequence[Measured], of: Collection[str]) -> dict[str, float]:
    own = [sample for one in measured if one.generation in of for sample in one.samples]
    return {
        name: value
        for name, value in fit_values(own, START).items()
        if name.startswith("mover.") and name.count(".") == 2 and not name.endswith(".usual")
    }


def judge(one: Measured, values: Mapping[str, float], fitted: str) -> dict[str, Any]:
    """A row of the record: errors of one trace by parameters that were fitted elsewhere."""
    found = score(one.samples, values, one.total_us)
    return {
        "trace": one.name,
        "device": one.samples[0].gpu.name,
        "workload": one.workload,
        "fitted": fitted,
        "kernels": found.count,
        "products": found.products,
        "movers": found.movers,
        "sum": found.sum_error,
        "modelled": found.modelled,
        "rank": found.rank,
        "below": sum(_is_below(sample, values) for sample in one.samples),
        "errors": {kind: [round(e, 3) for e in errors] for kind, errors in found.errors.items()},
    }


def judge_choices(
    samples: Sequence[Sample], values: Mapping[str, float], kernels: Mapping[str, Sequence[str]]
) -> dict[str, list[float]]:
    """Errors where the kernel that a library took is not known but chosen among those given."""
    named = {of: tuple(names) for of, names in kernels.items()}
    fit = Calibration("", (), "", "", values, {}, named)
    found: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        kind = name_kind(sample.kernel, sample.work)
        if kind not in ("product", "convolution") or sample.kernel.is_helper:
            continue
        tf32 = sample.kernel.has_matrix_units is not False
        taken = choose_library_kernel("", sample.work, sample.gpu, fit, may_take_tf32=tf32)
        if taken.us is not None:
            found[f"chosen {kind}"].append(round(abs(taken.us / sample.us - 1), 3))
    return found


def _is_below(sample: Sample, values: Mapping[str, float]) -> bool:
    bound = bound_kernel(sample.kernel, sample.work, sample.gpu)
    us = predict(sample, values)
    return bound is not None and us is not None and min(us, sample.us) < bound.us * (1 - 1e-9)


def across(measured: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    """Fits to one device, judged on another: the same generation, and another vendor's."""
    for fitted, told in (("h100", "h200"), ("h100", "mi300x"), ("mi300x", "h100")):
        samples = [s for one in measured for s in one.samples if s.gpu.name == fitted]
        values = fit_values(samples, START)
        for one in measured:
            if one.samples[0].gpu.name == told and not one.name.startswith("operators"):
                yield judge(one, values, fitted)


def main(arguments: Sequence[str]) -> int:
    """Fit, judge, write."""
    measured = measure([Path(name) for name in arguments])
    generations = sorted({one.generation for one in measured})
    priors = find_priors(measured)
    jobs = [
        (measured, priors[g], g, w)
        for g in generations
        for w in sorted({one.workload for one in measured if one.generation == g})
    ]
    with Pool(2) as pool:
        rows = [row for found in pool.starmap(leave_out, jobs, chunksize=1) for row in found]
    rows += list(across(measured))
    errors = {g: _summarise(rows, measured, g) for g in generations}
    write_parameters(measured, errors, priors)
    for row in rows:
        row.pop("errors")
    record = {
        "date": datetime.date.today().isoformat(),
        "reach": REACH,
        "rows": rows,
        "errors": errors,
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    write_page(record)
    return 0


def _summarise(
    rows: Sequence[Mapping[str, Any]], measured: Sequence[Measured], generation: str
) -> dict[str, dict[str, float]]:
    """Median, and what four of five lay within, of all kernels of traces that were left out."""
    names = {one.name for one in measured if one.generation == generation}
    all_errors: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row["trace"] in names and row["fitted"] == "others" and "operators" not in row["trace"]:
            for kind, errors in row["errors"].items():
                all_errors[kind] += errors
    return {
        kind: {
            "median": round(statistics.median(errors), 3),
            "kernels": len(errors),
            "four_of_five": round(statistics.quantiles(errors, n=5)[3], 2),
        }
        for kind, errors in sorted(all_errors.items())
    }


def write_parameters(
    measured: Sequence[Measured],
    errors: Mapping[str, Mapping[str, Mapping[str, float]]],
    priors: Mapping[str, Prior],
) -> None:
    """Put the parameters of every generation into the data of the package."""
    lines = [
        "# Parameters of the model of kernel times, by generation: written by",
        "# tests.bench.kernel_times. Shares of a peak, elements or clocks, microseconds.",
    ]
    for generation, found in errors.items():
        own = [one for one in measured if one.generation == generation]
        devices = sorted({one.samples[0].gpu.name for one in own})
        samples = [sample for one in own for sample in one.samples]
        values = priors[generation].fit(samples)
        lines += ["", f'["{generation}"]', f"devices = {json.dumps(devices)}"]
        lines += [f"source = {json.dumps(SOURCES[generation])}"]
        lines += [f'date = "{datetime.date.today().isoformat()}"', "", f'["{generation}".errors]']
        lines += [f"{json.dumps(kind)} = {each['four_of_five']}" for kind, each in found.items()]
        lines += ["", f'["{generation}".kernels]']
        for of, names in list_kernels(samples).items():
            lines += [f"{of} = [", *(f"    {json.dumps(name)}," for name in names), "]"]
        lines += ["", f'["{generation}".values]']
        lines += [f"{json.dumps(name)} = {value}" for name, value in sorted(values.items())]
    PARAMETERS.write_text("\n".join(lines) + "\n")


def list_kernels(samples: Sequence[Sample]) -> dict[str, list[str]]:
    """By dtype the libraries' kernels for this generation, one for each tile, the commonest first.

    Those written for an older one are taken for odd sizes alone, but for float32 without matrix
    units.
    """
    found: dict[str, Counter[tuple[int, ...]]] = defaultdict(Counter)
    names: dict[tuple[str, tuple[int, ...]], str] = {}
    own = Counter(s.kernel.architecture for s in samples if s.kernel.kind == "product")
    newest = max((name for name in own if name), default=None)
    for sample in samples:
        kernel = sample.kernel
        if name_kind(kernel, sample.work) not in ("product", "convolution"):
            continue
        if kernel.tile is None or len(kernel.tile) < len("MNK") or kernel.is_helper:
            continue
        has_units = kernel.has_matrix_units is not False
        if has_units and kernel.architecture != newest:
            continue
        of = name_values(sample.work, has_units=has_units)
        tile = (*kernel.tile, *(kernel.cluster or ()))
        found[of][tile] += 1
        names.setdefault((of, tile), kernel.name.partition("(")[0])
    return {of: [names[of, tile] for tile, _ in tiles.most_common()] for of, tiles in found.items()}


def write_page(record: Mapping[str, Any]) -> None:
    """Put the table into the page."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(before + BEGIN + make_table(record) + END + after)


def on_page(text: str) -> str:
    """The part of the page between the two marks."""
    return text.split(BEGIN)[1].split(END)[0]


def make_table(record: Mapping[str, Any]) -> str:
    """Medians by kind, a row for each program and for each pair of GPUs; what missed is bold."""
    reach = record["reach"]
    titles = (
        "program",
        "GPU",
        "traces",
        "matmuls",
        "memory-bound",
        "total",
        "modelled",
        "Spearman ρ",
    )
    head = ["| " + " | ".join(titles) + " |", "| " + " | ".join("---" for _ in titles) + " |"]
    wanted = (
        f"| *target* | | | ≤ {reach['products']:.0%} | ≤ {reach['movers']:.0%} "
        f"| ± {reach['sum']:.0%} | ≥ {reach['modelled']:.0%} | ≥ {reach['rank']:.2f} |"
    )
    rows = [row for row in record["rows"] if "operators" not in row["trace"]]
    below = sum(row["below"] for row in record["rows"])
    lines = [
        *_make_medians(record["errors"]),
        "",
        f"Kernels modelled or measured faster than their bound: {below}.",
        "",
        *head,
        wanted,
        *_make_programs([row for row in rows if row["fitted"] == "others"], reach),
        "",
        *_make_transfers([row for row in rows if row["fitted"] != "others"]),
    ]
    return "\n".join(lines).replace("%", " %") + "\n"


_WORDS = {
    "product": "matmuls",
    "chosen product": "matmuls, kernel chosen by the forecast",
    "attention": "attention",
    "mover": "memory-bound",
    "convolution": "convolutions",
    "chosen convolution": "convolutions, kernel chosen by the forecast",
}


def _make_medians(errors: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A row for each kind of kernel, a column for each generation."""
    lines = [f"| median error | {' | '.join(errors)} |", "| --- |" + " --- |" * len(errors)]
    for kind, words in _WORDS.items():
        found = [kinds[kind] for kinds in errors.values()]
        cells = (f"{each['median']:.0%} ({each['kernels']:,.0f} kernels)" for each in found)
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return lines


def _make_transfers(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A row for each pair of GPUs, with medians over its traces."""
    lines = ["| fitted to | GPU | traces | matmuls | memory-bound | total | Spearman ρ |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    by_pair: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_pair[row["fitted"], row["device"]].append(row)
    for (fitted, device), own in by_pair.items():
        products, movers, total, rank = (
            statistics.median(abs(row[name]) for row in own if row[name] is not None)
            for name in ("products", "movers", "sum", "rank")
        )
        lines.append(
            f"| {fitted} | {device} | {len(own)} | {products:.0%} | {movers:.0%} | {total:.0%} "
            f"| {rank:.2f} |"
        )
    return lines


def _make_programs(rows: Sequence[Mapping[str, Any]], reach: Mapping[str, float]) -> Iterator[str]:
    """A row for each program on a GPU: in every column the worst of its traces."""
    by_program: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        name = re.sub(r"_?(compiled|eager|workbench)$", "", row["trace"].rpartition("/")[2])
        by_program[name or "training of a block", row["device"]].append(row)
    for (name, device), own in by_program.items():
        cells = [name, device, str(len(own))]
        for kind in ("products", "movers"):
            found = [row[kind] for row in own if row[kind] is not None]
            cells.append(_mark(f"{max(found):.0%}", max(found) <= reach[kind]) if found else "")
        total = max((row["sum"] for row in own), key=abs)
        cells.append(_mark(f"{total:+.0%}".replace("-", "−"), abs(total) <= reach["sum"]))
        modelled, rank = (min(row[kind] for row in own) for kind in ("modelled", "rank"))
        cells.append(_mark(f"{modelled:.0%}", modelled >= reach["modelled"]))
        is_near = rank < reach["rank"] <= round(rank, 2)  # two digits would show the target
        cells.append(_mark(f"{rank:.{2 + is_near}f}", rank >= reach["rank"]))
        yield "| " + " | ".join(cells) + " |"


def _mark(text: str, is_reached: bool) -> str:
    return text if is_reached else f"**{text}**"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
