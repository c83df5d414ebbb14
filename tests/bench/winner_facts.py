"""What compilers say of every configuration that won on some device: `winner_facts.csv`.

`python -m tests.bench.winner_facts CSV` compiles the kernels of `product_kernels` for the
architectures of the devices in the file of winners, each configuration once, and keeps what is
there already.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

import workbench as wb
from tests.bench.product_kernels import make_inputs
from workbench.analysis.kernel_time.inner_loop import find_inner_loop
from workbench.compiler.virtual_gpu.client import build_all, keep_warm_worker
from workbench.compiler.virtual_gpu.kernel_choice import Build, Built
from workbench.specs import Catalogue
from workbench.specs.device import Device

FACTS = Path(__file__).with_name("winner_facts.csv")
DEVICES = {
    "NVIDIA_H100_80GB_HBM3": "h100",
    "NVIDIA_H200": "h200",
    "NVIDIA_B200": "b200",
    "NVIDIA_A100-SXM4-80GB": "a100",
    "AMD_Instinct_MI300X": "mi300x",
}
ARCHITECTURES = {"h200": "h100"}
"""Whose code is another's."""
_VALUES = {
    ("", ""): "bf16",
    ("fp8_w8a8", ""): "fp8",
    ("fp8_w8a8", "[128, 128]"): "fp8 blocks",
    ("fp8_w8a8", "[32, 32]"): "fp8 blocks",
    ("int8_w8a8", ""): "int8",
    ("int8_w8a8", "[128, 128]"): "int8 blocks",
    ("int8_w8a16", ""): "w8a16",
}


@dataclass(frozen=True, order=True)
class Config:
    """A tile, with warps and stages; how tiles are grouped does not change the code."""

    m: int
    n: int
    k: int
    warps: int
    stages: int


@dataclass(frozen=True)
class Winner:
    """One tuned problem: which kernel, how large, and what won on this device."""

    device: str
    kind: str
    experts: int
    n: int
    k: int
    scale: int
    m: int
    config: Config
    group: int
    triton: str = ""


def read_winners(path: Path, devices: Mapping[str, str] = DEVICES) -> Iterator[Winner]:
    """The rows of the file for kernels that are told apart, on some devices."""
    with path.open() as file:
        for row in csv.DictReader(file):
            values = _VALUES.get((row["dtype"], row["block_shape"]))
            if row["device"] not in devices or values is None or not row["num_stages"]:
                continue
            names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "num_warps", "num_stages")
            yield Winner(
                device=devices[row["device"]],
                kind=f"{row['kind']} {values}",
                experts=int(row["E"] or 0),
                n=int(row["N"]),
                k=int(row["K"] or 0),
                scale=32 if row["block_shape"] == "[32, 32]" else 128,
                m=int(row["M"]),
                config=Config(*(int(row[name]) for name in names)),
                group=int(row["GROUP_SIZE_M"]),
                triton=row["triton"].removeprefix("triton_").replace("_", "."),
            )


def compile_all(wanted: Iterable[tuple[str, str, Config]]) -> Iterator[dict[str, object]]:
    """A row of facts for each kind, GPU and configuration."""
    by_group: dict[tuple[str, str], list[Config]] = {}
    for kind, gpu, config in wanted:
        by_group.setdefault((kind, gpu), []).append(config)
    texts: dict[tuple[str, str], str] = {}
    for (kind, gpu), configs in by_group.items():
        vendor = "mi300x" if gpu.startswith("mi") else "h100"
        if (kind, vendor) not in texts:
            texts[kind, vendor] = _write_kernel(kind, vendor)
        builds = {f"k:{n}": config for n, config in enumerate(sorted(configs))}
        made = build_all(
            [_build(id, gpu, texts[kind, vendor], config) for id, config in builds.items()],
            keep_warm_worker(),
        )
        for id, config in builds.items():
            yield {"kind": kind, "gpu": gpu, **vars(config), **_read(made[id])}


def _write_kernel(kind: str, target: str) -> str:
    """The kernel's text as Inductor calls it."""
    float8 = torch.float8_e4m3fnuz if target == "mi300x" else torch.float8_e4m3fn
    function, inputs = make_inputs(kind, float8)
    report = wb.aot_compile(function, inputs, target=target, grad=False).report
    kernel = next(row for row in report.kernels if row.language == "triton")
    return report.texts[kernel.text or ""]


def _build(id: str, gpu: str, text: str, config: Config) -> Build:
    return Build(
        id=id,
        kernel="k",
        gpu=Device(Catalogue.built_in()[gpu]),
        source=text,
        values={"BLOCK_SIZE_M": config.m, "BLOCK_SIZE_N": config.n, "BLOCK_SIZE_K": config.k},
        warps=config.warps,
        stages=config.stages,
    )


def _read(built: Built) -> dict[str, object]:
    taken = built.resources
    if taken is None:
        return {"note": (built.note or "")[:120]}
    codes = (row.text for row in built.assembly if row.stage in ("sass", "amdgcn"))
    loop = find_inner_loop(built.texts[next(codes) or ""])
    assert loop is not None
    return {
        "registers": taken.registers,
        "spills": taken.spills,
        "smem": taken.smem_bytes,
        "blocks": taken.blocks,
        "instructions": taken.instructions,
        "loop": loop.instructions,
        "way": loop.way,
        "conversions": loop.conversions,
        "global_loads": loop.global_loads,
        "shared": loop.shared,
        "spilled": loop.spilled,
    }


COLUMNS = (
    "kind",
    "gpu",
    "m",
    "n",
    "k",
    "warps",
    "stages",
    "registers",
    "spills",
    "smem",
    "blocks",
    "instructions",
    "loop",
    "way",
    "conversions",
    "global_loads",
    "shared",
    "spilled",
    "note",
)


def read_facts() -> dict[tuple[str, str, Config], Mapping[str, str]]:
    """The rows by kind, GPU and configuration."""
    if not FACTS.exists():
        return {}
    with FACTS.open() as file:
        rows = list(csv.DictReader(file))
    return {(r["kind"], r["gpu"], Config(*(int(r[c]) for c in COLUMNS[2:7]))): r for r in rows}


def main(path: Path) -> None:
    known = read_facts()
    wanted = {(w.kind, ARCHITECTURES.get(w.device, w.device), w.config) for w in read_winners(path)}
    todo = sorted(wanted - known.keys())
    print(f"{len(wanted)} configurations, {len(todo)} to compile", flush=True)
    with FACTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not known:
            writer.writeheader()
        for row in compile_all(todo):
            writer.writerow(row)
            file.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
