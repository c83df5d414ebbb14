"""Published training runs beside what `wb.scaling` tells of them, written to a table.

    python -m tests.bench.published_training

The published figures are torchtitan's (pytorch/torchtitan,
benchmarks/llama3_h100_202412_torchtitan.md). No figure of ours was fitted to them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from tests.bench.figures_page import PAGE

HERE = Path(__file__).parent
TABLE = HERE / "published_training.json"
BEGIN = "<!-- published training: written by python -m tests.bench.published_training -->\n"
END = "<!-- end of published training -->\n"
TOKENS_WITHIN, MEMORY_WITHIN = 0.25, 0.1
TOKENS_OF_A_GPU = 2 * 8192


@dataclass(frozen=True, eq=False)
class Published:
    """One run; tokens per second and GPU, and GiB that the allocator reserved at most.

    `build` makes it in tests.bench.llama_training, `parameters` are those of all its ranks.
    """

    table: int
    techniques: str
    mesh: Mapping[str, int]
    tokens_per_s: int
    memory_gib: float
    build: str
    parameters: float
    is_eager: bool = False

    @property
    def step_s(self) -> float:
        """What a step of it took."""
        return TOKENS_OF_A_GPU / self.tokens_per_s


_8B, _70B = 8.03e9, 70.6e9
PUBLISHED = (
    Published(1, "Llama 3.1 8B, FSDP", {"dp": 8}, 5762, 82.4, "build_8b", _8B, is_eager=True),
    Published(1, "Llama 3.1 8B, FSDP + torch.compile", {"dp": 8}, 6667, 77.0, "build_8b", _8B),
    Published(
        1,
        "Llama 3.1 8B, FSDP + torch.compile + Float8",
        {"dp": 8},
        8532,
        76.8,
        "build_8b_float8",
        _8B,
    ),
    Published(3, "Llama 3.1 8B, FSDP + torch.compile", {"dp": 128}, 6514, 62.0, "build_8b", _8B),
    Published(
        4,
        "Llama 3.1 70B, 2D + torch.compile + Float8",
        {"dp": 32, "tp": 8},
        829,
        71.9,
        "build_70b_float8",
        _70B,
    ),
)


@dataclass(frozen=True)
class Compared:
    """A run beside what is told of it; `why` is the likely reason of what is off or not told.

    Of memory the run's is what was reserved: that is told of the compiled ones, and `counted_gib`
    is what lives at once.
    """

    run: Published
    told_tokens_per_s: float | None = None
    kernels_ms: float | None = None
    exposed_ms: float | None = None
    told_memory_gib: float | None = None
    counted_gib: float | None = None
    tokens: str = "not checked"
    memory: str = "not checked"
    why: str = ""


_AT_ONCE = 2  # programs, of some GB of memory each
_BANDWIDTH = 2.4e12
_GIB = 2**30


def explain_tokens(run: Published, kernels_ms: float, exposed_ms: float) -> str:
    """Which part of a step is off, and how much of that can be counted."""
    own = run.parameters / prod(run.mesh.values())
    gathered = run.parameters / run.mesh.get("tp", 1)
    adam = 40 * own / _BANDWIDTH  # 28 B of AdamW as one kernel, 12 B of clipping the gradients
    copies = 2 * 4 * gathered / _BANDWIDTH  # out of the gathered buffers, in bf16, twice a step
    words = (
        f"tokens: a step took {run.step_s * 1e3:,.0f} ms, modelled as {kernels_ms:,.0f} ms of "
        f"kernels and {exposed_ms:,.0f} ms of exposed communication. The optimizer, gradient "
        "clipping and FSDP2's copies are not modelled and take at least "
        f"{(adam + copies) * 1e3:.0f} ms at 2.4 TB/s"
    )
    if "tp" in run.mesh:
        return (
            f"{words}. Transfers between tensor-parallel ranks are modelled in bf16, where "
            "torchao sends FP8"
        )
    least = run.step_s * 1e3 / kernels_ms
    words = f"{words}. FSDP2 hides communication by prefetching a layer"
    if least < 1:
        return words
    return (
        f"{words}. Even with all of it hidden, kernels would have to take {least:.2f}× their "
        "modelled time. The GPUs were limited to 500 W, and the source gives no peak rate for "
        "that. Matmuls are modelled at 700 W and full clock, which is the likely reason"
    )


def explain_memory(run: Published, told_gib: float) -> str:
    """What FSDP2 holds beyond the form that is compiled, counted."""
    own = run.parameters / prod(run.mesh.values())
    ranks, layers, width = (8, 80, 8192) if "tp" in run.mesh else (1, 32, 4096)
    embedding = 128_256 * width
    gradients = 4 * own / _GIB
    root = 2 * embedding / ranks / _GIB
    ahead = 2 * 2 * (run.parameters - 2 * embedding) / layers / ranks / _GIB
    return (
        f"memory: FSDP2 reduces {gradients:.1f} GiB of gradients on its own stream, and nothing "
        "else reuses that stream's memory. FSDP2 also keeps the gathered embedding "
        f"({root:.1f} GiB) and the buffers of two layers ({ahead:.1f} GiB). With these, the total "
        f"would be {told_gib + gradients + root + ahead:.1f} GiB. The launcher enables expandable "
        "segments, which reserve less memory than modelled"
    )


_WHY_NO_MEMORY = (
    "memory: left out. For 80 layers, the total extrapolated from depths 3 and 4 is too far from "
    "the total extrapolated from depths 2 and 4"
)
WHY_EAGER = (
    "tokens: eager kernels are not modelled; memory: counted peak live bytes, compared with "
    "published reserved memory. How the allocator places eager's tensors and FSDP2's buffers is "
    "not modelled"
)


def judge(told: float, published: float, within: float) -> str:
    """Whether a figure is met."""
    return "met" if abs(told / published - 1) <= within else "missed"


def compare() -> list[Compared]:
    """Every run; those that are compiled are so at two, three and four layers."""
    compiled = [run for run in PUBLISHED if not run.is_eager]
    told: dict[Published, Compared] = {}
    for build in dict.fromkeys(run.build for run in compiled):
        runs = [run for run in compiled if run.build == build]
        told |= zip(runs, _tell_compiled(build, runs), strict=True)
    return [_count_eager(run) if run.is_eager else told[run] for run in PUBLISHED]


def _tell_compiled(build: str, runs: Sequence[Published]) -> Iterator[Compared]:
    import workbench as wb
    from tests.bench import llama_training

    with ThreadPoolExecutor(_AT_ONCE) as executor:
        found = wb.scaling(
            getattr(llama_training, build),
            [run.mesh for run in runs],
            target="h100-96gb",
            layers=(2, 3, 4),
            grad=True,
            largest_batch=False,
            executor=executor,
        )
    print(found)
    for run, row in zip(runs, found.rows, strict=True):
        tokens = TOKENS_OF_A_GPU / ((row.step_us or 0) * 1e-6)
        reserved = None if row.reserved_bytes is None else row.reserved_bytes / _GIB
        kernels, exposed = (row.kernels_us or 0) / 1e3, (row.exposed_us or 0) / 1e3
        yield Compared(
            run,
            round(tokens),
            round(kernels),
            round(exposed),
            None if reserved is None else round(reserved, 1),
            None if row.peak_bytes is None else round(row.peak_bytes / _GIB, 1),
            judge(tokens, run.tokens_per_s, TOKENS_WITHIN),
            "not checked" if reserved is None else judge(reserved, run.memory_gib, MEMORY_WITHIN),
            f"{explain_tokens(run, kernels, exposed)}; "
            f"{_WHY_NO_MEMORY if reserved is None else explain_memory(run, reserved)}",
        )


def _count_eager(run: Published) -> Compared:
    """What lives at once in eager, of all layers: the call itself runs, without data."""
    from tests.bench import llama_training
    from workbench.compiler.process_groups.cluster import Topology
    from workbench.compiler.request.composition import choose_options
    from workbench.worlds.clusters.compiling.compiled_parts import MeshedModel, Wanted, compile_part

    build = getattr(llama_training, run.build)
    options = choose_options(build, None, None, None, grad=True, target="h100-96gb")
    options = replace(options, counts_eager=True)
    part = compile_part(MeshedModel(build, Topology(), options), Wanted(run.mesh, None))
    (counted,) = part.report.eager_memory
    held = (counted.bytes + part.state) / _GIB
    return Compared(
        run,
        told_memory_gib=round(held, 1),
        counted_gib=round(held, 1),
        memory=judge(held, run.memory_gib, MEMORY_WITHIN),
        why=WHY_EAGER,
    )


def write_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The modelled figures next to the published ones, and why they differ."""
    lines = [
        "| | published | modelled | error | target |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        run = row["run"]
        for what, unit, published, told, within in (
            ("tokens", " per second and GPU", "tokens_per_s", "told_tokens_per_s", TOKENS_WITHIN),
            ("memory", ", GiB per GPU", "memory_gib", "told_memory_gib", MEMORY_WITHIN),
        ):
            off = "not checked"
            if row[told] is not None:
                verdict = ", **missed**" if row[what] == "missed" else ""
                off = f"{row[told] / run[published] - 1:+.1%}{verdict}"
            lines.append(
                f"| {_name(run)}: {what}{unit} | {run[published]:,} | "
                f"{'–' if row[told] is None else format(row[told], ',')} | {off} | "
                f"within {within:.0%} |"
            )
    reasons = (
        f"- {_name(row['run'])}, {why}."
        for row in rows
        for why in row["why"].replace("; memory: ", "|memory: ").split("|")
    )
    return "\n".join((*lines, "", *reasons)) + "\n"


def _name(run: Mapping[str, Any]) -> str:
    return f"{run['techniques']}, {prod(run['mesh'].values())} GPUs"


def main() -> None:
    """Write the table, to its file and to the page."""
    os.environ["AOT_WORKBENCH_DATA"] = str(HERE)  # the folder `gpus` is there
    rows = [asdict(row) for row in compare()]
    TABLE.write_text(json.dumps(rows, indent=1) + "\n")
    write_page(rows)


def write_page(rows: Sequence[Mapping[str, Any]]) -> None:
    """Put the figures into the page."""
    text = PAGE.read_text()
    there, made = (f"{BEGIN}{table}{END}" for table in (read_page(), write_table(rows)))
    PAGE.write_text(text.replace(there, made))


def read_page() -> str:
    """The figures that the page has."""
    return PAGE.read_text().split(BEGIN)[1].split(END)[0]


if __name__ == "__main__":
    sys.exit(main())
